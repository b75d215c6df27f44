//! Values of a type, and operations on one or two of them.
//!
//! Each operation is one walk, after `typed/` of structured-merge-diff: [validate](Typed::new), [`to_set`](Typed::to_set),
//! [merge](Typed::merge), [compare](Typed::compare), [remove](Typed::remove), [extract](Typed::extract) and
//! [reconcile](Typed::reconcile). Owners are in [`updater`](crate::updater).

mod compare;
mod error;
mod items;
mod kinds;
mod merge;
mod named;
mod reconcile;
mod remove;
mod structs;
mod to_set;
mod validate;

pub use compare::ValueComparison;
pub use error::{Invalid, Violation};
pub(crate) use kinds::fits;
pub use structs::Struct;

use crate::{
    Arena, Release,
    fieldpath::FieldSet,
    release::Rules,
    schema::{Schema, TypeId},
    value::Value,
};

/// The context of every walk: memory, types and a server's rules.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) arena: &'a Arena,
    pub(crate) schema: &'a Schema,
    pub(crate) rules: Rules,
}

/// Whether sets and map lists may have duplicate items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    /// As in live objects and in updates.
    Allowed,
    /// As in intents.
    Forbidden,
}

/// A value that is valid for its type.
///
/// ```
/// use baton_merge::{Arena, schema::Schema, typed::{Duplicates, Typed}, value::Value};
///
/// let arena = Arena::new();
/// let schema = Schema::deduced();
/// let object = |json| Typed::new(&arena, schema, schema.deduced_type().unwrap(), json, Duplicates::Forbidden);
/// let live = object(Value::from_text(&arena, r#"{"a": 1, "b": {"c": 2}}"#)?)?;
/// let applied = object(Value::from_text(&arena, r#"{"b": {"d": 3}}"#)?)?;
/// let merged = live.merge(&applied)?;
/// assert_eq!(merged.value().to_json(), serde_json::json!({"a": 1, "b": {"c": 2, "d": 3}}));
/// assert_eq!(live.compare(&merged)?.added.to_string(), ".b.d");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy)]
pub struct Typed<'a> {
    context: Context<'a>,
    type_id: TypeId,
    value: Value<'a>,
}

impl<'a> Typed<'a> {
    /// Checks a value against its type, by the rules of the latest release.
    ///
    /// # Errors
    /// With all violations.
    pub fn new(
        arena: &'a Arena,
        schema: &'a Schema,
        type_id: TypeId,
        value: Value<'a>,
        duplicates: Duplicates,
    ) -> Result<Self, Invalid> {
        Self::for_release(Release::LATEST, arena, schema, type_id, value, duplicates)
    }

    /// Checks a value against its type, by the rules of a release, which later operations follow as well.
    ///
    /// # Errors
    /// With all violations.
    pub fn for_release(
        release: Release,
        arena: &'a Arena,
        schema: &'a Schema,
        type_id: TypeId,
        value: Value<'a>,
        duplicates: Duplicates,
    ) -> Result<Self, Invalid> {
        let context = Context { arena, schema, rules: release.rules() };
        Self::validated(context, type_id, value, duplicates)
    }

    pub(crate) fn validated(
        context: Context<'a>,
        type_id: TypeId,
        value: Value<'a>,
        duplicates: Duplicates,
    ) -> Result<Self, Invalid> {
        validate::validate(context, type_id, value, duplicates, None)?;
        Ok(Self { context, type_id, value })
    }

    /// Checks another value of this type. Parts that it shares with this one aren't checked again, so this one's duplicates
    /// must have been forbidden if the other's are.
    pub(crate) fn validated_beside(&self, value: Value<'a>, duplicates: Duplicates) -> Result<Self, Invalid> {
        validate::validate(self.context, self.type_id, value, duplicates, Some(&self.value))?;
        Ok(self.with_value(value))
    }

