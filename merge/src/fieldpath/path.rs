//! A path from the root of an object.

use std::fmt;

use super::PathElement;
use crate::{Arena, value::Value};

/// A path from the root of an object to a field or an item in it.
///
/// ```
/// use baton_merge::{fieldpath::{Path, PathElement::{Field, Key}}, value::Value};
///
/// let image = [Field("containers"), Key(&[("name", Value::String("web"))]), Field("image")];
/// assert_eq!(Path::new(&image).to_string(), r#".containers[name="web"].image"#);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path<'a>(&'a [PathElement<'a>]);

impl<'a> Path<'a> {
    /// The path through these elements. The fields of a key have to be sorted by name.
    pub const fn new(elements: &'a [PathElement<'a>]) -> Self {
        Self(elements)
    }

    /// The path through these fields: `["spec", "replicas"]` is `.spec.replicas`.
    pub fn of_fields(arena: &'a Arena, fields: impl IntoIterator<Item = &'a str>) -> Self {
        let mut elements = arena.vec();
        elements.extend(fields.into_iter().map(PathElement::Field));
        Self(elements.into_bump_slice())
    }

    /// The path of an element below this one.
    #[must_use]
    pub fn join(&self, arena: &'a Arena, element: PathElement<'a>) -> Self {
        let mut elements = arena.vec_with_capacity(self.0.len() + 1);
        elements.extend_from_slice_copy(self.0);
        elements.push(element);
        Self(elements.into_bump_slice())
    }

    /// Its elements, from the root.
    pub fn elements(&self) -> &'a [PathElement<'a>] {
        self.0
    }

    /// The value at this path. Of duplicate items it is the first.
    ///
    /// ```
    /// use baton_merge::{Arena, fieldpath::{Path, PathElement}, value::Value};
    ///
    /// let arena = Arena::new();
    /// let spec = Value::from_text(&arena, r#"{"ports": [{"port": 80}, {"port": 443, "name": "tls"}]}"#).unwrap();
    /// let key = [("port", Value::Int(443))];
    /// let elements = [PathElement::Field("ports"), PathElement::Key(&key), PathElement::Field("name")];
    /// assert_eq!(Path::new(&elements).find(spec), Some(Value::String("tls")));
    /// ```
    pub fn find<'v>(&self, value: Value<'v>) -> Option<Value<'v>> {
        self.0.iter().try_fold(value, |value, element| match *element {
            PathElement::Field(name) => value.get(name),
            PathElement::Index(index) => value.as_list()?.get(usize::try_from(index).ok()?).copied(),
            _ => value.as_list()?.iter().find(|item| element.names(**item)).copied(),
        })
    }
}

/// Prints the path as a conflict message of the API server does:
/// `.spec.template.spec.containers[name="web"].image`.
impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| element.fmt(f))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_prints_as_in_a_conflict_message() {
        let key = [("port", Value::Int(80)), ("protocol", Value::String("TCP"))];
        let elements = [
            PathElement::Field("spec"),
            PathElement::Field("ports"),
            PathElement::Key(&key),
            PathElement::Field("nodePort"),
        ];
        assert_eq!(Path::new(&elements).to_string(), r#".spec.ports[port=80,protocol="TCP"].nodePort"#);
    }
}
