//! Gives the fields of retired managers to another manager, in `managedFields`.
//!
//! Follows client-go's `csaupgrade`, which kubectl uses for the change from client-side to server-side apply.

use baton_merge::{
    Arena,
    fieldpath::{FieldSet, Path, PathElement::Field},
};
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::{Change, LiveObject, Request, Revision, Target, object::text};

/// The annotation in which client-side `kubectl apply` keeps what it applied last.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The field manager of client-side `kubectl apply`.
pub const CLIENT_SIDE_APPLY: &str = "kubectl-client-side-apply";
const LAST_APPLIED_PATH: Path<'static> =
    Path::new(&[Field("metadata"), Field("annotations"), Field(LAST_APPLIED)]);

/// The `managedFields` that result when one manager comes to own the fields of others. It is made for one version of the object,
/// and the server refuses it for any other.
#[derive(Clone, Debug, PartialEq)]
pub struct Migration {
    /// The managers that own nothing any more, each once.
    pub retired: Vec<String>,
    /// The whole `managedFields` afterwards.
    managed_fields: Vec<Value>,
    drops: Drops,
    revision: Revision,
}

/// What is removed from an object's annotations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Drops {
    #[default]
    Nothing,
    /// The annotation of client-side apply.
    LastApplied,
    /// The same, if it is the only annotation.
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
    /// of the API: that of the manager's own entry, or else `api_version`, or else that of the first.
    pub fn to(
        manager: &str,
        live: &LiveObject,
        api_version: &str,
        is_retired: impl Fn(&Value) -> bool,
    ) -> Option<Self> {
        let migration = Self::of_entries(manager, live, api_version, is_retired);
        (!migration.retired.is_empty()).then_some(migration)
    }

    /// The same, and removes the annotation of client-side apply too.
    pub fn from_client_side_apply(
        manager: &str,
        live: &LiveObject,
        api_version: &str,
        is_retired: impl Fn(&Value) -> bool,
    ) -> Option<Self> {
        let is_retired = |entry: &Value| is_retired(entry) || is_client_side_apply(entry);
        let migration = Self::of_entries(manager, live, api_version, is_retired);
        let migration = Self { drops: Drops::of(live), ..migration };
        (!migration.retired.is_empty() || migration.drops != Drops::Nothing).then_some(migration)
    }

    fn of_entries(
        manager: &str,
        live: &LiveObject,
        api_version: &str,
        is_retired: impl Fn(&Value) -> bool,
    ) -> Self {
        let entries = live.managed_fields();
        let is_main = |entry: &Value| text(entry, "subresource").is_none_or(str::is_empty);
        let is_own = |entry: &Value| {
            is_main(entry)
                && (text(entry, "manager"), text(entry, "operation")) == (Some(manager), Some("Apply"))
        };
        let to_retire = |entry: &&Value| is_main(entry) && !is_own(entry) && is_retired(entry);
        let own = entries.iter().find(|entry| is_own(entry));
        let candidates = || own.into_iter().chain(entries.iter().filter(to_retire));
        let version = own
            .or_else(|| candidates().find(|entry| text(entry, "apiVersion") == Some(api_version)))
            .or_else(|| candidates().next())
            .and_then(|entry| text(entry, "apiVersion"));
        let goes = |entry: &&Value| to_retire(entry) && text(entry, "apiVersion") == version;
        let going: Vec<&Value> = entries.iter().filter(goes).collect();
        let revision = live.revision();
        if going.is_empty() {
            return Self {
                retired: Vec::new(),
                managed_fields: entries.to_vec(),
                drops: Drops::Nothing,
                revision,
            };
        }
        let mut retired: Vec<String> =
            going.iter().filter_map(|entry| text(entry, "manager")).map(str::to_owned).collect();
        retired.sort();
        retired.dedup();
        let stays = entries.iter().filter(|entry| !goes(entry) && !is_own(entry)).cloned();
        let united = united(manager, version.unwrap_or_default(), going.iter().copied().chain(own));
        Self { retired, managed_fields: stays.chain([united]).collect(), drops: Drops::Nothing, revision }
    }

    /// The request, sent as this manager.
    ///
    /// # Errors
    /// When the patch can't be written, which would be a bug in this crate.
    pub fn request(&self, target: Target, manager: &'static str) -> Result<Request, serde_json::Error> {
        let operations = serde_json::from_value(self.operations())?;
        Ok(Request { target, change: Change::Patch { operations, manager: manager.into() } })
    }

    /// The test of the patch covers all that the patch depends on.
    fn operations(&self) -> Value {
        let mut operations = vec![
            self.revision.test(),
            json!({"op": "replace", "path": "/metadata/managedFields", "value": self.managed_fields}),
        ];
        operations.extend(match self.drops {
            Drops::Nothing => None,
            // An empty map isn't stored, and has no owner any more.
            Drops::AllAnnotations => Some(json!({"op": "remove", "path": "/metadata/annotations"})),
            Drops::LastApplied => {
                let annotation = LAST_APPLIED.replace('~', "~0").replace('/', "~1");
                Some(json!({"op": "remove", "path": format!("/metadata/annotations/{annotation}")}))
            }
        });
        Value::Array(operations)
    }
}

/// Whether an entry is from client-side apply: by its name, or because it owns the annotation of client-side apply.
pub fn is_client_side_apply(entry: &Value) -> bool {
    text(entry, "operation") == Some("Update")
        && (text(entry, "manager") == Some(CLIENT_SIDE_APPLY) || owns_last_applied(entry))
}

fn owns_last_applied(entry: &Value) -> bool {
    let arena = Arena::new();
    let fields = entry.get("fieldsV1").and_then(|fields| FieldSet::from_fields_v1(&arena, fields).ok());
    fields.is_some_and(|fields| fields.contains(&LAST_APPLIED_PATH))
}

/// One entry of the manager that owns the fields of all these, except the annotation of client-side apply, which is removed.
fn united<'e>(manager: &str, version: &str, entries: impl Iterator<Item = &'e Value> + Clone) -> Value {
    let arena = Arena::new();
    let fields = entries
        .clone()
        .filter_map(|entry| FieldSet::from_fields_v1(&arena, entry.get("fieldsV1")?).ok())
        .fold(FieldSet::default(), |all, fields| all.union(&arena, fields))
        .difference(&arena, FieldSet::of_paths(&arena, [LAST_APPLIED_PATH]));
    let mut united = json!({
        "manager": manager,
        "operation": "Apply",
        "apiVersion": version,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields.to_fields_v1(),
    });
    // All times have one format, in which the latest is the greatest.
    if let Some(time) = entries.filter_map(|entry| text(entry, "time")).max() {
        united["time"] = time.into();
    }
    united
}