    /// A value that is known to be valid.
    pub(crate) fn of_valid(context: Context<'a>, type_id: TypeId, value: Value<'a>) -> Self {
        Self { context, type_id, value }
    }

    /// The value.
    pub fn value(&self) -> Value<'a> {
        self.value
    }

    /// Its type.
    pub fn type_id(&self) -> TypeId {
        self.type_id
    }

    /// Whether every valid item of a list has a name.
    pub(crate) fn has_only_named_items(&self) -> bool {
        self.context.schema.has_only_named_items()
    }

    /// The same type with another value, the result of a walk over valid ones.
    pub(crate) fn with_value(&self, value: Value<'a>) -> Self {
        Self { value, ..*self }
    }

    /// The paths of all leaves and items: the fields that an applier of this value owns.
    ///
    /// # Errors
    /// When the schema has no type for a part of the value.
    pub fn to_set(&self) -> Result<FieldSet<'a>, Invalid> {
        to_set::to_set(self.context, self.type_id, self.value)
    }

    /// This value with another one merged into it: nothing is removed, the other one wins, and the order of map lists and
    /// sets follows the other one as far as possible.
    ///
    /// # Errors
    /// When the two can't be merged: duplicates in the other, or types that the schema lacks.
    pub fn merge(&self, applied: &Self) -> Result<Self, Invalid> {
        self.same_type(applied)?;
        let merged = merge::merge(self.context, self.type_id, self.value, applied.value)?;
        Ok(self.with_value(merged))
    }

    /// The differences of another value.
    ///
    /// # Errors
    /// When the schema has no type for a part of either.
    pub fn compare(&self, new: &Self) -> Result<ValueComparison<'a>, Invalid> {
        self.same_type(new)?;
        compare::compare(self.context, self.type_id, self.value, new.value)
    }

    /// The value without the items and fields of a set. A map or list that becomes empty is null.
    #[must_use]
    pub fn remove(&self, set: FieldSet<'a>) -> Self {
        self.with_value(remove::remove(self.context, self.type_id, self.value, set))
    }

    /// Only the items and fields of a set.
    #[must_use]
    pub fn extract(&self, set: FieldSet<'a>) -> Self {
        self.with_value(remove::extract(self.context, self.type_id, self.value, set))
    }

    /// A field set under this value's schema, if it was written under another one: owners of paths below an atomic value
    /// now own the whole value. `None` if nothing changes.
    ///
    /// # Errors
    /// When the schema has no type for a path of the set.
    pub fn reconcile(&self, set: FieldSet<'a>) -> Result<Option<FieldSet<'a>>, Invalid> {
        reconcile::reconcile(self.context, self.type_id, set)
    }

    /// A type of the schema by its name.
    pub fn type_named(&self, name: &str) -> Option<TypeId> {
        self.context.schema.type_named(name)
    }

    /// The structs in the value: maps with named fields, each before those in it. Atomic values aren't searched, since no
    /// manager owns a part of them.
    pub fn structs(&self) -> Vec<Struct<'a>> {
        structs::structs(self.context, self.type_id, self.value)
    }

    /// The set with the named fields above its members.
    pub(crate) fn with_named_fields(&self, set: FieldSet<'a>) -> FieldSet<'a> {
        named::with_named_fields(self.context, self.type_id, set)
    }

    /// Whether the set has items of granular map lists without any of their fields.
    pub(crate) fn has_items_without_fields(&self, set: FieldSet<'a>) -> bool {
        named::has_items_without_fields(self.context, self.type_id, set)
    }

    fn same_type(&self, other: &Self) -> Result<(), Invalid> {
        if std::ptr::eq(self.context.schema, other.context.schema) && self.type_id == other.type_id {
            Ok(())
        } else {
            Err(Invalid::whole("expected two objects of the same type and schema"))
        }
    }
}

/// Shows the value alone.
impl std::fmt::Debug for Typed<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.value.fmt(f)
    }
}
