//! Who owns the fields of an object, read from its `managedFields`.

mod diff;
mod entries;
mod tree;

use std::collections::HashMap;

use baton_apply::{LiveObject, ManagedFieldsEntry};
use baton_merge::{
    Arena,
    fieldpath::{FieldSet, Path, PathElement},
    value::Value,
};
use serde::Serialize;

use crate::{
    path::{FieldQuery, PathError, every_path, resolve},
    view::{CYAN, Cell},
};

pub(crate) use self::{
    diff::{Move, labels, moves, moves_table, owners_table},
    entries::check_entries,
    tree::{Field, fields},
};

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
    /// When its entry last changed, as the server wrote it.
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

    /// As cells of a table: manager, operation, subresource, last write.
    pub(crate) fn cells(&self) -> [Cell; 4] {
        let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned()).into();
        [
            Cell::new(or_nameless(&self.name), CYAN),
            self.operation.clone().into(),
            or_dash(&self.subresource),
            or_dash(&self.time),
        ]
    }

    /// What the server keeps entries apart by. An applier is the same in each version.
    fn identity(&self) -> [Option<&str>; 4] {
        let version = Some(self.api_version.as_str()).filter(|_| self.operation != "Apply");
        [Some(&self.name), Some(&self.operation), self.subresource.as_deref(), version]
    }
}

/// The name as it is shown: an entry may have none.
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

/// The owners of an object's fields.
pub(crate) struct Owners<'a> {
    /// The managers, in the order of `managedFields`.
    pub(crate) managers: Vec<Manager>,
    /// What each owns.
    pub(crate) sets: Vec<FieldSet<'a>>,
    /// The object.
    pub(crate) object: Value<'a>,
    /// All its fields by the schema; none if that isn't known.
    schema: FieldSet<'a>,
    arena: &'a Arena,
}

impl<'a> Owners<'a> {
    /// Reads the owners of an object. An entry that can't be read owns nothing; of two with the same identity the last one counts.
    pub(crate) fn of(arena: &'a Arena, live: &'a LiveObject) -> Self {
        let object = Value::from_text(arena, live.as_text()).unwrap_or(Value::Null);
        let entries: Vec<_> =
            live.managed_fields().into_iter().map(|entry| (Manager::of(&entry), entry)).collect();
        let last: HashMap<_, _> =
            entries.iter().enumerate().map(|(at, (manager, _))| (manager.identity(), at)).collect();
        let (mut managers, mut sets) = (Vec::new(), Vec::new());
        for (at, (manager, entry)) in entries.iter().enumerate() {
            if last.get(&manager.identity()) == Some(&at) {
                managers.push(manager.clone());
                sets.push(entry.fields(arena).unwrap_or_default());
            }
        }
        Self { managers, sets, object, schema: FieldSet::default(), arena }
    }

    /// The same, with the fields that the object has by its schema. They tell what is owned as a whole from a map or list of whose
    /// fields none has an owner.
    pub(crate) fn with_schema(self, schema: FieldSet<'a>) -> Self {
        Self { schema, ..self }
    }

    /// The fields that the object has below this place, by the schema.
    fn in_schema(&self, place: &[PathElement<'_>]) -> FieldSet<'a> {
        place.iter().fold(self.schema, |set, element| set.below(element))
    }

    /// What any manager owns.
    pub(crate) fn owned(&self) -> FieldSet<'a> {
        FieldSet::union_all(self.arena, self.sets.iter().copied())
    }

    /// The path that a person means.
    pub(crate) fn path(&self, query: &FieldQuery) -> Result<Path<'a>, PathError> {
        resolve(query, self.arena, self.object, self.owned())
    }

    /// The paths of all members and items, with their values, and of what managers own without it being there.
    pub(crate) fn every_path(&self) -> Vec<(Path<'a>, Option<Value<'a>>)> {
        every_path(self.arena, self.object, self.owned())
    }

    /// The managers that own just this path.
    pub(crate) fn at(&self, path: Path<'_>) -> Vec<&Manager> {
        let owners = self.managers.iter().zip(&self.sets);
        owners.filter(|(_, set)| set.contains(&path)).map(|(manager, _)| manager).collect()
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
