//! The owners of an object's fields, read from its `managedFields`.

mod entries;
mod moves;
mod tree;

use baton_apply::{LiveObject, ManagedFieldsEntry, Secrecy};
use baton_merge::{
    Arena,
    fieldpath::{FieldSet, Path, PathElement},
    value::Value,
};
use serde::Serialize;

pub(crate) use self::{
    entries::check_entries,
    moves::{Move, moves},
    tree::{OwnedField, fields},
};
use super::path::{FieldQuery, PathError, every_path, resolve};
use crate::text::shortened;

/// An entry of `managedFields`, without its fields.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Manager {
    /// The manager's name.
    #[serde(rename = "manager")]
    pub(crate) name: String,
    /// `Apply` or `Update`.
    pub(crate) operation: String,
    /// The subresource that it wrote through.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) subresource: Option<String>,
    /// The version in which its fields are meant.
    pub(crate) api_version: String,
    /// The time of its entry's last change, as the server wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) time: Option<String>,
}

impl Manager {
    fn of(entry: &ManagedFieldsEntry<'_>) -> Self {
        Self {
            name: entry.manager().to_owned(),
            operation: entry.operation().to_owned(),
            subresource: entry.subresource().map(str::to_owned),
            api_version: entry.api_version().to_owned(),
            time: entry.time().map(str::to_owned),
        }
    }

    /// Whether it wrote by server-side apply of the object itself.
    pub(crate) fn applies(&self) -> bool {
        self.operation == "Apply" && self.subresource.is_none()
    }

    /// Its name, and how it wrote unless that is by an apply of the object itself: `web-editor (Update)`, `hpa (Update scale)`.
    pub(crate) fn label(&self) -> String {
        label(&self.name, &self.operation, self.subresource.as_deref())
    }

    /// Its name as it is shown: an entry may have none.
    pub(crate) fn shown_name(&self) -> &str {
        or_nameless(&self.name)
    }

    /// The key of an entry in the server. An applier is the same in each version.
    fn identity(&self) -> [Option<&str>; 4] {
        let version = Some(self.api_version.as_str()).filter(|_| self.operation != "Apply");
        [Some(&self.name), Some(&self.operation), self.subresource.as_deref(), version]
    }
}

fn or_nameless(name: &str) -> &str {
    if name.is_empty() { "(no name)" } else { name }
}

/// A manager's name, and how it wrote unless that is by an apply of the object itself.
pub(crate) fn label(name: &str, operation: &str, subresource: Option<&str>) -> String {
    let name = or_nameless(name);
    match (operation, subresource) {
        ("Apply", None) => name.to_owned(),
        (operation, None) => format!("{name} ({operation})"),
        (operation, Some(subresource)) => format!("{name} ({operation} {subresource})"),
    }
}

/// Managers on one line.
pub(crate) fn labels(managers: &[Manager]) -> String {
    match managers {
        [] => "-".to_owned(),
        managers => managers.iter().map(Manager::label).collect::<Vec<_>>().join(", "),
    }
}

/// The owners of an object's fields.
pub(crate) struct Owners<'a> {
    /// The managers, in the order of `managedFields`.
    pub(crate) managers: Vec<Manager>,
    /// The fields of each manager.
    pub(crate) sets: Vec<FieldSet<'a>>,
    /// The object.
    pub(crate) object: Value<'a>,
    /// All its fields by the schema; none if that isn't known.
    schema: FieldSet<'a>,
    secrecy: Secrecy,
    arena: &'a Arena,
}

impl<'a> Owners<'a> {
    /// Reads the owners of an object. An entry that can't be read owns nothing; of two with the same identity the last one counts.
    pub(crate) fn of(arena: &'a Arena, live: &'a LiveObject) -> Self {
        let object = Value::from_text(arena, live.as_text()).unwrap_or(Value::Null);
        let entries = live.current_entries();
        let managers = entries.iter().map(Manager::of).collect();
        let sets = entries.iter().map(|entry| entry.fields(arena).unwrap_or_default()).collect();
        Self { managers, sets, object, schema: FieldSet::default(), secrecy: secrecy_of(object), arena }
    }

    /// The owners with the fields that the object has by its schema. With these, a part that is owned as a whole differs from a map or a
    /// list without an owned field.
    pub(crate) fn with_schema(self, schema: FieldSet<'a>) -> Self {
        Self { schema, ..self }
    }

    /// The fields that the object has below this place, by the schema.
    fn in_schema(&self, place: &[PathElement<'_>]) -> FieldSet<'a> {
        place.iter().fold(self.schema, |set, element| set.below(element))
    }

    /// The fields that any manager owns.
    pub(crate) fn owned(&self) -> FieldSet<'a> {
        FieldSet::union_all(self.arena, self.sets.iter().copied())
    }

    /// The path of a field of the object.
    pub(crate) fn path(&self, query: &FieldQuery) -> Result<Path<'a>, PathError> {
        resolve(query, self.arena, self.object, self.owned())
    }

    /// The paths of all members and items, with their values, and of owned fields without a value.
    pub(crate) fn every_path(&self) -> Vec<(Path<'a>, Option<Value<'a>>)> {
        every_path(self.arena, self.object, self.owned())
    }

    /// The value at a path as it may be shown: as JSON, without secrets, and shortened. None if there is none.
    pub(crate) fn shown_at(&self, path: Path<'_>) -> Option<String> {
        Some(self.shown(path, path.find(self.object)?))
    }

    /// A value of the object, which is at this path, as it may be shown.
    pub(crate) fn shown(&self, path: Path<'_>, value: Value<'_>) -> String {
        shortened(&self.secrecy.shown(path, value))
    }

    /// The managers that own this path or a field below it.
    pub(crate) fn within(&self, path: Path<'_>) -> Vec<&Manager> {
        let owners = self.managers.iter().zip(&self.sets);
        let owns = |set: &FieldSet<'a>| {
            let below = path.elements().iter().fold(*set, |set, element| set.below(element));
            set.contains(&path) || !below.is_empty()
        };
        owners.filter(|(_, set)| owns(set)).map(|(manager, _)| manager).collect()
    }

    /// The part of the object that is owned as a whole and that this path leads into, such as a list of arguments.
    pub(crate) fn whole_above<'p>(&self, path: Path<'p>) -> Option<Path<'p>> {
        let elements = path.elements();
        let prefixes = (1..elements.len()).map(|end| Path::new(&elements[..end]));
        let owned = self.owned();
        prefixes
            .filter(|above| owned.contains(above))
            .filter(|above| self.in_schema(above.elements()).is_empty())
            .find(|above| above.elements().iter().fold(owned, |set, element| set.below(element)).is_empty())
    }
}

/// The secrecy of the object's kind. An object without a kind may be a Secret.
fn secrecy_of(object: Value<'_>) -> Secrecy {
    let text = |name: &str| object.get(name)?.as_str();
    let group = text("apiVersion").and_then(|version| version.split_once('/')).map_or("", |(group, _)| group);
    text("kind").map_or(Secrecy::Secret, |kind| Secrecy::of_kind(group, kind))
}
