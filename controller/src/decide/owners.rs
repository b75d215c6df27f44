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
    /// Its owner.
    pub owners: ReplicaOwners,
}

/// The owners of a Deployment's `.spec.replicas`. There may be several, as long as they agree on it.
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

    #[test]
    fn owners_are_read_from_their_entries_as_the_server_reads_them() {
        let [replicas, paused] = ["f:replicas", "f:paused"].map(|field| json!({"f:spec": {field: {}}}));
        let entry = |manager: &str, operation: &str, fields: &Value| json!({"manager": manager, "operation": operation, "fieldsV1": fields});
        let mut by_scale = entry("keda", "Update", &replicas);
        by_scale["subresource"] = json!("scale");
        let baton = || entry("baton", "Apply", &replicas);
        // The last of two entries of one manager counts.
        let twice = [baton(), entry("kubectl", "Update", &replicas), entry("kubectl", "Update", &paused)];
        for (entries, is_batons, is_shared, expected) in [
            (&[by_scale][..], false, true, "keda (scale)"),
            (&twice, true, false, "baton"),
            (&[entry("baton", "Update", &replicas)], false, true, "baton"),
            (&[entry("baton", "Apply", &paused)], false, false, "nobody"),
            (&[baton(), entry("handover-to-hpa", "Apply", &replicas)], true, true, "handover-to-hpa, baton"),
        ] {
            let object = json!({"metadata": {"managedFields": entries}, "spec": {"replicas": 3}});
            let owners = Replicas::of(&LiveObject::from_json(object).unwrap()).owners;
            let found = (owners.baton, owners.shared(), &*owners.describe());
            assert_eq!(found, (is_batons, is_shared, expected), "{entries:?}");
        }
    }
}
