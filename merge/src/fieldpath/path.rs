//! A path from the root of an object.

use std::fmt;

use super::PathElement;

/// A path from the root of an object to a field or an item in it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path(Vec<PathElement>);

impl Path {
    /// The path through these elements.
    pub fn new(elements: impl IntoIterator<Item = PathElement>) -> Self {
        Self(elements.into_iter().collect())
    }

    /// The path through these fields: `["spec", "replicas"]` is `.spec.replicas`.
    pub fn of_fields<'a>(fields: impl IntoIterator<Item = &'a str>) -> Self {
        Self::new(fields.into_iter().map(PathElement::from))
    }

    /// Its elements, from the root.
    pub fn elements(&self) -> &[PathElement] {
        &self.0
    }

    pub(super) fn child(&self, element: &PathElement) -> Self {
        let mut elements = self.0.clone();
        elements.push(element.clone());
        Self(elements)
    }
}

/// Prints the path as a conflict message of the API server does:
/// `.spec.template.spec.containers[name="web"].image`.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|element| element.fmt(f))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_prints_as_in_a_conflict_message() {
        let path = Path::new([
            "spec".into(),
            "ports".into(),
            PathElement::key([("protocol", serde_json::json!("TCP")), ("port", serde_json::json!(80))]),
            "nodePort".into(),
        ]);
        assert_eq!(path.to_string(), r#".spec.ports[port=80,protocol="TCP"].nodePort"#);
    }
}
