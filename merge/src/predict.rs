//! Predictions of server-side applies.
//!
//! The entry point of this crate for appliers: a [`PredictedApply`] has the object and its owners after the apply, which fields
//! it takes over and releases, and how certain that is. [`Resource::is_noop`] detects at less cost that an apply would
//! change nothing.

use std::fmt::{self, Display};

use jiff::Timestamp;

use crate::{
    Arena, Release,
    fieldpath::{FieldSet, ManyTimes, Path},
    server::{Certainty, Live, ManagerId, Operation, Refusal, Resource, Spelling, Stored, Write},
    typed::ValueComparison,
    updater::Conflict,
    value::{Value, ValueError},
};

/// How an intent is applied.
#[derive(Clone, Copy, Debug)]
pub struct Apply<'a> {
    /// The field manager's name.
    pub manager: &'a str,
    /// Whether it takes over the fields of other managers.
    pub force: bool,
    /// The subresource that it is applied to; empty for the object itself.
    pub subresource: &'a str,
    /// The time of the write, to the second.
    pub now: Timestamp,
    /// The server's release.
    pub release: Release,
}

/// The predicted result of an apply.
#[derive(Clone, Debug)]
pub struct PredictedApply<'a> {
    /// The object and its `managedFields` afterwards; those before if the apply is refused.
    pub stored: Stored<'a>,
    /// Whether anything is stored: if not, the object keeps its `resourceVersion`.
    pub changed: bool,
    /// The conflicts of a refused apply, otherwise empty.
    pub conflicts: Conflicts<'a>,
    /// The changes of the object, without its `managedFields`.
    pub comparison: ValueComparison<'a>,
    /// Paths of other managers that only the applier owns afterwards, in the order of the managers.
    pub taken: Vec<Taken<'a>>,
    /// Paths of other managers that are removed, such as a field in a list item that the applier no longer applies.
    pub dropped: Vec<Taken<'a>>,
    /// Paths that the applier owned and no longer applies. Removed ones are in the comparison's `removed`.
    pub released: FieldSet<'a>,
    /// How certain the prediction is.
    pub certainty: Certainty,
}

/// A path that an apply takes over from another manager, or removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken<'a> {
    /// The path.
    pub path: Path<'a>,
    /// The former owner.
    pub from: ManagerId<'a>,
}

/// The conflicts of an apply, which print as the server's message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conflicts<'a>(Vec<Conflict<'a, ManagerId<'a>>>);

impl<'a> From<Vec<Conflict<'a, ManagerId<'a>>>> for Conflicts<'a> {
    fn from(conflicts: Vec<Conflict<'a, ManagerId<'a>>>) -> Self {
        Self(conflicts)
    }
}

impl<'a> Conflicts<'a> {
    /// One by one, in the order of the managers.
    pub fn iter(&self) -> std::slice::Iter<'_, Conflict<'a, ManagerId<'a>>> {
        self.0.iter()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl<'c, 'a> IntoIterator for &'c Conflicts<'a> {
    type Item = &'c Conflict<'a, ManagerId<'a>>;
    type IntoIter = std::slice::Iter<'c, Conflict<'a, ManagerId<'a>>>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// As the message of a `409 Conflict`.
impl Display for Conflicts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let conflicts = &self.0;
        if let [conflict] = conflicts.as_slice() {
            return write!(
                f,
                "Apply failed with 1 conflict: conflict with {}: {}",
                conflict.manager, conflict.path
            );
        }
        write!(f, "Apply failed with {} conflicts: ", conflicts.len())?;
        let mut conflicts = conflicts.clone();
        conflicts.sort_by_cached_key(|conflict| conflict.manager.key());
        let of_manager = conflicts.chunk_by(|left, right| left.manager == right.manager);
        for (position, of_manager) in of_manager.enumerate() {
            let separator = if position == 0 { "" } else { "\n" };
            write!(f, "{separator}conflicts with {}:", of_manager[0].manager)?;
            for conflict in of_manager {
                write!(f, "\n- {}", conflict.path)?;
            }
        }
        Ok(())
    }
}

/// The reason why there is no prediction.
#[derive(Clone, Debug, thiserror::Error)]
pub enum PredictError {
    /// The server would refuse the apply, for a reason other than conflicts.
    #[error("the server would refuse this apply: {0}")]
    Refused(String),
    /// An object can't be read.
    #[error("can't read the {what}: {source}")]
    Value {
        /// The object.
        what: &'static str,
        /// The cause.
        #[source]
        source: ValueError,
    },
}

