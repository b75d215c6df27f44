//! What `spec.replicas` of one Deployment has been: each stored write with the number and who held it. Pure; where it
//! comes from is for [the watch](super) to know.

use std::fmt;

use k8s_openapi::{
    api::apps::v1::Deployment,
    apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta},
};

/// Every stored value of a Deployment's `spec.replicas`, in the order of the writes. Shown, it has a line for each write
/// that changed the number or its holders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplicaHistory {
    sightings: Vec<Sighting>,
}

/// What became of the Deployment by one write.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Sighting {
    Stored(ReplicaWrite),
    Deleted,
}

/// The Deployment as one write has left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaWrite {
    /// The Deployment's `metadata.resourceVersion`.
    pub resource_version: String,
    /// Its `spec.replicas`.
    pub replicas: i32,
    /// Who had `spec.replicas` in `managedFields`, in their order.
    pub holders: Vec<Holder>,
}

/// An entry of `managedFields` that has `spec.replicas`. Shown as `baton (Apply)`, or, with a subresource,
/// `kube-controller-manager (Update of scale)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The name of the field manager.
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: String,
    /// The subresource that it wrote through, such as `scale`.
    pub subresource: Option<String>,
}

/// `spec.replicas` was less than it might ever be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("replicas fell to {lowest}, which is below {floor}. What was stored:\n{history}")]
pub struct BelowFloor {
    /// What it should never have been below.
    pub floor: i32,
    /// The lowest number that was stored.
    pub lowest: i32,
    /// All that was stored.
    pub history: ReplicaHistory,
}

impl ReplicaHistory {
    /// The numbers, each change once. A Deployment that is deleted and created anew with the same number changes nothing.
    pub fn values(&self) -> Vec<i32> {
        let mut values: Vec<i32> = self.writes().map(|write| write.replicas).collect();
        values.dedup();
        values
    }

    /// The lowest number; `None` if there was no Deployment.
    pub fn lowest(&self) -> Option<i32> {
        self.writes().map(|write| write.replicas).min()
    }

    /// Whether no number was below this.
    ///
    /// # Errors
    /// When one was; shown, the error tells all that was stored.
    pub fn never_below(&self, floor: i32) -> Result<(), BelowFloor> {
        match self.lowest() {
            Some(lowest) if lowest < floor => Err(BelowFloor { floor, lowest, history: self.clone() }),
            _ => Ok(()),
        }
    }

    /// What each write has left, those that changed neither the number nor its holders included. A deletion leaves
    /// nothing.
    pub fn writes(&self) -> impl Iterator<Item = &ReplicaWrite> {
        self.sightings.iter().filter_map(|sighting| match sighting {
            Sighting::Stored(write) => Some(write),
            Sighting::Deleted => None,
        })
    }

    /// The Deployment as the last write has left it; `None` if there is none.
    pub fn last(&self) -> Option<&ReplicaWrite> {
        match self.sightings.last()? {
            Sighting::Stored(write) => Some(write),
            Sighting::Deleted => None,
        }
    }

    pub(super) fn stored(&mut self, deployment: &Deployment) {
        self.sightings.push(Sighting::Stored(ReplicaWrite::of(deployment)));
    }

    pub(super) fn deleted(&mut self) {
        self.sightings.push(Sighting::Deleted);
    }

    /// Whether it has come to where the Deployment is now.
    pub(super) fn has_come_to(&self, now: Option<&Deployment>) -> bool {
        match now.and_then(|deployment| deployment.metadata.resource_version.as_deref()) {
            None => self.last().is_none(),
            Some(version) => self.writes().any(|write| write.resource_version == version),
        }
    }
}

impl ReplicaWrite {
    fn of(deployment: &Deployment) -> Self {
        let metadata = &deployment.metadata;
        Self {
            resource_version: metadata.resource_version.clone().unwrap_or_default(),
            // The server fills it in on every Deployment that it stores.
            replicas: deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1),
            holders: Holder::all(metadata),
        }
    }
}

