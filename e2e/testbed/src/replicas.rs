//! The history of `spec.replicas` of one Deployment: each stored write with the replica count and its owners.

use std::{borrow::Borrow, fmt};

use k8s_openapi::{
    api::apps::v1::Deployment,
    apimachinery::pkg::apis::meta::v1::{ManagedFieldsEntry, ObjectMeta},
};
use kube::core::{ApiResource, DynamicObject};

use crate::{Cluster, Error, Event, Recorder};

/// A [`Recorder`] of one Deployment, read as its [`ReplicaHistory`].
///
/// ```no_run
/// # async fn example(cluster: &baton_testbed::Cluster) -> Result<(), Box<dyn std::error::Error>> {
/// let watch = baton_testbed::ReplicaWatch::start(cluster, "shop", "web").await?;
/// // …
/// let history = watch.history().await?;
/// history.never_below(3)?;
/// assert_eq!(history.values(), [3, 5]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct ReplicaWatch(Recorder);

impl ReplicaWatch {
    /// Watches from this moment on; the Deployment as it is now, if it is there, comes first.
    pub async fn start(cluster: &Cluster, namespace: &str, name: &str) -> Result<Self, Error> {
        let kinds = [ApiResource::erase::<Deployment>(&())];
        Recorder::start(cluster, namespace, &kinds, Some(name)).await.map(Self)
    }

    /// All that was stored since the start, up to now.
    pub async fn history(&self) -> Result<ReplicaHistory, Error> {
        self.0.events().await.map(|events| ReplicaHistory::of(&events))
    }
}

/// Every stored value of a Deployment's `spec.replicas`, in the order of the writes. Shown, it has a line for each write
/// that changed the count or its owners.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplicaHistory {
    /// `None` is a deletion.
    writes: Vec<Option<ReplicaWrite>>,
}

/// The Deployment as one write has left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaWrite {
    /// The Deployment's `metadata.resourceVersion`.
    pub revision: u64,
    /// Its `spec.replicas`.
    pub replicas: i32,
    /// The owners of `spec.replicas`, in the order of `managedFields`.
    pub owners: Vec<ReplicaOwner>,
}

/// An entry of `managedFields` that has `spec.replicas`. Shown as `baton (Apply)`, or, with a subresource,
/// `kube-controller-manager (Update of scale)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplicaOwner {
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
    /// The least count that was allowed.
    pub floor: i32,
    /// The lowest count that was stored.
    pub lowest: i32,
    /// All that was stored.
    pub history: ReplicaHistory,
}

impl ReplicaHistory {
    /// That of a Deployment of which these are all events.
    pub fn of(events: &[impl Borrow<Event>]) -> Self {
        let write = |event: &Event| (!event.gone).then(|| ReplicaWrite::of(event));
        Self { writes: events.iter().map(|event| write(event.borrow())).collect() }
    }

    /// The counts, each change once. A Deployment that is deleted and created again with the same count changes nothing.
    pub fn values(&self) -> Vec<i32> {
        let mut values: Vec<i32> = self.writes().map(|write| write.replicas).collect();
        values.dedup();
        values
    }

    /// The lowest count; `None` if there was no Deployment.
    pub fn lowest(&self) -> Option<i32> {
        self.writes().map(|write| write.replicas).min()
    }

    /// Whether no count was below this.
    ///
    /// # Errors
    /// When one was; shown, the error lists all that was stored.
    pub fn never_below(&self, floor: i32) -> Result<(), BelowFloor> {
        match self.lowest() {
            Some(lowest) if lowest < floor => Err(BelowFloor { floor, lowest, history: self.clone() }),
            _ => Ok(()),
        }
    }

    /// What each write has left, those that changed neither the count nor its owners included. A deletion leaves
    /// nothing.
    pub fn writes(&self) -> impl Iterator<Item = &ReplicaWrite> {
        self.writes.iter().flatten()
    }

    /// The Deployment as the last write has left it; `None` if there is none.
    pub fn last(&self) -> Option<&ReplicaWrite> {
        self.writes.last()?.as_ref()
    }
}

