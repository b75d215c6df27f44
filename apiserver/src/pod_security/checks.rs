//! The checks of Pod Security levels. After `k8s.io/pod-security-admission/policy`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Level, Standard};
use crate::actors::object::{items, text};

/// A pod or a pod template.
#[derive(Clone, Copy)]
pub(super) struct Pod<'v> {
    pub(super) metadata: &'v Value,
    pub(super) spec: &'v Value,
}

/// A violation of a level.
pub(super) struct Violation {
    pub(super) reason: String,
    pub(super) detail: String,
}

/// A check by the rules of a minor version.
type Check = fn(Pod<'_>, u32) -> Option<Violation>;

/// The checks of `baseline`, in order, with the minor version since which `restricted` has a stricter one.
const BASELINE: [(Check, Option<u32>); 12] = [
    (app_armor_profile, None),
    (capabilities, Some(22)),
    (host_namespaces, None),
    (host_path_volumes, Some(0)),
    (host_ports, None),
    (host_probes, None),
    (privileged, None),
    (proc_mount_baseline, Some(35)),
    (se_linux_options, None),
    (seccomp_profile, Some(19)),
    (sysctls, None),
    (windows_host_process, None),
];

/// The checks of `restricted` only, with the minor version since which they apply.
const RESTRICTED: [(Check, u32); 7] = [
    (allow_privilege_escalation, 8),
    (capabilities_restricted, 22),
    (proc_mount, 35),
    (restricted_volumes, 0),
    (run_as_non_root, 0),
    (run_as_user, 23),
    (seccomp_profile_restricted, 19),
];

/// All violations of a standard.
pub(super) fn violations(standard: Standard, pod: Pod<'_>) -> Vec<Violation> {
    let minor = standard.minor.unwrap_or(u32::MAX);
    let is_restricted = standard.level == Level::Restricted;
    let baseline = BASELINE.iter().filter(|(_, stricter)| {
        standard.level != Level::Privileged
            && !(is_restricted && stricter.is_some_and(|since| since <= minor))
    });
    let restricted = RESTRICTED.iter().filter(|(_, since)| is_restricted && *since <= minor);
    let checks = baseline.map(|(check, _)| check).chain(restricted.map(|(check, _)| check));
    checks.filter_map(|check| check(pod, minor)).collect()
}

/// The violation, if there is a detail.
fn violation(reason: &str, detail: String) -> Option<Violation> {
    (!detail.is_empty()).then(|| Violation { reason: reason.to_owned(), detail })
}

fn quoted<S: AsRef<str>>(items: impl IntoIterator<Item = S>) -> String {
    let items: Vec<_> = items.into_iter().map(|item| format!("\"{}\"", item.as_ref())).collect();
    items.join(", ")
}

fn plural<'t>(one: &'t str, many: &'t str, count: usize) -> &'t str {
    if count == 1 { one } else { many }
}

/// The offenders: the pod, its containers, or both.
struct Offenders<'v> {
    pod: bool,
    containers: Vec<&'v str>,
}

impl Offenders<'_> {
    fn is_empty(&self) -> bool {
        !self.pod && self.containers.is_empty()
    }

    fn named(&self) -> Vec<String> {
        let containers = (!self.containers.is_empty()).then(|| containers(&self.containers));
        self.pod.then(|| "pod".to_owned()).into_iter().chain(containers).collect()
    }

    /// The violation of a field of the security context.
    fn violation(&self, reason: &str, must: &str) -> Option<Violation> {
        if self.is_empty() {
            None
        } else {
            violation(reason, format!("{} {must}", self.named().join(" and ")))
        }
    }
}

fn containers(names: &[&str]) -> String {
    format!("{} {}", plural("container", "containers", names.len()), quoted(names))
}

