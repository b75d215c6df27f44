//! Compares what the operator was allowed to do with what it did: the rules of the manifests with the API server's audit log. Of
//! the operator it knows only the names of its users.

use std::{
    collections::BTreeMap,
    fmt,
    fs::{self, File},
    io::{BufRead as _, BufReader},
    path::Path,
};

use baton_merge::yaml;
use baton_testbed::{AuditEntry, Error, workspace};
use k8s_openapi::api::rbac::v1::{ClusterRole, PolicyRule};

/// The manifest with the rules for the namespaces of Workloads.
pub const WORKLOADS: &str = "rbac/clusterrole.yaml";
/// The manifest with the rules for the operator's own namespace.
pub const ELECTION: &str = "deploy/role.yaml";
/// The manifest with the rules for secure metrics, which not every installation has.
pub const SECURE_METRICS: &str = "components/secure-metrics/clusterrole-metrics-auth.yaml";

/// The resources that every user may create, by the API server's default role `system:basic-user`.
const FOR_ALL_USERS: [&str; 2] = ["selfsubjectaccessreviews", "selfsubjectrulesreviews"];

/// A verb on a resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Permission {
    /// The API group; empty for the core group.
    pub group: String,
    /// The plural, with its subresource as in `workloads/status`.
    pub resource: String,
    /// The only object that it is for; if absent, all.
    pub name: Option<String>,
    /// Such as `get`.
    pub verb: String,
}

/// For people: `patch deployments.apps`.
impl fmt::Display for Permission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { group, resource, name, verb } = self;
        write!(f, "{verb} {resource}")?;
        if !group.is_empty() {
            write!(f, ".{group}")?;
        }
        name.iter().try_for_each(|name| write!(f, " {name}"))
    }
}

impl Permission {
    /// The permissions that a rule grants.
    pub fn of_rule(rule: &PolicyRule) -> Vec<Self> {
        let names: Vec<Option<String>> = match rule.resource_names.as_deref() {
            None | Some([]) => vec![None],
            Some(names) => names.iter().cloned().map(Some).collect(),
        };
        let mut all = Vec::new();
        for group in rule.api_groups.iter().flatten() {
            for resource in rule.resources.iter().flatten() {
                for name in &names {
                    all.extend(rule.verbs.iter().map(|verb| Self {
                        group: group.clone(),
                        resource: resource.clone(),
                        name: name.clone(),
                        verb: verb.clone(),
                    }));
                }
            }
        }
        all
    }

    /// Whether this permission includes `asked`.
    fn covers(&self, asked: &Self) -> bool {
        let same = (&self.group, &self.resource, &self.verb) == (&asked.group, &asked.resource, &asked.verb);
        same && (self.name.is_none() || self.name == asked.name)
    }
}

/// The permissions that a role of the manifests grants: [`WORKLOADS`], [`ELECTION`] or [`SECURE_METRICS`].
pub fn granted(manifest: &str) -> Result<Vec<Permission>, Error> {
    let path = workspace().join("manifests").join(manifest);
    let text = fs::read_to_string(&path).map_err(Error::file("read", &path))?;
    // A Role has the same fields.
    let text = text.replace("kind: Role\n", "kind: ClusterRole\n");
    let role: ClusterRole = yaml::from_str(&text).map_err(Error::parse(path.display().to_string()))?;
    Ok(role.rules.iter().flatten().flat_map(Permission::of_rule).collect())
}

/// How often something was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The server allowed it, whether it succeeded or not.
    pub allowed: u64,
    /// The server responded that the permission is missing.
    pub denied: u64,
}

/// The requests, by the permission that they needed.
#[derive(Clone, Debug, Default)]
pub struct Usage(BTreeMap<Permission, Count>);

/// The permissions that the rules lack, and those that they grant without a use.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Done or tried, and not granted.
    pub missing: Vec<Permission>,
    /// Granted, and never done.
    pub unused: Vec<Permission>,
}