impl ReplicaWrite {
    fn of(event: &Event) -> Self {
        let DynamicObject { metadata, data, .. } = &event.object;
        // The server fills it in on every Deployment that it stores.
        let replicas = data["spec"]["replicas"].as_i64().and_then(|count| i32::try_from(count).ok());
        Self {
            revision: event.revision,
            replicas: replicas.unwrap_or(1),
            owners: ReplicaOwner::all(metadata),
        }
    }
}

impl ReplicaOwner {
    /// A manager that applies.
    pub fn apply(manager: &str) -> Self {
        Self { manager: manager.to_owned(), operation: "Apply".to_owned(), subresource: None }
    }

    /// A manager that writes the `scale` subresource, other than by apply.
    pub fn scale(manager: &str) -> Self {
        Self {
            manager: manager.to_owned(),
            operation: "Update".to_owned(),
            subresource: Some("scale".to_owned()),
        }
    }

    /// The owners of a Deployment's `spec.replicas`, by its metadata, in the order of `managedFields`.
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

impl fmt::Display for ReplicaOwner {
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
        for write in &self.writes {
            let Some(write) = write else {
                writeln!(f, "  deleted")?;
                before = None;
                continue;
            };
            if before.is_none_or(|old| (old.replicas, &old.owners) != (write.replicas, &write.owners)) {
                let owners: Vec<String> = write.owners.iter().map(ReplicaOwner::to_string).collect();
                let owners = if owners.is_empty() { "nobody".to_owned() } else { owners.join(", ") };
                writeln!(f, "  resourceVersion {}: {} owned by {owners}", write.revision, write.replicas)?;
            }
            before = Some(write);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;

    fn stored(revision: u64, replicas: i32, owners: &[(&str, &str)]) -> Event {
        let entry = |(manager, subresource): &(&str, &str)| -> Value {
            let operation = if subresource.is_empty() { "Apply" } else { "Update" };
            let fields = json!({"f:spec": {"f:replicas": {}}});
            json!({"manager": manager, "operation": operation, "subresource": subresource, "fieldsV1": fields})
        };
        let other = json!({"manager": "kcm", "operation": "Update", "fieldsV1": {"f:status": {}}});
        let entries: Vec<Value> = owners.iter().map(entry).chain([other]).collect();
        let object = json!({"metadata": {"managedFields": entries}, "spec": {"replicas": replicas}});
        let object = serde_json::from_value(object).unwrap();
        Event { revision, at: Duration::ZERO, object, gone: false }
    }

    fn history() -> ReplicaHistory {
        ReplicaHistory::of(&[
            stored(7, 3, &[("baton", "")]),
            stored(8, 3, &[("baton", "")]),
            stored(9, 1, &[]),
            stored(11, 5, &[("hpa", "scale"), ("baton", "")]),
        ])
    }

    #[test]
    fn each_change_of_the_count_is_one_value() {
        assert_eq!(history().values(), [3, 1, 5]);
        assert_eq!(history().lowest(), Some(1));
        assert_eq!(ReplicaHistory::default().lowest(), None);
    }

    #[test]
    fn a_count_below_the_floor_is_reported_with_all_writes_and_their_owners() {
        assert_eq!(history().never_below(1), Ok(()));
        let message = history().never_below(3).unwrap_err().to_string();
        assert_eq!(
            message,
            "replicas fell to 1, which is below 3. What was stored:\n  \
             resourceVersion 7: 3 owned by baton (Apply)\n  \
             resourceVersion 9: 1 owned by nobody\n  \
             resourceVersion 11: 5 owned by hpa (Update of scale), baton (Apply)\n"
        );
    }

    #[test]
    fn a_deletion_leaves_nothing() {
        let gone = Event { gone: true, ..stored(12, 5, &[]) };
        let history = ReplicaHistory::of(&[stored(11, 5, &[]), gone]);
        assert_eq!((history.last(), history.values()), (None, vec![5]));
    }
}
