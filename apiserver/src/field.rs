//! Errors of fields, with the messages of `k8s.io/apimachinery/pkg/util/validation/field`.

use std::fmt;

use baton_merge::value::Value;

/// The path of a field, as messages show it: `spec.template.spec.containers[0].name`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FieldPath(String);

impl FieldPath {
    /// The path of a top-level field; empty for the object itself.
    pub(crate) fn new(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// The path of a member.
    pub(crate) fn child(&self, name: &str) -> Self {
        if self.0.is_empty() { Self::new(name) } else { Self(format!("{}.{name}", self.0)) }
    }

    /// The path of an item.
    pub(crate) fn index(&self, position: usize) -> Self {
        Self(format!("{}[{position}]", self.0))
    }

    /// The path of a value in a map.
    pub(crate) fn key(&self, key: &str) -> Self {
        Self(format!("{}[{key}]", self.0))
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "<nil>" } else { &self.0 })
    }
}

/// An error of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldError {
    /// The reason of the cause, such as `FieldValueInvalid`.
    pub(crate) reason: &'static str,
    /// The path.
    pub(crate) field: String,
    /// The message with the value, without the path.
    pub(crate) message: String,
}

impl FieldError {
    fn new(reason: &'static str, path: &FieldPath, message: String) -> Self {
        Self { reason, field: path.to_string(), message }
    }

    fn with_detail(reason: &'static str, path: &FieldPath, message: String, detail: &str) -> Self {
        let message = if detail.is_empty() { message } else { format!("{message}: {detail}") };
        Self::new(reason, path, message)
    }

    /// A required field is missing.
    pub(crate) fn required(path: &FieldPath, detail: &str) -> Self {
        Self::with_detail("FieldValueRequired", path, "Required value".to_owned(), detail)
    }

    /// A value is invalid.
    pub(crate) fn invalid(path: &FieldPath, value: Value<'_>, detail: &str) -> Self {
        Self::with_detail("FieldValueInvalid", path, format!("Invalid value: {}", shown(value)), detail)
    }

    /// As [`invalid`](Self::invalid), for a string.
    pub(crate) fn invalid_text(path: &FieldPath, value: &str, detail: &str) -> Self {
        Self::invalid(path, Value::String(value), detail)
    }

    /// As [`invalid`](Self::invalid), for a value given as JSON.
    pub(crate) fn invalid_json(path: &FieldPath, json: &str, detail: &str) -> Self {
        Self::with_detail("FieldValueInvalid", path, format!("Invalid value: {json}"), detail)
    }

    /// As [`invalid`](Self::invalid), without the value.
    pub(crate) fn invalid_omitted(path: &FieldPath, detail: &str) -> Self {
        Self::with_detail("FieldValueInvalid", path, "Invalid value".to_owned(), detail)
    }

    /// A value has the wrong type.
    pub(crate) fn type_invalid(path: &FieldPath, value: Value<'_>, detail: &str) -> Self {
        Self::with_detail("FieldValueTypeInvalid", path, format!("Invalid value: {}", shown(value)), detail)
    }

    /// A value isn't one of the supported ones, which are listed in this order.
    pub(crate) fn not_supported(path: &FieldPath, value: Value<'_>, supported: &[&str]) -> Self {
        Self::not_supported_json(path, &shown(value), supported)
    }

    /// As [`not_supported`](Self::not_supported), for a value given as JSON.
    pub(crate) fn not_supported_json(path: &FieldPath, json: &str, supported: &[&str]) -> Self {
        let quoted: Vec<_> = supported.iter().map(|text| format!("{text:?}")).collect();
        let detail = if quoted.is_empty() {
            String::new()
        } else {
            format!("supported values: {}", quoted.join(", "))
        };
        let message = format!("Unsupported value: {json}");
        Self::with_detail("FieldValueNotSupported", path, message, &detail)
    }

    /// A value may not be set or changed.
    pub(crate) fn forbidden(path: &FieldPath, detail: &str) -> Self {
        Self::with_detail("FieldValueForbidden", path, "Forbidden".to_owned(), detail)
    }

    /// A value is a duplicate.
    pub(crate) fn duplicate(path: &FieldPath, value: Value<'_>) -> Self {
        Self::duplicate_json(path, &shown(value))
    }

    /// As [`duplicate`](Self::duplicate), for a value given as JSON.
    pub(crate) fn duplicate_json(path: &FieldPath, json: &str) -> Self {
        Self::new("FieldValueDuplicate", path, format!("Duplicate value: {json}"))
    }

    /// As [`duplicate`](Self::duplicate), without the value, which is too large.
    pub(crate) fn duplicate_omitted(path: &FieldPath) -> Self {
        Self::new("FieldValueDuplicate", path, "Duplicate value".to_owned())
    }

    /// A string has too many bytes.
    pub(crate) fn too_long(path: &FieldPath, limit: usize) -> Self {
        let unit = if limit == 1 { "byte" } else { "bytes" };
        Self::new("FieldValueTooLong", path, format!("Too long: may not be more than {limit} {unit}"))
    }

    /// A list has too many items.
    pub(crate) fn too_many(path: &FieldPath, found: usize, limit: usize) -> Self {
        let unit = if limit == 1 { "item" } else { "items" };
        Self::new("FieldValueTooMany", path, format!("Too many: {found}: must have at most {limit} {unit}"))
    }

    /// A referenced value doesn't exist.
    pub(crate) fn not_found(path: &FieldPath, value: Value<'_>, detail: &str) -> Self {
        Self::with_detail("FieldValueNotFound", path, format!("Not found: {}", shown(value)), detail)
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.message)
    }
}

/// JSON as Go writes it, escaped for HTML.
pub(crate) fn escaped(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

/// A value as Go's messages show it: strings quoted, numbers plain, others as JSON.
pub(crate) fn shown(value: Value<'_>) -> String {
    match value {
        Value::String(_) => value.to_string(),
        Value::List(_) | Value::Map(_) => escaped(&serde_json::to_string(&value).unwrap_or_default()),
        other => serde_json::to_string(&other).unwrap_or_default(),
    }
}