impl<'a> Resource<'a> {
    /// Predicts an apply of an intent to the live object, or a creation without one.
    ///
    /// # Errors
    /// When the server would refuse it, for a reason other than conflicts.
    ///
    /// ```
    /// use baton_merge::{Arena, Release, predict::Apply, schema::kinds::GroupVersionKind, server::Resources};
    /// use serde_json::json;
    ///
    /// let resources = Resources::from_crd(&json!({
    ///     "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    ///     "spec": {
    ///         "group": "baton.rs", "scope": "Namespaced", "names": {"kind": "Note", "plural": "notes"},
    ///         "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
    ///             "type": "object",
    ///             "properties": {"text": {"type": "string"}, "copies": {"type": "integer"}},
    ///         }}}],
    ///     },
    /// }))?;
    /// let notes = resources.get(&GroupVersionKind::new("baton.rs", "v1", "Note")).expect("it is served");
    /// let live = json!({
    ///     "apiVersion": "baton.rs/v1", "kind": "Note",
    ///     "metadata": {"name": "n", "uid": "1", "managedFields": [{
    ///         "manager": "kubectl", "operation": "Apply", "apiVersion": "baton.rs/v1", "fieldsType": "FieldsV1",
    ///         "fieldsV1": {"f:text": {}}, "time": "2026-01-02T03:04:05Z",
    ///     }]},
    ///     "text": "old",
    /// });
    /// let intent = json!({"apiVersion": "baton.rs/v1", "kind": "Note", "metadata": {"name": "n"}, "text": "new"});
    /// let apply = Apply {
    ///     manager: "baton", force: false, subresource: "",
    ///     now: "2026-01-02T03:04:06Z".parse()?, release: Release::LATEST,
    /// };
    ///
    /// let arena = Arena::new();
    /// let refused = notes.predict(&arena, Some(&live), &intent, apply)?;
    /// assert_eq!(
    ///     refused.conflicts.to_string(),
    ///     r#"Apply failed with 1 conflict: conflict with "kubectl": .text"#,
    /// );
    ///
    /// let forced = notes.predict(&arena, Some(&live), &intent, Apply { force: true, ..apply })?;
    /// assert!(forced.changed);
    /// assert_eq!(forced.taken[0].from.manager, "kubectl");
    /// assert_eq!(forced.stored.to_json()["text"], "new");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn predict(
        &self,
        arena: &'a Arena,
        live: Option<&'a serde_json::Value>,
        intent: &'a serde_json::Value,
        apply: Apply<'a>,
    ) -> Result<PredictedApply<'a>, PredictError> {
        let read =
            |what, json| Value::from_json(arena, json).map_err(|source| PredictError::Value { what, source });
        let live = live.map(|live| read("live object", live)).transpose()?;
        self.predict_values(arena, live, read("intent", intent)?, apply)
    }

    /// As [`predict`](Self::predict), for [values](Value).
    ///
    /// # Errors
    /// When the server would refuse it, for a reason other than conflicts.
    pub fn predict_values(
        &self,
        arena: &'a Arena,
        live: Option<Value<'a>>,
        intent: Value<'a>,
        apply: Apply<'a>,
    ) -> Result<PredictedApply<'a>, PredictError> {
        let write = Write {
            manager: apply.manager,
            subresource: apply.subresource,
            now: apply.now,
            release: apply.release,
        };
        let refused = |error: Refusal<'a>| PredictError::Refused(error.to_string());
        let live = match live {
            Some(object) => Some(self.in_its_version(arena, object).map_err(refused)?),
            None => None,
        };
        let live = live.map(|object| Live { object, spelling: Spelling::UNKNOWN });
        match self.apply(arena, live, intent, write, apply.force) {
            Ok(stored) => Ok(self.explain(arena, live, stored, apply)),
            Err(Refusal::Conflicts(conflicts)) => {
                Ok(self.conflicting(arena, live, Conflicts(conflicts), apply))
            }
            Err(error) => Err(refused(error)),
        }
    }

    fn conflicting(
        &self,
        arena: &'a Arena,
        live: Option<Live<'a>>,
        conflicts: Conflicts<'a>,
        apply: Apply<'a>,
    ) -> PredictedApply<'a> {
        let stored = self.unchanged(arena, live, apply.release);
        PredictedApply {
            certainty: stored.certainty,
            stored,
            changed: false,
            conflicts,
            comparison: ValueComparison::default(),
            taken: Vec::new(),
            dropped: Vec::new(),
            released: FieldSet::default(),
        }
    }

    fn explain(
        &self,
        arena: &'a Arena,
        live: Option<Live<'a>>,
        stored: Stored<'a>,
        apply: Apply<'a>,
    ) -> PredictedApply<'a> {
        let applier =
            ManagerId::of_writer(apply.manager, Operation::Apply, self.api_version(), apply.subresource);
        let mut after: Vec<_> =
            stored.managed_fields.iter().map(|entry| (entry.id(), entry.fields)).collect();
        after.sort_by_key(|(id, _)| *id);
        let fields_after = |id: ManagerId<'a>| {
            after.binary_search_by_key(&id, |(id, _)| *id).map(|at| after[at].1).unwrap_or_default()
        };
        let owned_after = ManyTimes::new(arena, fields_after(applier), stored.owners_before().count());
        let (mut taken, mut dropped, mut released) = (Vec::new(), Vec::new(), FieldSet::default());
        for (from, owned) in stored.owners_before().filter(|_| stored.changed) {
            let kept = fields_after(from);
            if owned.set.is_subset(kept) {
                continue;
            }
            let lost = self.reconciled(arena, owned, apply.release).difference(arena, kept);
            if from == applier {
                released = lost;
                continue;
            }
            let to_applier = owned_after.intersection(arena, lost);
            let from_it = |path| Taken { path, from };
            taken.extend(to_applier.paths(arena).into_iter().map(from_it));
            dropped.extend(lost.difference(arena, to_applier).paths(arena).into_iter().map(from_it));
        }
        let comparison = if stored.changed {
            self.compare(arena, live, &stored, apply.release)
        } else {
            ValueComparison::default()
        };
        PredictedApply {
            changed: stored.changed,
            certainty: stored.certainty,
            conflicts: Conflicts::default(),
            comparison,
            taken,
            dropped,
            released,
            stored,
        }
    }
}
