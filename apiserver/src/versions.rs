//! Conversion between the stored version and the version of a request.
//!
//! Callers that read the store choose one: selectors, table rows and rules use the stored version.

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
    /// A stored object in its stored version. A custom resource is read by the current schema, which may have other fields
    /// and defaults than that of its write.
    pub(crate) fn value<'a>(&'a self, arena: &'a Arena, record: &Record) -> Result<Value<'a>, ValueError> {
        let object = self.raw(arena, record)?;
        Ok(match self.schema_of_today() {
            Some(version) => version.read(arena, object),
            None => object,
        })
    }

    /// Refuses a stored object whose version its CRD no longer has, as `conversion/converter.go` of
    /// apiextensions-apiserver.
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

    /// The version of a custom resource whose objects may have been written by another schema.
    fn schema_of_today(&self) -> Option<&custom::CustomVersion> {
        match &self.schema {
            Schema::Custom(custom) if custom.may_differ_from_stored => custom.version(),
            _ => None,
        }
    }

    /// Whether a stored object may differ from the shown one.
    pub(crate) fn may_differ_from_stored(&self) -> bool {
        self.is_converted() || self.schema_of_today().is_some()
    }

    /// Converts an object of this version to the stored one.
    pub(crate) fn stored<'a>(&self, arena: &'a Arena, object: Value<'a>) -> Value<'a> {
        if self.is_custom() { object } else { kinds::convert::to_stored(arena, &self.gvk, object) }
    }

    /// Converts a stored object to this version.
    pub(crate) fn shown<'a>(&self, arena: &'a Arena, object: Value<'a>) -> Value<'a> {
        if self.is_custom() { object } else { kinds::convert::from_stored(arena, &self.gvk, object) }
    }

    /// Converts an object of any version of a built-in kind to another one.
    pub(crate) fn in_version<'a>(&self, arena: &'a Arena, object: Value<'a>, version: &str) -> Value<'a> {
        let gvk = |version: &str| {
            let (group, version) = version.split_once('/').unwrap_or(("", version));
            GroupVersionKind::new(group, version, self.gvk.kind.as_str())
        };
        let own = object.get("apiVersion").and_then(|own| own.as_str()).unwrap_or_default();
        let stored = kinds::convert::to_stored(arena, &gvk(own), object);
        kinds::convert::from_stored(arena, &gvk(version), stored)
    }

    /// A record in this version, for a response.
    pub(crate) fn shown_record<'r>(&self, record: &'r Record) -> Result<Cow<'r, Record>, ValueError> {
        if !self.may_differ_from_stored() {
            return Ok(Cow::Borrowed(record));
        }
        let arena = Arena::new();
        let object = self.shown(&arena, self.value(&arena, record)?);
        Ok(Cow::Owned(record.replaced(object, &record.stored_version)))
    }
}
