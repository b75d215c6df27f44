//! What becomes of an object that has a child's name and isn't this Workload's: refused, or taken over without a jolt.
//!
//! An object that is to be adopted goes through two writes. The first rewrites its `managedFields`: what client-side apply
//! and the retired managers own becomes Baton's, as if Baton had applied it. The second is the apply of Baton's intent: it
//! brings the controller reference, and prunes what those managers had set and the intent lacks. A crash between the two
//! leaves the object to be adopted by the next pass.
//!
//! Follows client-go's `csaupgrade`, which kubectl uses where somebody goes from client-side to server-side apply.

use baton_crd::{Adoption, Workload};
use baton_merge::{
    Arena,
    fieldpath::{FieldSet, Path, PathElement::Field},
};
use kube::ResourceExt;
use serde_json::{Value, json};

use crate::{
    FIELD_MANAGER,
    child::ChildKind,
    live::{Live, text},
};

/// The annotation in which client-side `kubectl apply` keeps what it applied last.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The manager as which client-side `kubectl apply` writes.
const CLIENT_SIDE_APPLY: &str = "kubectl-client-side-apply";
const LAST_APPLIED_PATH: Path<'static> =
    Path::new(&[Field("metadata"), Field("annotations"), Field(LAST_APPLIED)]);

/// What to do with an object that isn't this Workload's.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// Leave it alone, and tell people this.
    Refuse(String),
    /// First make what others own Baton's.
    Migrate(Migration),
    /// Apply the intent: nobody is to be retired any more.
    Take,
}

/// Ownership that passes to Baton, as the `managedFields` that it leads to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Migration {
    /// The whole `managedFields` afterwards.
    pub managed_fields: Vec<Value>,
    /// What goes of the annotations.
    pub drops: Drops,
    /// The managers that are no more, each once.
    pub retired: Vec<String>,
}

/// What goes of an object's annotations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Drops {
    /// Nothing.
    #[default]
    Nothing,
    /// The one that client-side apply has left.
    LastApplied,
    /// The same, and no other is there.
    AllAnnotations,
}

impl Drops {
    fn of(live: &Live) -> Self {
        match (live.annotations().contains_key(LAST_APPLIED), live.annotations().len()) {
            (false, _) => Self::Nothing,
            (true, 1) => Self::AllAnnotations,
            (true, _) => Self::LastApplied,
        }
    }
}

impl Migration {
    fn is_empty(&self) -> bool {
        self.retired.is_empty() && self.drops == Drops::Nothing
    }
}

/// Decides about an object that has a child's name and isn't this Workload's.
pub fn consider(child: ChildKind, live: &Live, workload: &Workload) -> Verdict {
    let spec = &workload.spec;
    if spec.adoption == Adoption::Refuse {
        let advice = "set spec.adoption to Adopt to take it over, delete or rename it, or give the Workload another name";
        return Verdict::Refuse(refusal(child, live, advice));
    }
    if let Some(advice) = about_another_controller(live, &spec.retired_managers) {
        return Verdict::Refuse(refusal(child, live, &advice));
    }
    let is_retired = |entry: &Value| is_named(entry, &spec.retired_managers) || is_client_side_apply(entry);
    let mut migration = migration(child, live, is_retired);
    migration.drops = Drops::of(live);
    if migration.is_empty() { Verdict::Take } else { Verdict::Migrate(migration) }
}

/// What is to be retired of a child that is this Workload's already: a manager may have been named only now, or have
/// written again.
pub fn still_to_retire(child: ChildKind, live: &Live, workload: &Workload) -> Option<Migration> {
    let retired = &workload.spec.retired_managers;
    if workload.spec.adoption == Adoption::Refuse || retired.is_empty() {
        return None;
    }
    let migration = migration(child, live, |entry| is_named(entry, retired));
    (!migration.is_empty()).then_some(migration)
}

fn refusal(child: ChildKind, live: &Live, advice: &str) -> String {
    let name = live.name_any();
    let owner = match (live.controller(), live.annotations().get("meta.helm.sh/release-name")) {
        (Some(controller), _) => format!("it is controlled by {controller}"),
        (None, Some(release)) => format!("it belongs to the Helm release {release}"),
        (None, None) => format!("it was made by {}", live.managers().join(", ")),
    };
    format!("{child} {name} exists and isn't this Workload's: {owner}; {advice}")
}

