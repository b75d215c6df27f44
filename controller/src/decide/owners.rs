//! A Deployment's replica count and who owns it, read from its `managedFields` once.

use baton_apply::{
    LiveObject,
    ownership::{self, Owner},
};
use baton_merge::{
    fieldpath::{Path, PathElement::Field},
    server::Operation,
};

use crate::{FIELD_MANAGER, HANDOVER_MANAGER};

/// `.spec.replicas`.
pub const REPLICAS: Path<'static> = Path::new(&[Field("spec"), Field("replicas")]);

/// A Deployment's replica count and its owners.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replicas {
    /// `spec.replicas`; the API server fills it in on every Deployment.
    pub count: i32,
    /// Who owns it.
    pub owners: ReplicaOwners,
}

/// Who owns a Deployment's `.spec.replicas`. Several may, as long as they agree on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplicaOwners {
    /// Baton itself.
    pub baton: bool,
    /// The temporary manager.
    pub temporary: bool,
    /// The managers that wrote the `scale` subresource: an autoscaler or `kubectl scale`.
    pub scale: Vec<Owner>,
    /// Any other manager, by name.
    pub others: Vec<String>,
}

impl Replicas {
    /// Those of a live Deployment.
    pub fn of(deployment: &LiveObject) -> Self {
        let mut owners = ReplicaOwners::default();
        for owner in ownership::owners(deployment, REPLICAS) {
            match (owner.subresource.as_deref(), owner.operation, owner.manager.as_str()) {
                _ if is_temporary(&owner) => owners.temporary = true,
                (Some("scale"), _, _) => owners.scale.push(owner),
                (None, Operation::Apply, FIELD_MANAGER) => owners.baton = true,
                _ => owners.others.push(owner.manager),
            }
        }
        Self { count: deployment.number(&["spec", "replicas"]).unwrap_or(1), owners }
    }
}

/// The temporary manager's entry, if it owns the count.
pub fn temporary_owners(deployment: &LiveObject) -> Vec<Owner> {
    ownership::owners(deployment, REPLICAS).into_iter().filter(is_temporary).collect()
}

fn is_temporary(owner: &Owner) -> bool {
    (owner.subresource.as_deref(), owner.operation) == (None, Operation::Apply)
        && owner.manager == HANDOVER_MANAGER
}

impl ReplicaOwners {
    /// Whether a manager other than Baton owns the count too, so that it stays when Baton releases it.
    pub fn shared(&self) -> bool {
        self.temporary || !self.scale.is_empty() || !self.others.is_empty()
    }

    /// Their names, as text; `nobody` where the count is only the server's default.
    pub fn describe(&self) -> String {
        let mut names: Vec<String> =
            self.scale.iter().map(|owner| format!("{} (scale)", owner.manager)).collect();
        names.extend(self.others.iter().cloned());
        names.extend(self.temporary.then(|| HANDOVER_MANAGER.to_owned()));
        names.extend(self.baton.then(|| FIELD_MANAGER.to_owned()));
        if names.is_empty() { "nobody".to_owned() } else { names.join(", ") }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn owners_in(managed_fields: &Value) -> ReplicaOwners {
        let object = json!({"metadata": {"managedFields": managed_fields}, "spec": {"replicas": 3}});
        Replicas::of(&LiveObject::from_json(object).unwrap()).owners
    }

    fn entry(manager: &str, operation: &str, subresource: Option<&str>, fields: &Value) -> Value {
        let mut entry = json!({"manager": manager, "operation": operation, "fieldsV1": fields});
        if let Some(subresource) = subresource {
            entry["subresource"] = json!(subresource);
        }
        entry
    }

    fn replicas() -> Value {
        json!({"f:spec": {"f:replicas": {}}})
    }

    #[test]
    fn a_scale_entry_is_known_by_its_subresource_whatever_its_manager() {
        let owners = owners_in(&json!([entry("keda", "Update", Some("scale"), &replicas())]));
        assert_eq!(owners.describe(), "keda (scale)");
        assert!(owners.others.is_empty() && owners.shared());
    }

    #[test]
    fn of_two_entries_of_a_manager_the_last_counts_as_the_server_reads_them() {
        let paused = json!({"f:spec": {"f:paused": {}}});
        let owners = owners_in(&json!([
            entry("baton", "Apply", None, &replicas()),
            entry("kubectl-create", "Update", None, &replicas()),
            entry("kubectl-create", "Update", None, &paused),
        ]));
        assert!(owners.baton && !owners.shared(), "{}", owners.describe());
    }

    #[test]
    fn an_update_under_batons_name_is_another_manager() {
        let owners = owners_in(&json!([entry("baton", "Update", None, &replicas())]));
        assert_eq!(owners, ReplicaOwners { others: vec!["baton".into()], ..Default::default() });
    }

    #[test]
    fn owning_something_else_in_spec_is_not_owning_replicas() {
        let owners = owners_in(&json!([entry("baton", "Apply", None, &json!({"f:spec": {"f:paused": {}}}))]));
        assert_eq!(owners, ReplicaOwners::default());
        assert_eq!(owners.describe(), "nobody");
    }

    #[test]
    fn the_temporary_manager_and_baton_share_the_count_during_the_handover() {
        let owners = owners_in(&json!([
            entry("baton", "Apply", None, &replicas()),
            entry("handover-to-hpa", "Apply", None, &replicas()),
        ]));
        assert!(owners.baton && owners.temporary && owners.shared());
        assert_eq!(owners.describe(), "handover-to-hpa, baton");
    }
}
