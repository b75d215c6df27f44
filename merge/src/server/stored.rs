//! The result of a write, and whether it is stored.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::{
    Certainty, Order, Request, Resource, Verb,
    certainty::Computed,
    chain::Written,
    entries::{Entry, Managed, ManagerId, time_text},
    objects,
};
use crate::{Arena, Release, fieldpath::FieldSet, typed::Typed, updater::VersionedSet, value::Value};

/// The result of a write.
#[derive(Clone, Debug)]
pub struct Stored<'a> {
    /// The object, without its `managedFields`.
    pub object: Value<'a>,
    /// Its `managedFields`, in the server's order. If nothing changes these are the live ones, as far as they can be read.
    pub managed_fields: Vec<Entry<'a>>,
    /// Whether anything is stored; if not, the object keeps its `resourceVersion`.
    pub changed: bool,
    /// How certain the result is.
    pub certainty: Certainty,
    /// The order of names in the field sets.
    pub order: Order,
    before: Managed<'a>,
}

impl<'a> Request<'_, 'a> {
    /// Decides whether a write is stored: not if nothing or only timestamps differ.
    pub(super) fn stored(&self, verb: Verb, written: Written<'a>, order: Order) -> Stored<'a> {
        let Written { object, owners: after, before, is_incomplete } = written;
        let live = self.live.map(|live| objects::without_managed_fields(self.arena, live.object));
        let same_object = live.filter(|live| live.is_written_like(&object));
        let managed_fields = after.encode();
        let kept = same_object.and_then(|live| Some((live, self.owners_that_stay(&managed_fields, order)?)));
        // In memory `1` isn't `1.0`, unless it is decoded into a struct of integers; then times count as well.
        let is_identical = |live: Value<'a>| !self.resource.is_custom() || live.is_identical(&object);
        let times_are_equal = |kept: &[Entry<'a>]| {
            kept.iter().map(|entry| entry.time).eq(managed_fields.iter().map(|entry| entry.time))
        };
        let kept = kept.filter(|(live, (entries, _))| is_identical(*live) || times_are_equal(entries));
        // Entries that differ only in time keep their times, even if the server stores them for another reason.
        let (object, managed_fields, changed) = match kept {
            Some((live, (entries, as_they_stand))) => (live, entries, !as_they_stand),
            None => (object, managed_fields, true),
        };
        let same_object = same_object.is_some();
        let computed = Computed {
            verb,
            before: &before,
            after: &after,
            is_incomplete,
            live,
            object,
            same_object,
            changed,
        };
        let certainty = self.certainty(&computed);
        Stored { object, managed_fields, changed, certainty, order, before }
    }

    /// The live entries, if those after the write differ in their times only.
    fn owners_that_stay(&self, after: &[Entry<'a>], order: Order) -> Option<(Vec<Entry<'a>>, bool)> {
        let live = self.live?;
        if !self.resource.is_custom() && !live.spelling.is(order) {
            return None;
        }
        super::entries::unchanged(&live.object, after)
    }
}

impl<'a> Stored<'a> {
    /// The result of a refused write: the object as it is.
    pub(super) fn unchanged(resource: Resource<'a>, object: Value<'a>, owners: Managed<'a>) -> Self {
        let reason =
            super::certainty::of_versions(resource, owners.fields.iter().map(|(_, owned)| owned.version));
        Self {
            object,
            managed_fields: owners.encode(),
            changed: false,
            certainty: reason.map_or(Certainty::Exact, Certainty::Unknown),
            order: if resource.is_custom() { Order::Names } else { Order::Set },
            before: owners,
        }
    }

    /// The owners before the write, as they were written.
    pub(crate) fn owners_before(&self) -> impl Iterator<Item = (ManagerId<'a>, VersionedSet<'a>)> {
        self.before.fields.iter().map(|(id, owned)| (*id, *owned))
    }
}

impl<'a> Resource<'a> {
    /// The fields of a manager, read under the current schema.
    pub(crate) fn reconciled(
        &self,
        arena: &'a Arena,
        owned: VersionedSet<'a>,
        release: Release,
    ) -> FieldSet<'a> {
        let context = self.context(arena, release);
        let typed = self.type_in(owned.version).map(|type_id| Typed::of_valid(context, type_id, Value::Null));
        typed.and_then(|typed| typed.reconcile(owned.set).ok()?).unwrap_or(owned.set)
    }
}

impl Stored<'_> {
    /// The `managedFields` as JSON, as the server stores them; empty if there are none.
    pub fn managed_fields_text(&self) -> String {
        if self.managed_fields.is_empty() {
            return String::new();
        }
        serde_json::to_string(&Entries(self)).unwrap_or_default()
    }

    /// The complete object as JSON. The order of members in field sets depends on `serde_json`'s map.
    pub fn to_json(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// Serializes the complete object, with its `managedFields`.
impl Serialize for Stored<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let map = self.object.as_map().unwrap_or_default();
        let mut out = serializer.serialize_map(None)?;
        let mut has_metadata = false;
        for (name, value) in map.members() {
            match (*name, value) {
                ("metadata", Value::Map(_)) => {
                    has_metadata = true;
                    out.serialize_entry(name, &Metadata { metadata: *value, stored: self })?;
                }
                _ => {
                    // Metadata that isn't a map has no place for them.
                    has_metadata |= *name == "metadata";
                    out.serialize_entry(name, value)?;
                }
            }
        }
        if !has_metadata && !self.managed_fields.is_empty() {
            out.serialize_entry("metadata", &Metadata { metadata: Value::Null, stored: self })?;
        }
        out.end()
    }
}

struct Metadata<'s, 'a> {
    metadata: Value<'a>,
    stored: &'s Stored<'a>,
}

impl Serialize for Metadata<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_map(None)?;
        for (name, value) in self.metadata.as_map().unwrap_or_default().members() {
            out.serialize_entry(name, value)?;
        }
        if !self.stored.managed_fields.is_empty() {
            out.serialize_entry("managedFields", &Entries(self.stored))?;
        }
        out.end()
    }
}

struct Entries<'s, 'a>(&'s Stored<'a>);

impl Serialize for Entries<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_seq(Some(self.0.managed_fields.len()))?;
        for entry in &self.0.managed_fields {
            out.serialize_element(&Spelled { entry, order: self.0.order })?;
        }
        out.end()
    }
}

struct Spelled<'s, 'a> {
    entry: &'s Entry<'a>,
    order: Order,
}

impl Serialize for Spelled<'_, '_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let entry = self.entry;
        let mut out = serializer.serialize_map(None)?;
        let mut text =
            |name, value: &str| if value.is_empty() { Ok(()) } else { out.serialize_entry(name, value) };
        text("apiVersion", entry.api_version)?;
        text("fieldsType", "FieldsV1")?;
        out.serialize_entry("fieldsV1", &Ordered { fields: entry.fields, order: self.order })?;
        let mut text =
            |name, value: &str| if value.is_empty() { Ok(()) } else { out.serialize_entry(name, value) };
        text("manager", entry.manager)?;
        text("operation", entry.operation.as_str())?;
        text("subresource", entry.subresource)?;
        if let Some(time) = entry.time {
            out.serialize_entry("time", &time_text(time))?;
        }
        out.end()
    }
}

/// A field set with its members in an order.
struct Ordered<'a> {
    fields: FieldSet<'a>,
    order: Order,
}

impl Serialize for Ordered<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.order {
            Order::Set => self.fields.serialize(serializer),
            Order::Names => self.fields.sorted_by_name().serialize(serializer),
        }
    }
}