/// What to do about a controller that would be left beside Baton; nothing where there is none.
fn about_another_controller(live: &Live, retired: &[String]) -> Option<String> {
    let controller = live.owner_references().iter().find(|owner| owner.controller == Some(true))?;
    let path = format!(".metadata.ownerReferences[uid={}]", Value::from(controller.uid.as_str()));
    let owners: Vec<String> =
        live.managers().into_iter().filter(|manager| live.is_owned_by(manager, &path)).collect();
    // What was made Baton's already goes with the apply that is to come.
    let goes = |owner: &String| owner == FIELD_MANAGER || retired.contains(owner);
    match owners.iter().find(|owner| !goes(owner)) {
        Some(owner) => Some(format!(
            "name {owner}, which made that reference, in spec.retiredManagers if it has nothing to say any more, or remove \
             the reference"
        )),
        None if owners.is_empty() => Some("remove that reference first".to_owned()),
        None => None,
    }
}

fn is_named(entry: &Value, retired: &[String]) -> bool {
    text(entry, "manager").is_some_and(|manager| retired.iter().any(|retired| retired == manager))
}

/// Whether client-side apply made it: by its name, or because it owns the annotation that client-side apply leaves.
fn is_client_side_apply(entry: &Value) -> bool {
    text(entry, "operation") == Some("Update")
        && (text(entry, "manager") == Some(CLIENT_SIDE_APPLY) || owns(entry, LAST_APPLIED_PATH))
}

fn owns(entry: &Value, path: Path<'_>) -> bool {
    let arena = Arena::new();
    let fields = entry.get("fieldsV1").and_then(|fields| FieldSet::from_fields_v1(&arena, fields).ok());
    fields.is_some_and(|fields| fields.contains(&path))
}

/// Makes what these entries own Baton's.
///
/// What was written through a subresource stays: a status is its writer's, and the `scale` entries are the handover's. Of
/// entries that speak of another version of the API than Baton's own, one kind can be taken over, by being renamed.
fn migration(child: ChildKind, live: &Live, is_retired: impl Fn(&Value) -> bool) -> Migration {
    let entries = live.managed_fields();
    let is_main = |entry: &Value| text(entry, "subresource").is_none_or(str::is_empty);
    let is_batons = |entry: &Value| {
        is_main(entry)
            && (text(entry, "manager"), text(entry, "operation")) == (Some(FIELD_MANAGER), Some("Apply"))
    };
    let to_retire = |entry: &&Value| is_main(entry) && !is_batons(entry) && is_retired(entry);
    let batons = entries.iter().find(|entry| is_batons(entry));
    let candidates = || batons.into_iter().chain(entries.iter().filter(to_retire));
    let version = batons
        .or_else(|| candidates().find(|entry| text(entry, "apiVersion") == Some(child.api_version())))
        .or_else(|| candidates().next())
        .and_then(|entry| text(entry, "apiVersion"));
    let goes = |entry: &&Value| to_retire(entry) && text(entry, "apiVersion") == version;
    let going: Vec<&Value> = entries.iter().filter(goes).collect();
    if going.is_empty() {
        return Migration { managed_fields: entries.to_vec(), ..Migration::default() };
    }
    let mut retired: Vec<String> =
        going.iter().filter_map(|entry| text(entry, "manager")).map(str::to_owned).collect();
    retired.sort();
    retired.dedup();
    let stays = entries.iter().filter(|entry| !goes(entry) && !is_batons(entry)).cloned();
    let united = united(version.unwrap_or_default(), going.iter().copied().chain(batons));
    Migration { managed_fields: stays.chain([united]).collect(), drops: Drops::Nothing, retired }
}

/// One entry of Baton's that owns what all of these own, but for the annotation of client-side apply, which goes.
fn united<'e>(version: &str, entries: impl Iterator<Item = &'e Value> + Clone) -> Value {
    let arena = Arena::new();
    let fields = entries
        .clone()
        .filter_map(|entry| FieldSet::from_fields_v1(&arena, entry.get("fieldsV1")?).ok())
        .fold(FieldSet::default(), |all, fields| all.union(&arena, fields))
        .difference(&arena, FieldSet::of_paths(&arena, [LAST_APPLIED_PATH]));
    let mut united = json!({
        "manager": FIELD_MANAGER,
        "operation": "Apply",
        "apiVersion": version,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields.to_fields_v1(),
    });
    // Times are written in one format, in which the latest is the greatest.
    if let Some(time) = entries.filter_map(|entry| text(entry, "time")).max() {
        united["time"] = time.into();
    }
    united
}