impl Usage {
    /// The permissions that these requests needed.
    pub fn of<'a>(requests: impl IntoIterator<Item = &'a AuditEntry>) -> Self {
        let mut usage = Self::default();
        for request in requests {
            usage.add(request);
        }
        usage
    }

    /// Adds the operators' requests in the audit log at `path`: those of each ServiceAccount whose name begins with `baton`.
    pub fn add_log(&mut self, path: &Path) -> Result<(), Error> {
        let file = File::open(path).map_err(Error::file("read", path))?;
        for line in BufReader::new(file).lines() {
            let line = line.map_err(Error::file("read", path))?;
            // The last line may be incomplete if its server was killed.
            let Some(request) = line.ends_with('}').then(|| AuditEntry::without_bodies(&line)) else {
                continue;
            };
            let request = request.map_err(Error::parse(path.display().to_string()))?;
            if is_operator(&request.user) {
                self.add(&request);
            }
        }
        Ok(())
    }

    fn add(&mut self, request: &AuditEntry) {
        let resource = request.resource.as_deref();
        let Some(resource) = resource.filter(|resource| !FOR_ALL_USERS.contains(resource)) else { return };
        let permission = |verb: &str| Permission {
            group: request.group.clone().unwrap_or_default(),
            resource: match &request.subresource {
                Some(subresource) => format!("{resource}/{subresource}"),
                None => resource.to_owned(),
            },
            name: request.name.as_deref().map(|name| granted_name(resource, name).to_owned()),
            verb: verb.to_owned(),
        };
        if let Some(verb) = denied_verb(request) {
            self.0.entry(permission(verb)).or_default().denied += 1;
            return;
        }
        self.0.entry(permission(&request.verb)).or_default().allowed += 1;
        // An apply that creates is logged as a patch, and also needs the permission to create.
        if request.verb == "patch" && request.code == Some(201) {
            self.0.entry(permission("create")).or_default().allowed += 1;
        }
    }

    /// How often a granted permission was used.
    pub fn count(&self, granted: &Permission) -> Count {
        let mut sum = Count::default();
        for (_, count) in self.0.iter().filter(|(asked, _)| granted.covers(asked)) {
            sum.allowed += count.allowed;
            sum.denied += count.denied;
        }
        sum
    }

    /// Compares it with what is granted. A granted permission that was denied doesn't count: a test has removed it.
    pub fn compare(&self, granted: &[Permission]) -> Difference {
        let mut missing: Vec<Permission> = self
            .0
            .keys()
            .filter(|asked| !granted.iter().any(|one| one.covers(asked)))
            .map(|asked| Permission { name: None, ..asked.clone() })
            .collect();
        missing.dedup();
        let unused = granted.iter().filter(|one| self.count(one).allowed == 0).cloned().collect();
        Difference { missing, unused }
    }
}

/// The name of an object in the manifests: the role of a shard names the shard's lease.
fn granted_name<'n>(resource: &str, name: &'n str) -> &'n str {
    if resource == "leases" && name.starts_with("baton-") { "baton" } else { name }
}

fn is_operator(user: &str) -> bool {
    let account = user.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
    account.is_some_and(|(_, name)| name.starts_with("baton"))
}