impl Holder {
    /// The holders of a Deployment's `spec.replicas`, by its metadata, in the order of `managedFields`.
    pub fn all(metadata: &ObjectMeta) -> Vec<Self> {
        metadata.managed_fields.iter().flatten().filter_map(Self::of).collect()
    }

    fn of(entry: &ManagedFieldsEntry) -> Option<Self> {
        entry.fields_v1.as_ref()?.0.pointer("/f:spec/f:replicas")?;
        Some(Self {
            manager: entry.manager.clone().unwrap_or_default(),
            operation: entry.operation.clone().unwrap_or_default(),
            subresource: entry.subresource.clone().filter(|subresource| !subresource.is_empty()),
        })
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.subresource {
            None => write!(f, "{} ({})", self.manager, self.operation),
            Some(subresource) => write!(f, "{} ({} of {subresource})", self.manager, self.operation),
        }
    }
}

impl fmt::Display for ReplicaHistory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before: Option<&ReplicaWrite> = None;
        for sighting in &self.sightings {
            let Sighting::Stored(write) = sighting else {
                writeln!(f, "  deleted")?;
                before = None;
                continue;
            };
            if before.is_none_or(|old| (old.replicas, &old.holders) != (write.replicas, &write.holders)) {
                let holders: Vec<String> = write.holders.iter().map(Holder::to_string).collect();
                let holders = if holders.is_empty() { "nobody".to_owned() } else { holders.join(", ") };
                writeln!(
                    f,
                    "  resourceVersion {}: {} held by {holders}",
                    write.resource_version, write.replicas
                )?;
            }
            before = Some(write);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn deployment(version: &str, replicas: i32, holders: &[(&str, &str)]) -> Deployment {
        let entry = |(manager, subresource): &(&str, &str)| -> Value {
            let operation = if subresource.is_empty() { "Apply" } else { "Update" };
            let fields = json!({"f:spec": {"f:replicas": {}}});
            json!({"manager": manager, "operation": operation, "subresource": subresource, "fieldsV1": fields})
        };
        let other = json!({"manager": "kcm", "operation": "Update", "fieldsV1": {"f:status": {}}});
        let entries: Vec<Value> = holders.iter().map(entry).chain([other]).collect();
        let metadata = json!({"resourceVersion": version, "managedFields": entries});
        let spec = json!({"replicas": replicas, "selector": {}, "template": {}});
        serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
    }

    fn history() -> ReplicaHistory {
        let mut history = ReplicaHistory::default();
        history.stored(&deployment("7", 3, &[("baton", "")]));
        history.stored(&deployment("8", 3, &[("baton", "")]));
        history.stored(&deployment("9", 1, &[]));
        history.stored(&deployment("11", 5, &[("hpa", "scale"), ("baton", "")]));
        history
    }

    #[test]
    fn each_change_of_the_number_is_one_value() {
        assert_eq!(history().values(), [3, 1, 5]);
        assert_eq!(history().lowest(), Some(1));
        assert_eq!(ReplicaHistory::default().lowest(), None);
    }

    #[test]
    fn a_number_below_the_floor_is_told_with_all_that_was_stored_and_its_holders() {
        assert_eq!(history().never_below(1), Ok(()));
        let told = history().never_below(3).unwrap_err().to_string();
        assert_eq!(
            told,
            "replicas fell to 1, which is below 3. What was stored:\n  \
             resourceVersion 7: 3 held by baton (Apply)\n  \
             resourceVersion 9: 1 held by nobody\n  \
             resourceVersion 11: 5 held by hpa (Update of scale), baton (Apply)\n"
        );
    }

    #[test]
    fn it_has_come_to_a_deployment_once_that_very_write_was_seen() {
        let mut history = history();
        assert!(history.has_come_to(Some(&deployment("9", 1, &[]))));
        assert!(!history.has_come_to(Some(&deployment("12", 5, &[]))));
        assert!(!history.has_come_to(None));
        history.deleted();
        assert!(history.has_come_to(None) && ReplicaHistory::default().has_come_to(None));
        assert_eq!(history.last(), None);
    }
}
