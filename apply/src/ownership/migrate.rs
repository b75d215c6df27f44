//! Migrations: the fields of retired managers pass to another manager, in `managedFields`.
//!
//! Follows client-go's `csaupgrade`, which kubectl uses for the change from client-side to server-side apply.

use baton_merge::{
    Arena,
    fieldpath::{FieldSet, Path, PathElement::Field},
};
use kube::ResourceExt;
use serde_json::{Value, json};

use super::may_name;
use crate::{LiveObject, ManagedFieldsEntry, Request, Revision, Target, secrecy::LAST_APPLIED};

/// The field manager of client-side `kubectl apply`.
pub const CLIENT_SIDE_APPLY: &str = "kubectl-client-side-apply";
const LAST_APPLIED_PATH: Path<'static> =
    Path::new(&[Field("metadata"), Field("annotations"), Field(LAST_APPLIED)]);

/// A change of `managedFields` by which one manager comes to own the fields of others. It is made for one version of the object,
/// and the server refuses it for any other.
#[derive(Clone, Debug, PartialEq)]
pub struct Migration {
    /// The managers that own nothing any more, each once.
    pub retired: Vec<String>,
    /// The indexes of the entries that go, in order.
    going: Vec<usize>,
    /// The entry that takes their place, as text, unless none goes.
    united: Option<Box<str>>,
    drops: Drops,
    revision: Revision,
}

/// The part of an object's annotations that is removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Drops {
    #[default]
    Nothing,
    /// The annotation of client-side apply.
    LastApplied,
    /// All: the annotation of client-side apply is the only one.
    AllAnnotations,
}

impl Drops {
    fn of(live: &LiveObject) -> Self {
        match (live.annotations().contains_key(LAST_APPLIED), live.annotations().len()) {
            (false, _) => Self::Nothing,
            (true, 1) => Self::AllAnnotations,
            (true, _) => Self::LastApplied,
        }
    }
}

