//! A Deployment's replica count and who owns it, read from its `managedFields` once.

use baton_apply::{
    LiveObject,
    ownership::{Holder, holders},
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
    pub holders: ReplicaHolders,
}

/// Who owns a Deployment's `.spec.replicas`. Several may, as long as they agree on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplicaHolders {
    /// Baton itself.
    pub baton: bool,
    /// The temporary manager.
    pub temporary: bool,
    /// The managers that wrote the `scale` subresource: an autoscaler or `kubectl scale`.
    pub scale: Vec<Holder>,
    /// Any other manager, by name.
    pub others: Vec<String>,
}

impl Replicas {
    /// Those of a live Deployment.
    pub fn of(deployment: &LiveObject) -> Self {
        let mut owners = ReplicaHolders::default();
        for holder in holders(deployment, REPLICAS) {
            match (holder.subresource.as_deref(), holder.operation, holder.manager.as_str()) {
                (Some("scale"), _, _) => owners.scale.push(holder),
                (None, Operation::Apply, FIELD_MANAGER) => owners.baton = true,
                (None, Operation::Apply, HANDOVER_MANAGER) => owners.temporary = true,
                _ => owners.others.push(holder.manager),
            }
        }
        Self { count: deployment.number(&["spec", "replicas"]).unwrap_or(1), holders: owners }
    }
}

impl ReplicaHolders {
    /// Whether a manager other than Baton owns the count too, so that it stays when Baton releases it.
    pub fn shared(&self) -> bool {
        self.temporary || !self.scale.is_empty() || !self.others.is_empty()
    }

    /// Their names, for people; `nobody` where the count is only the server's default.
    pub fn describe(&self) -> String {
        let mut names: Vec<String> =
            self.scale.iter().map(|holder| format!("{} (scale)", holder.manager)).collect();
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

    fn holders_in(managed_fields: &Value) -> ReplicaHolders {
        let object = json!({"metadata": {"managedFields": managed_fields}, "spec": {"replicas": 3}});
        Replicas::of(&LiveObject::from_json(object).unwrap()).holders
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
        let holders = holders_in(&json!([entry("somebody", "Update", Some("scale"), &replicas())]));
        assert_eq!(holders.describe(), "somebody (scale)");
        assert!(holders.others.is_empty() && holders.shared());
    }

    #[test]
    fn of_two_entries_of_a_manager_the_last_counts_as_the_server_reads_them() {
        let paused = json!({"f:spec": {"f:paused": {}}});
        let holders = holders_in(&json!([
            entry("baton", "Apply", None, &replicas()),
            entry("kubectl-create", "Update", None, &replicas()),
            entry("kubectl-create", "Update", None, &paused),
        ]));
        assert!(holders.baton && !holders.shared(), "{}", holders.describe());
    }

    #[test]
    fn an_update_under_batons_name_is_another_manager() {
        let holders = holders_in(&json!([entry("baton", "Update", None, &replicas())]));
        assert_eq!(holders, ReplicaHolders { others: vec!["baton".into()], ..Default::default() });
    }

    #[test]
    fn owning_something_else_in_spec_is_not_owning_replicas() {
        let holders =
            holders_in(&json!([entry("baton", "Apply", None, &json!({"f:spec": {"f:paused": {}}}))]));
        assert_eq!(holders, ReplicaHolders::default());
        assert_eq!(holders.describe(), "nobody");
    }

    #[test]
    fn the_temporary_manager_and_baton_share_the_count_during_the_handover() {
        let holders = holders_in(&json!([
            entry("baton", "Apply", None, &replicas()),
            entry("handover-to-hpa", "Apply", None, &replicas()),
        ]));
        assert!(holders.baton && holders.temporary && holders.shared());
        assert_eq!(holders.describe(), "handover-to-hpa, baton");
    }
}