/// The verb whose permission is missing: `… User "…" cannot create resource "deployments" …`. Admission forbids with other
/// messages.
fn denied_verb(request: &AuditEntry) -> Option<&str> {
    let message = request.message.as_deref().filter(|_| request.code == Some(403))?;
    let (_, user) = message.split_once("User \"")?;
    let (_, rest) = user.split_once("\" cannot ")?;
    rest.split_once(" resource ").map(|(verb, _)| verb)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(lines: &[&str]) -> Usage {
        let file = tempfile::NamedTempFile::new().unwrap();
        let line = |rest: &&str| {
            let (user, rest) = rest.split_once(' ').unwrap();
            format!(
                r#"{{"auditID":"1","stage":"ResponseComplete","requestURI":"/x","requestReceivedTimestamp":"2025-01-02T03:04:05Z","user":{{"username":"system:serviceaccount:ns:{user}"}},{rest}}}"#
            ) + "\n"
        };
        fs::write(file.path(), lines.iter().map(line).collect::<String>() + "{\"half").unwrap();
        let mut usage = Usage::default();
        usage.add_log(file.path()).unwrap();
        usage
    }

    fn rules(text: &str) -> Vec<Permission> {
        let rules: Vec<PolicyRule> = yaml::from_str(text).unwrap();
        rules.iter().flat_map(Permission::of_rule).collect()
    }

    const LEASES: &str = "[{apiGroups: [c], resources: [leases], resourceNames: [baton], verbs: [get]}]";
    const GET: &str = r#""verb":"get","objectRef":{"apiGroup":"c","resource":"leases","name":"NAME"}"#;

    fn texts(permissions: &[Permission]) -> Vec<String> {
        permissions.iter().map(Permission::to_string).collect()
    }

    #[test]
    fn a_used_and_granted_permission_is_no_difference() {
        let usage = log(&[&format!("baton-1 {}", GET.replace("NAME", "baton"))]);
        assert_eq!(usage.compare(&rules(LEASES)), Difference::default());
    }

    #[test]
    fn a_grant_for_one_name_covers_no_other() {
        let usage = log(&[&format!("baton-1 {}", GET.replace("NAME", "other"))]);
        let difference = usage.compare(&rules(LEASES));
        assert_eq!(texts(&difference.missing), ["get leases.c"]);
        assert_eq!(texts(&difference.unused), ["get leases.c baton"]);
    }

    #[test]
    fn the_lease_of_a_shard_is_granted_by_the_role_of_its_installation() {
        let usage = log(&[&format!("baton-second {}", GET.replace("NAME", "baton-second"))]);
        assert_eq!(usage.compare(&rules(LEASES)), Difference::default());
    }

    #[test]
    fn only_operators_count() {
        let usage = log(&[&format!("somebody {}", GET.replace("NAME", "other"))]);
        assert_eq!(usage.compare(&[]), Difference::default());
    }

    #[test]
    fn an_apply_that_creates_needs_both_verbs() {
        let usage = log(&[
            r#"baton "verb":"patch","objectRef":{"resource":"services","name":"web"},"responseStatus":{"code":201}"#,
        ]);
        assert_eq!(texts(&usage.compare(&[]).missing), ["create services", "patch services"]);
    }

    #[test]
    fn a_denied_permission_is_missing_unless_it_is_granted() {
        let denied = r#"baton "verb":"patch","objectRef":{"resource":"services","name":"web"},"responseStatus":{"code":403,"message":"User \"x\" cannot create resource \"services\" in API group \"\""}"#;
        let usage = log(&[denied]);
        assert_eq!(texts(&usage.compare(&[]).missing), ["create services"]);
        let granted = rules(r#"[{apiGroups: [""], resources: [services], verbs: [create]}]"#);
        assert_eq!(usage.compare(&granted).missing, []);
        assert_eq!(usage.count(&granted[0]), Count { allowed: 0, denied: 1 });
    }

    #[test]
    fn a_refusal_of_admission_is_no_missing_permission() {
        let granted = rules(r#"[{apiGroups: [""], resources: [services], verbs: [create]}]"#);
        for cause in ["exceeded quota", "cannot set an ownerRef on a resource you can't delete"] {
            let forbidden = format!(
                r#"baton "verb":"create","objectRef":{{"resource":"services"}},"responseStatus":{{"code":403,"message":"services is forbidden: {cause}"}}"#
            );
            assert_eq!(log(&[&forbidden]).compare(&granted), Difference::default());
        }
    }

    #[test]
    fn the_manifests_grant_something() {
        for (manifest, permission) in [
            (WORKLOADS, "patch workloads/status.baton.rs"),
            (ELECTION, "get leases.coordination.k8s.io baton"),
        ] {
            assert!(texts(&granted(manifest).unwrap()).contains(&permission.to_owned()), "{permission}");
        }
    }
}