impl Migration {
    /// Makes the manager own the fields of these entries, as if it had applied them. `None` if there is nothing to do.
    ///
    /// Entries of a subresource stay: a status belongs to its writer. All entries that are taken over have one version
    /// of the API: that of the manager's own entry, or else the first of `versions`, or else that of the first entry. If it is among
    /// `versions`, entries of all these are taken over: the object has the same fields in them.
    pub fn to(
        manager: &str,
        live: &LiveObject,
        versions: &[&str],
        is_retired: impl Fn(&ManagedFieldsEntry<'_>) -> bool,
    ) -> Option<Self> {
        let migration = Self::of_entries(manager, live, versions, is_retired);
        (!migration.retired.is_empty()).then_some(migration)
    }

    /// Also retires client-side apply, and removes its annotation.
    pub fn from_client_side_apply(
        manager: &str,
        live: &LiveObject,
        versions: &[&str],
        is_retired: impl Fn(&ManagedFieldsEntry<'_>) -> bool,
    ) -> Option<Self> {
        let is_retired = |entry: &ManagedFieldsEntry<'_>| is_retired(entry) || is_client_side_apply(entry);
        let migration = Self::of_entries(manager, live, versions, is_retired);
        let migration = Self { drops: Drops::of(live), ..migration };
        (!migration.retired.is_empty() || migration.drops != Drops::Nothing).then_some(migration)
    }

    fn of_entries(
        manager: &str,
        live: &LiveObject,
        versions: &[&str],
        is_retired: impl Fn(&ManagedFieldsEntry<'_>) -> bool,
    ) -> Self {
        let entries = live.managed_fields();
        let own = live.applied_entry(manager);
        let is_to_retire = |entry: &&ManagedFieldsEntry<'_>| {
            entry.subresource().is_none() && !entry.is_applied_by(manager) && is_retired(entry)
        };
        let to_retire: Vec<_> = entries.iter().filter(is_to_retire).collect();
        let own = own.as_ref();
        let candidates = || own.into_iter().chain(to_retire.iter().copied());
        let version = own
            .or_else(|| candidates().find(|entry| Some(&entry.api_version()) == versions.first()))
            .or_else(|| candidates().next())
            .map(ManagedFieldsEntry::api_version);
        let has_same_fields = version.is_some_and(|version| versions.contains(&version));
        let retiring = to_retire.iter().copied().filter(|entry| {
            Some(entry.api_version()) == version || has_same_fields && versions.contains(&entry.api_version())
        });
        let mut retired: Vec<String> = retiring.clone().map(|entry| entry.manager().to_owned()).collect();
        retired.sort();
        retired.dedup();
        let united = version
            .filter(|_| !retired.is_empty())
            .map(|version| united(manager, version, retiring.clone().chain(own)));
        let mut going: Vec<usize> = match united {
            Some(_) => retiring.chain(own).map(|entry| entry.position).collect(),
            None => Vec::new(),
        };
        going.sort_unstable();
        Self { retired, going, united, drops: Drops::Nothing, revision: live.revision() }
    }

    /// The request, sent as this manager.
    ///
    /// # Errors
    /// When the patch can't be written, which would be a bug in this crate.
    pub fn request(&self, target: Target, manager: impl Into<String>) -> Result<Request, serde_json::Error> {
        Request::patch(target, &self.revision, manager, self.operations()?)
    }

    fn operations(&self) -> Result<Vec<Value>, serde_json::Error> {
        // From the last to the first, so that a removal doesn't move the next ones.
        let entry = |position: &usize| format!("/metadata/managedFields/{position}");
        let remove = |at: &usize| json!({"op": "remove", "path": entry(at)});
        let mut operations: Vec<Value> = self.going.iter().rev().map(remove).collect();
        if let Some(united) = &self.united {
            let united: Value = serde_json::from_str(united)?;
            operations.push(json!({"op": "add", "path": "/metadata/managedFields/-", "value": united}));
        }
        operations.extend(match self.drops {
            Drops::Nothing => None,
            // An empty map isn't stored, and has no owner any more.
            Drops::AllAnnotations => Some(json!({"op": "remove", "path": "/metadata/annotations"})),
            Drops::LastApplied => {
                let annotation = LAST_APPLIED.replace('~', "~0").replace('/', "~1");
                Some(json!({"op": "remove", "path": format!("/metadata/annotations/{annotation}")}))
            }
        });
        Ok(operations)
    }
}

/// Whether an entry is from client-side apply: by its name, or because it owns the annotation of client-side apply.
pub fn is_client_side_apply(entry: &ManagedFieldsEntry<'_>) -> bool {
    entry.operation() == "Update" && (entry.manager() == CLIENT_SIDE_APPLY || owns_last_applied(entry))
}

fn owns_last_applied(entry: &ManagedFieldsEntry<'_>) -> bool {
    entry.fields_text().is_some_and(|fields| may_name(fields, LAST_APPLIED_PATH))
        && entry.fields(&Arena::new()).is_some_and(|fields| fields.contains(&LAST_APPLIED_PATH))
}

/// The text of one entry of the manager that owns the fields of all these, except the annotation of client-side apply, which is
/// removed.
fn united<'e, 'o: 'e>(
    manager: &str,
    version: &str,
    entries: impl Iterator<Item = &'e ManagedFieldsEntry<'o>> + Clone,
) -> Box<str> {
    let arena = Arena::new();
    let fields = FieldSet::union_all(&arena, entries.clone().filter_map(|entry| entry.fields(&arena)));
    let fields = fields.difference(&arena, FieldSet::of_paths(&arena, [LAST_APPLIED_PATH]));
    let mut united = json!({
        "manager": manager, "operation": "Apply", "apiVersion": version, "fieldsType": "FieldsV1",
    });
    // All times have one format, in which the latest is the greatest.
    if let Some(time) = entries.filter_map(ManagedFieldsEntry::time).max() {
        united["time"] = time.into();
    }
    let united = united.to_string();
    let fields = fields.to_fields_v1_text();
    format!("{},\"fieldsV1\":{fields}}}", united.trim_end_matches('}')).into()
}
