//! Objects of a resource in the version that they are stored in, and in the one that a request is about.
//!
//! What reads the store decides for itself which of the two it is about: selectors, rows of tables and rules go by what is stored.

use std::borrow::Cow;

use baton_merge::{
    Arena,
    schema::kinds::GroupVersionKind,
    value::{Value, ValueError},
};

use crate::{
    custom, kinds,
    registry::{Resource, Schema},
    status::Failure,
    store::Record,
};

impl Resource {
    /// A stored object, in the version that it is stored in. A custom resource is read by the schema of today, which may have
    /// other fields and defaults than the one by which it was written.
    pub(crate) fn value<'a>(&'a self, arena: &'a Arena, record: &Record) -> Result<Value<'a>, ValueError> {
        let object = self.raw(arena, record)?;
        Ok(match self.schema_of_today() {
            Some(version) => version.read(arena, object),
            None => object,
        })
    }

    /// Refuses a stored object whose version its definition no longer has, as `conversion/converter.go` of
    /// apiextensions-apiserver does.
    pub(crate) fn check_convertible(&self, record: &Record) -> Result<(), Failure> {
        let Schema::Custom(custom) = &self.schema else { return Ok(()) };
        let stored_version = &*record.stored_version;
        if custom.definition.versions.iter().any(|version| version.api_version == stored_version) {
            return Ok(());
        }
        Err(Failure::without_reason(format!(
            "request to convert CR from an invalid group/version: {stored_version}"
        )))
    }

    /// A stored object as it is.
    pub(crate) fn raw<'a>(&self, arena: &'a Arena, record: &Record) -> Result<Value<'a>, ValueError> {
        record.value(arena, &self.stored_as.api_version(), &self.stored_as.kind)
    }

    /// The version of a custom resource that its objects may have been written otherwise than by.
    fn schema_of_today(&self) -> Option<&custom::CustomVersion> {
        match &self.schema {
            Schema::Custom(custom) if custom.may_differ_from_stored => custom.version(),
            _ => None,
        }
    }

    /// Whether an object may be stored otherwise than it is shown.
    pub(crate) fn may_differ_from_stored(&self) -> bool {
        self.is_converted() || self.schema_of_today().is_some()
    }

    /// An object of this version as it is stored.
    pub(crate) fn stored<'a>(&self, arena: &'a Arena, object: Value<'a>) -> Value<'a> {
        if self.is_custom() { object } else { kinds::convert::to_stored(arena, &self.gvk, object) }
    }

    /// A stored object in this version.
    pub(crate) fn shown<'a>(&self, arena: &'a Arena, object: Value<'a>) -> Value<'a> {
        if self.is_custom() { object } else { kinds::convert::from_stored(arena, &self.gvk, object) }
    }

    /// An object of any version of a built-in kind in another one.
    pub(crate) fn in_version<'a>(&self, arena: &'a Arena, object: Value<'a>, version: &str) -> Value<'a> {
        let gvk = |version: &str| {
            let (group, version) = version.split_once('/').unwrap_or(("", version));
            GroupVersionKind::new(group, version, self.gvk.kind.as_str())
        };
        let own = object.get("apiVersion").and_then(|own| own.as_str()).unwrap_or_default();
        let stored = kinds::convert::to_stored(arena, &gvk(own), object);
        kinds::convert::from_stored(arena, &gvk(version), stored)
    }

    /// A record in this version, as a response shows it.
    pub(crate) fn shown_record<'r>(&self, record: &'r Record) -> Result<Cow<'r, Record>, ValueError> {
        if !self.may_differ_from_stored() {
            return Ok(Cow::Borrowed(record));
        }
        let arena = Arena::new();
        let object = self.shown(&arena, self.value(&arena, record)?);
        Ok(Cow::Owned(record.replaced(object, &record.stored_version)))
    }
}
