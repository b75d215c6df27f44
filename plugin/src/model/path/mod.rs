//! Field paths on a command line: `.spec.replicas`, `spec.containers[name=web].image`, `containers[0]`,
//! `.metadata.labels["app.kubernetes.io/name"]`, or FieldsV1: `{"f:spec":{"f:replicas":{}}}`.
//!
//! A path is read in two steps: [`FieldQuery`] is its text, and [`resolve()`] finds the field of an object. The names in a path may
//! contain dots, so their ends are found in the object.

mod parse;
mod resolve;

use baton_merge::fieldpath::{
    Path,
    PathElement::{Field, Key},
};

pub(crate) use self::resolve::{every_path, is_of_the_server, name_among, name_beside, resolve};
use crate::text::did_you_mean;

/// Whether a path, as text, is this one or leads into it.
pub(crate) fn is_within(path: &str, above: &str) -> bool {
    path.strip_prefix(above).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// The texts that a path is or leads into, its own last. Among them are some that are no path, where a name has a point.
pub(crate) fn this_and_above(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.char_indices().skip(1).filter(|(_, letter)| matches!(letter, '.' | '['));
    ends.map(|(end, _)| end).chain([path.len()]).map(|end| &path[..end])
}

/// Fails if a field names the object, or an item of a list: a manager can't release that alone.
pub(crate) fn check_droppable(path: Path<'_>) -> Result<(), PathError> {
    let is_name = match path.elements() {
        [Field("apiVersion" | "kind" | "metadata")] | [Field("metadata"), Field("name" | "namespace")] => {
            true
        }
        [.., Key(keys), Field(name)] => keys.iter().any(|(key, _)| key == name),
        _ => false,
    };
    if is_name { Err(PathError::Name(path.to_string())) } else { Ok(()) }
}

/// The error of a path that can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum PathError {
    /// The text isn't a path.
    #[error("{path:?} is no field path: {problem}")]
    Syntax { path: String, problem: String },
    /// The object has no such field, and no manager owns one. `similar` are paths that it has.
    #[error("the object has no field {path}{}", did_you_mean(.similar))]
    NoSuchField { path: String, similar: Vec<String> },
    /// The field names an object, or an item of a list.
    #[error("{0} names what is applied, and can't be left out")]
    Name(String),
    /// Several items have these keys.
    #[error("{path} is ambiguous: it may be {}", .paths.join(" or "))]
    Ambiguous { path: String, paths: Vec<String> },
}

/// A path as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FieldQuery {
    text: String,
    segments: Vec<Segment>,
}

/// A part of a path between two dots or brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Segment {
    /// A name, or a part of one that goes on with the next segment: `app.kubernetes` and `io/name`.
    Name(String),
    /// A whole name.
    WholeName(String),
    /// The item with these keys.
    Keys(Vec<(String, String)>),
    /// The item that is this value.
    Value(String),
    /// The item at this position.
    Index(usize),
}

impl FieldQuery {
    /// The path as it was written.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

impl std::fmt::Display for FieldQuery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use baton_merge::value::Value;

    use super::*;

    #[test]
    fn what_names_an_object_or_an_item_is_no_field_to_drop() {
        let app = [("name", Value::String("app"))];
        let containers = [Field("spec"), Field("containers"), Key(&app)];
        let in_item = |name| [&containers[..], &[Field(name)]].concat();
        let is_name = |path: &[_]| check_droppable(Path::new(path)).is_err();
        assert!(is_name(&in_item("name")));
        assert!(!is_name(&in_item("image")));
        assert!(!is_name(&containers));
        assert!(is_name(&[Field("metadata"), Field("name")]));
        assert!(!is_name(&[Field("metadata"), Field("labels"), Field("name")]));
    }
}