impl<'v> Pod<'v> {
    fn containers(self) -> impl Iterator<Item = &'v Value> {
        ["/initContainers", "/containers", "/ephemeralContainers"]
            .into_iter()
            .flat_map(move |field| items(self.spec, field))
    }

    /// The containers that match.
    fn containers_that(self, mut is_offender: impl FnMut(&'v Value) -> bool) -> Vec<&'v str> {
        self.containers()
            .filter(|container| is_offender(container))
            .map(|container| text(container, "/name"))
            .collect()
    }

    /// The pod and containers whose security context matches.
    fn offenders(self, mut is_offender: impl FnMut(&'v Value) -> bool) -> Offenders<'v> {
        let pod = is_offender(&self.spec["securityContext"]);
        Offenders {
            pod,
            containers: self.containers_that(|container| is_offender(&container["securityContext"])),
        }
    }

    fn is_windows(self) -> bool {
        self.spec["os"]["name"] == "windows"
    }

    /// Whether it has a user namespace of its own, which relaxes some checks.
    fn has_own_users(self) -> bool {
        self.spec["hostUsers"] == false
    }

    fn annotations(self) -> impl Iterator<Item = (&'v str, &'v str)> {
        let all = self.metadata["annotations"].as_object().into_iter().flatten();
        all.map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
    }
}

fn allow_privilege_escalation(pod: Pod<'_>, minor: u32) -> Option<Violation> {
    if minor >= 25 && pod.is_windows() {
        return None;
    }
    let found =
        pod.containers_that(|container| container["securityContext"]["allowPrivilegeEscalation"] != false);
    let offenders = Offenders { pod: false, containers: found };
    offenders.violation(
        "allowPrivilegeEscalation != false",
        "must set securityContext.allowPrivilegeEscalation=false",
    )
}

fn app_armor_profile(pod: Pod<'_>, _: u32) -> Option<Violation> {
    let mut values = BTreeSet::new();
    let offenders = pod.offenders(|context| {
        let profile = &context["appArmorProfile"];
        let is_bad = !profile.is_null() && !matches!(text(profile, "/type"), "RuntimeDefault" | "Localhost");
        is_bad && {
            values.insert(text(profile, "/type").to_owned());
            true
        }
    });
    let is_allowed =
        |value: &str| value.is_empty() || value == "runtime/default" || value.starts_with("localhost/");
    let found = pod.annotations().filter(|(key, value)| {
        key.starts_with("container.apparmor.security.beta.kubernetes.io/") && !is_allowed(value)
    });
    let mut annotations: Vec<_> = found.map(|(key, value)| format!("{key}={value:?}")).collect();
    annotations.sort();
    let mut setters = offenders.named();
    if !annotations.is_empty() {
        setters.push(plural("annotation", "annotations", annotations.len()).to_owned());
    }
    if setters.is_empty() {
        return None;
    }
    let values: Vec<_> = values.into_iter().chain(annotations).collect();
    let reason = plural("forbidden AppArmor profile", "forbidden AppArmor profiles", values.len());
    let setters = setters.join(" and ");
    violation(reason, format!("{setters} must not set AppArmor profile type to {}", quoted(values)))
}

/// The containers that add disallowed capabilities, and those capabilities.
fn adding(pod: Pod<'_>, is_allowed: impl Fn(&str) -> bool) -> (Vec<&str>, BTreeSet<&str>) {
    let mut forbidden = BTreeSet::new();
    let found = pod.containers_that(|container| {
        let added = items(container, "/securityContext/capabilities/add").iter().filter_map(Value::as_str);
        let before: Vec<_> = added.filter(|name| !is_allowed(name)).collect();
        forbidden.extend(before.iter().copied());
        !before.is_empty()
    });
    (found, forbidden)
}

fn must_not_add(found: &[&str], forbidden: BTreeSet<&str>) -> String {
    let forbidden = quoted(forbidden);
    format!("{} must not include {forbidden} in securityContext.capabilities.add", containers(found))
}

fn capabilities(pod: Pod<'_>, _: u32) -> Option<Violation> {
    #[rustfmt::skip]
    const ALLOWED: [&str; 13] = [
        "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE",
        "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
    ];
    let (found, forbidden) = adding(pod, |name| ALLOWED.contains(&name));
    if found.is_empty() {
        None
    } else {
        violation("non-default capabilities", must_not_add(&found, forbidden))
    }
}

fn capabilities_restricted(pod: Pod<'_>, minor: u32) -> Option<Violation> {
    if minor >= 25 && pod.is_windows() {
        return None;
    }
    let keeping = pod.containers_that(|container| {
        !items(container, "/securityContext/capabilities/drop").iter().any(|name| name == "ALL")
    });
    let (found, forbidden) = adding(pod, |name| name == "NET_BIND_SERVICE");
    let mut details = Vec::new();
    if !keeping.is_empty() {
        details
            .push(format!("{} must set securityContext.capabilities.drop=[\"ALL\"]", containers(&keeping)));
    }
    if !found.is_empty() {
        details.push(must_not_add(&found, forbidden));
    }
    violation("unrestricted capabilities", details.join("; "))
}

fn host_namespaces(pod: Pod<'_>, _: u32) -> Option<Violation> {
    let shared = ["hostNetwork", "hostPID", "hostIPC"].into_iter().filter(|field| pod.spec[*field] == true);
    let shared: Vec<_> = shared.map(|field| format!("{field}=true")).collect();
    violation("host namespaces", shared.join(", "))
}

fn host_path_volumes(pod: Pod<'_>, _: u32) -> Option<Violation> {
    let found = items(pod.spec, "/volumes").iter().filter(|volume| !volume["hostPath"].is_null());
    let found: Vec<_> = found.map(|volume| text(volume, "/name")).collect();
    let volumes = || format!("{} {}", plural("volume", "volumes", found.len()), quoted(&found));
    if found.is_empty() { None } else { violation("hostPath volumes", volumes()) }
}

fn host_ports(pod: Pod<'_>, _: u32) -> Option<Violation> {
    let mut ports = BTreeSet::new();
    let found = pod.containers_that(|container| {
        let own = items(container, "/ports").iter().filter_map(|port| port["hostPort"].as_i64());
        let own: Vec<_> = own.filter(|port| *port != 0).map(|port| port.to_string()).collect();
        let is_bad = !own.is_empty();
        ports.extend(own);
        is_bad
    });
    let (use_, port) = (plural("uses", "use", found.len()), plural("hostPort", "hostPorts", ports.len()));
    let ports: Vec<_> = ports.into_iter().collect();
    let detail = || format!("{} {use_} {port} {}", containers(&found), ports.join(", "));
    if found.is_empty() { None } else { violation("hostPort", detail()) }
}

fn host_probes(pod: Pod<'_>, minor: u32) -> Option<Violation> {
    if minor < 34 {
        return None;
    }
    let (mut found, mut hosts) = (BTreeSet::new(), BTreeSet::new());
    for container in pod.containers() {
        let probes = ["livenessProbe", "readinessProbe", "startupProbe"].map(|probe| &container[probe]);
        let handlers = ["postStart", "preStop"].map(|handler| &container["lifecycle"][handler]);
        let all = probes.into_iter().chain(handlers);
        let own = all.flat_map(|of| ["httpGet", "tcpSocket"].map(|action| text(&of[action], "/host")));
        for host in own.filter(|host| !host.is_empty()) {
            found.insert(text(container, "/name"));
            hosts.insert(host);
        }
    }
    if found.is_empty() {
        return None;
    }
    let found: Vec<_> = found.into_iter().collect();
    let use_ = plural("uses", "use", found.len());
    let what = plural("probe or lifecycle host", "probe or lifecycle hosts", hosts.len());
    violation("probe or lifecycle host", format!("{} {use_} {what} {}", containers(&found), quoted(hosts)))
}

fn privileged(pod: Pod<'_>, _: u32) -> Option<Violation> {
    let found = pod.containers_that(|container| container["securityContext"]["privileged"] == true);
    Offenders { pod: false, containers: found }
        .violation("privileged", "must not set securityContext.privileged=true")
}

fn proc_mount_baseline(pod: Pod<'_>, minor: u32) -> Option<Violation> {
    if minor >= 35 && pod.has_own_users() { None } else { proc_mount(pod, minor) }
}

fn proc_mount(pod: Pod<'_>, _: u32) -> Option<Violation> {
    let mut kinds = BTreeSet::new();
    let found = pod.containers_that(|container| {
        let kind = container["securityContext"]["procMount"].as_str().filter(|kind| *kind != "Default");
        kinds.extend(kind);
        kind.is_some()
    });
    let must = format!("must not set securityContext.procMount to {}", quoted(kinds));
    Offenders { pod: false, containers: found }.violation("procMount", &must)
}

fn restricted_volumes(pod: Pod<'_>, _: u32) -> Option<Violation> {
    #[rustfmt::skip]
    const ALLOWED: [&str; 9] = [
        "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim",
        "projected", "secret",
    ];
    let (mut found, mut kinds) = (Vec::new(), BTreeSet::new());
    for volume in
        items(pod.spec, "/volumes").iter().filter(|volume| ALLOWED.iter().all(|kind| volume[*kind].is_null()))
    {
        let kind = volume.as_object().into_iter().flatten().find(|(field, _)| *field != "name");
        found.push(text(volume, "/name"));
        kinds.insert(kind.map_or("unknown", |(kind, _)| kind.as_str()));
    }
    if found.is_empty() {
        return None;
    }
    let (volume, use_) = (plural("volume", "volumes", found.len()), plural("uses", "use", found.len()));
    let what = plural("restricted volume type", "restricted volume types", kinds.len());
    let detail = format!("{volume} {} {use_} {what} {}", quoted(found), quoted(kinds));
    violation("restricted volume types", detail)
}

fn run_as_non_root(pod: Pod<'_>, minor: u32) -> Option<Violation> {
    const REASON: &str = "runAsNonRoot != true";
    if minor >= 35 && pod.has_own_users() {
        return None;
    }
    let offenders = pod.offenders(|context| context["runAsNonRoot"] == false);
    if !offenders.is_empty() {
        return offenders.violation(REASON, "must not set securityContext.runAsNonRoot=false");
    }
    if pod.spec["securityContext"]["runAsNonRoot"] == true {
        return None;
    }
    let unset = pod.containers_that(|container| container["securityContext"]["runAsNonRoot"].is_null());
    Offenders { pod: false, containers: unset }
        .violation(REASON, "must set securityContext.runAsNonRoot=true")
        .map(or_pod)
}

/// Also counts the pod itself.
fn or_pod(mut violation: Violation) -> Violation {
    violation.detail.insert_str(0, "pod or ");
    violation
}

fn run_as_user(pod: Pod<'_>, minor: u32) -> Option<Violation> {
    if minor >= 35 && pod.has_own_users() {
        return None;
    }
    pod.offenders(|context| context["runAsUser"] == 0).violation("runAsUser=0", "must not set runAsUser=0")
}

fn se_linux_options(pod: Pod<'_>, minor: u32) -> Option<Violation> {
    let is_allowed = |kind: &str| match kind {
        "" | "container_t" | "container_init_t" | "container_kvm_t" => true,
        "container_engine_t" => minor >= 31,
        _ => false,
    };
    let (mut kinds, mut user, mut role) = (BTreeSet::new(), false, false);
    let offenders = pod.offenders(|context| {
        let options = &context["seLinuxOptions"];
        let kind = text(options, "/type");
        let is_bad =
            [!is_allowed(kind), !text(options, "/user").is_empty(), !text(options, "/role").is_empty()];
        if is_bad[0] {
            kinds.insert(kind);
        }
        user |= is_bad[1];
        role |= is_bad[2];
        is_bad.contains(&true)
    });
    let mut data = Vec::new();
    if !kinds.is_empty() {
        data.push(format!("{} {}", plural("type", "types", kinds.len()), quoted(kinds)));
    }
    data.extend(user.then(|| "user may not be set".to_owned()));
    data.extend(role.then(|| "role may not be set".to_owned()));
    let what = format!("set forbidden securityContext.seLinuxOptions: {}", data.join("; "));
    offenders.violation("seLinuxOptions", &what)
}

fn is_allowed_seccomp(profile: &Value) -> bool {
    matches!(text(profile, "/type"), "RuntimeDefault" | "Localhost")
}

fn seccomp_profile(pod: Pod<'_>, minor: u32) -> Option<Violation> {
    const REASON: &str = "seccompProfile";
    if minor < 19 {
        return seccomp_annotations(pod);
    }
    let mut kinds = BTreeSet::new();
    let offenders = pod.offenders(|context| {
        let profile = &context["seccompProfile"];
        let is_bad = !profile.is_null() && !is_allowed_seccomp(profile);
        if is_bad {
            kinds.insert(text(profile, "/type"));
        }
        is_bad
    });
    offenders
        .violation(REASON, &format!("must not set securityContext.seccompProfile.type to {}", quoted(kinds)))
}

fn seccomp_annotations(pod: Pod<'_>) -> Option<Violation> {
    let names: Vec<_> = pod.containers_that(|_| true);
    let is_allowed = |value: &str| {
        matches!(value, "runtime/default" | "docker/default") || value.starts_with("localhost/")
    };
    let is_about = |key: &str| {
        key == "seccomp.security.alpha.kubernetes.io/pod"
            || key
                .strip_prefix("container.seccomp.security.alpha.kubernetes.io/")
                .is_some_and(|name| names.contains(&name))
    };
    let found = pod.annotations().filter(|(key, value)| is_about(key) && !is_allowed(value));
    let found: BTreeSet<_> = found.map(|(key, value)| format!("{key}={value:?}")).collect();
    let annotations = plural("annotation", "annotations", found.len());
    let found: Vec<_> = found.into_iter().collect();
    if found.is_empty() {
        None
    } else {
        violation("seccompProfile", format!("forbidden {annotations} {}", found.join(", ")))
    }
}

fn seccomp_profile_restricted(pod: Pod<'_>, minor: u32) -> Option<Violation> {
    if minor >= 25 && pod.is_windows() {
        return None;
    }
    let found = seccomp_profile(pod, minor);
    if found.is_some() || is_allowed_seccomp(&pod.spec["securityContext"]["seccompProfile"]) {
        return found;
    }
    let unset = pod.containers_that(|container| container["securityContext"]["seccompProfile"].is_null());
    let must = "must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"";
    Offenders { pod: false, containers: unset }.violation("seccompProfile", must).map(or_pod)
}

fn sysctls(pod: Pod<'_>, minor: u32) -> Option<Violation> {
    let is_allowed = |name: &str| match name {
        "kernel.shm_rmid_forced"
        | "net.ipv4.ip_local_port_range"
        | "net.ipv4.tcp_syncookies"
        | "net.ipv4.ping_group_range"
        | "net.ipv4.ip_unprivileged_port_start" => true,
        "net.ipv4.ip_local_reserved_ports" => minor >= 27,
        "net.ipv4.tcp_keepalive_time"
        | "net.ipv4.tcp_fin_timeout"
        | "net.ipv4.tcp_keepalive_intvl"
        | "net.ipv4.tcp_keepalive_probes" => minor >= 29,
        "net.ipv4.tcp_rmem" | "net.ipv4.tcp_wmem" => minor >= 32,
        _ => false,
    };
    let all = items(pod.spec, "/securityContext/sysctls").iter().map(|sysctl| text(sysctl, "/name"));
    let found: Vec<_> = all.filter(|name| !is_allowed(name)).collect();
    violation("forbidden sysctls", found.join(", "))
}

fn windows_host_process(pod: Pod<'_>, _: u32) -> Option<Violation> {
    pod.offenders(|context| context["windowsOptions"]["hostProcess"] == true)
        .violation("hostProcess", "must not set securityContext.windowsOptions.hostProcess=true")
}
