//! The entries of `managedFields`, read from an object's text.
//!
//! As a tree, a field set takes a hundred times the memory of its text, and a tree isn't nested deeper than a parser allows. A
//! client may write entries of any size and depth, so they stay text until one is needed as a set.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use baton_merge::{Arena, fieldpath::FieldSet};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::LiveObject;

/// An entry of an object's `managedFields`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ManagedFieldsEntry<'o> {
    #[serde(default, borrow)]
    manager: Option<Cow<'o, str>>,
    #[serde(default, borrow)]
    operation: Option<Cow<'o, str>>,
    #[serde(default, borrow)]
    api_version: Option<Cow<'o, str>>,
    #[serde(default, borrow)]
    subresource: Option<Cow<'o, str>>,
    #[serde(default, borrow)]
    time: Option<Cow<'o, str>>,
    #[serde(default, borrow, rename = "fieldsV1")]
    fields: Option<&'o RawValue>,
    /// Its index in `managedFields`.
    #[serde(skip)]
    pub(crate) position: usize,
    /// The whole entry.
    #[serde(skip)]
    text: &'o str,
}

impl<'o> ManagedFieldsEntry<'o> {
    fn read(position: usize, text: &'o str) -> Option<Self> {
        serde_json::from_str(text).ok().map(|entry| Self { position, text, ..entry })
    }

    /// The manager's name; empty if it has none.
    pub fn manager(&self) -> &str {
        self.manager.as_deref().unwrap_or_default()
    }

    /// The operation: `Apply` or `Update`.
    pub fn operation(&self) -> &str {
        self.operation.as_deref().unwrap_or_default()
    }

    /// The version in which the fields are meant.
    pub fn api_version(&self) -> &str {
        self.api_version.as_deref().unwrap_or_default()
    }

    /// The subresource that the manager wrote through; absent for the object itself.
    pub fn subresource(&self) -> Option<&str> {
        self.subresource.as_deref().filter(|name| !name.is_empty())
    }

    /// The time of its last change, as the server wrote it.
    pub fn time(&self) -> Option<&str> {
        self.time.as_deref()
    }

    /// The text of the fields in the format `FieldsV1`; absent if there are none.
    pub fn fields_text(&self) -> Option<&'o str> {
        self.fields.map(RawValue::get)
    }

    /// The fields. None if there are none or they can't be read, and then the manager owns nothing.
    pub fn fields<'a>(&self, arena: &'a Arena) -> Option<FieldSet<'a>>
    where
        'o: 'a,
    {
        FieldSet::from_fields_v1_text(arena, self.fields_text()?).ok()
    }

    /// The entry as it stands in the object.
    pub fn as_text(&self) -> &'o str {
        self.text
    }

    /// Whether it was written by server-side apply.
    pub fn is_apply(&self) -> bool {
        self.operation() == "Apply"
    }

    /// Whether this manager wrote it by server-side apply of the object itself.
    pub(crate) fn is_applied_by(&self, manager: &str) -> bool {
        self.subresource().is_none() && self.is_apply() && self.manager() == manager
    }

    /// The key of an entry in the server: `BuildManagerIdentifier` in k8s.io/apimachinery's managedfields.
    pub(crate) fn identity(&self) -> [&str; 4] {
        let api_version = if self.is_apply() { "" } else { self.api_version() };
        [self.manager(), self.operation(), api_version, self.subresource().unwrap_or_default()]
    }
}

/// The entries of an object's metadata. One that can't be read is left out: it owns nothing.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entries<'o> {
    #[serde(default, borrow)]
    managed_fields: Option<Vec<&'o RawValue>>,
}

impl LiveObject {
    /// Its `managedFields`, as returned.
    pub fn managed_fields(&self) -> Vec<ManagedFieldsEntry<'_>> {
        let entries = self.metadata().and_then(|Entries { managed_fields }| managed_fields);
        let entries = entries.unwrap_or_default().into_iter().enumerate();
        entries.filter_map(|(position, entry)| ManagedFieldsEntry::read(position, entry.get())).collect()
    }

    /// Its `managedFields` without those that another entry of the same manager, operation, version and subresource follows: the server
    /// reads them into a map, so that only the last one counts.
    pub fn current_entries(&self) -> Vec<ManagedFieldsEntry<'_>> {
        let entries = self.managed_fields();
        let last: HashMap<_, _> = entries.iter().map(|entry| (entry.identity(), entry.position)).collect();
        let current: HashSet<usize> = last.into_values().collect();
        entries.into_iter().filter(|entry| current.contains(&entry.position)).collect()
    }

    /// The entry of a manager that has applied the object itself. Of several the last one counts, as for the server.
    pub fn applied_entry(&self, manager: &str) -> Option<ManagedFieldsEntry<'_>> {
        self.managed_fields().into_iter().rfind(|entry| entry.is_applied_by(manager))
    }

    /// The managers in its `managedFields`, each once, by name.
    pub fn managers(&self) -> Vec<String> {
        let entries = self.managed_fields();
        let mut managers: Vec<&str> = entries.iter().map(ManagedFieldsEntry::manager).collect();
        managers.sort_unstable();
        managers.dedup();
        managers.into_iter().filter(|manager| !manager.is_empty()).map(str::to_owned).collect()
    }

    /// The fields that each of these managers owns, by any operation.
    pub(crate) fn fields_of_each<'a>(
        &'a self,
        arena: &'a Arena,
        managers: &HashSet<&str>,
    ) -> HashMap<String, FieldSet<'a>> {
        let mut sets: HashMap<String, Vec<FieldSet<'a>>> = HashMap::new();
        for entry in self.managed_fields() {
            if let Some(fields) = managers.contains(entry.manager()).then(|| entry.fields(arena)).flatten() {
                sets.entry(entry.manager().to_owned()).or_default().push(fields);
            }
        }
        sets.into_iter().map(|(manager, sets)| (manager, FieldSet::union_all(arena, sets))).collect()
    }
}
