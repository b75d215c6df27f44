//! Conversion between versions of a kind.

use super::{Convert, Resource};
use crate::{
    typed::{Context, Duplicates, Typed},
    updater::{ConversionError, Converter},
    value::Value,
};

/// Converts as the server does, if its conversion is known; otherwise by changing `apiVersion`. For custom resources
/// without a conversion webhook that is all. Where it isn't, the object stays as it is, and the prediction is uncertain.
pub(super) struct Versions<'f, 'a> {
    pub(super) resource: Resource<'a>,
    pub(super) context: Context<'a>,
    pub(super) convert: Option<Convert<'f, 'a>>,
}

impl Versions<'_, '_> {
    /// Whether only the server can convert to a version that it may serve. Of built-in kinds all served versions are known.
    fn is_up_to_the_server(&self, version: &str, is_known: bool) -> bool {
        let may_be_served = is_known || self.resource.is_custom();
        self.convert.is_none() && may_be_served && self.resource.converts_in_server(version)
    }
}

impl<'a> Converter<'a> for Versions<'_, 'a> {
    fn convert(&self, object: Typed<'a>, version: &str) -> Result<Typed<'a>, ConversionError> {
        let failed =
            |reason: &str| ConversionError::Failed { version: version.to_owned(), reason: reason.to_owned() };
        let map = object.value().as_map().ok_or_else(|| failed("it is no object"))?;
        if map.get("apiVersion").and_then(|own| own.as_str()) == Some(version) {
            return Ok(object);
        }
        let type_id = match self.resource.type_in(version) {
            // Most fields have the same paths in all versions of a kind: an owner stays the owner, and conflicts are those
            // of the server.
            found if self.is_up_to_the_server(version, found.is_some()) => return Ok(object),
            Some(type_id) => type_id,
            // For a custom resource this is an error, not a removed version; so is an invalid version.
            None if self.resource.is_custom() => {
                return Err(failed(&format!("request to convert CR to an invalid group/version: {version}")));
            }
            None if version.matches('/').count() > 1 => return Err(failed("it is no version")),
            None => return Err(ConversionError::UnknownVersion(version.to_owned())),
        };
        let arena = self.context.arena;
        let converted = match self.convert {
            Some(convert) => convert(object.value(), version),
            None => Value::Map(map.with(arena, "apiVersion", Some(Value::String(arena.copy_text(version))))),
        };
        Typed::validated(self.context, type_id, converted, Duplicates::Forbidden)
            .map_err(|error| failed(&error.to_string()))
    }
}
