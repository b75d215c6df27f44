//! The position of a reader in a JSON document, basic checks of values, and errors with the position.

use std::fmt;

use serde_json::{Map, Value};

use super::error::{Problem, SchemaError};

/// The most levels of JSON in a schema: as many as `serde_json` parses, and few enough for any stack.
const DEEPEST: usize = 128;

/// A position in a document. It borrows its parent, so that descending costs nothing until there is an error.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    parent: Option<&'a At<'a>>,
    step: Step<'a>,
    depth: usize,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root(&'a str),
    Member(&'a str),
    Index(usize),
}

impl<'a> At<'a> {
    /// The root; `name` is empty for the whole document.
    pub(super) fn root(name: &'a str) -> Self {
        Self { parent: None, step: Step::Root(name), depth: 0 }
    }

    /// A member of the object here.
    pub(super) fn member(&'a self, name: &'a str) -> Self {
        Self { parent: Some(self), step: Step::Member(name), depth: self.depth + 1 }
    }

    /// An item of the list here.
    pub(super) fn index(&'a self, index: usize) -> Self {
        Self { parent: Some(self), step: Step::Index(index), depth: self.depth + 1 }
    }

    /// An error at this position.
    pub(super) fn error(&self, problem: Problem) -> SchemaError {
        SchemaError { at: self.to_string(), problem }
    }

    /// Refuses to descend deeper than the stack allows. Called before each recursion.
    pub(super) fn check_depth(&self) -> Result<(), SchemaError> {
        if self.depth > DEEPEST { Err(self.error(Problem::TooDeep(DEEPEST))) } else { Ok(()) }
    }

    fn wrong_type(&self, expected: &'static str, found: &Value) -> SchemaError {
        self.error(Problem::WrongType { expected, found: name_of_type(found) })
    }

    /// The value as an object.
    pub(super) fn object<'v>(&self, value: &'v Value) -> Result<&'v Map<String, Value>, SchemaError> {
        value.as_object().ok_or_else(|| self.wrong_type("an object", value))
    }

    /// The value as a list.
    pub(super) fn list<'v>(&self, value: &'v Value) -> Result<&'v [Value], SchemaError> {
        value.as_array().map(Vec::as_slice).ok_or_else(|| self.wrong_type("a list", value))
    }

    /// The value as a string.
    pub(super) fn text<'v>(&self, value: &'v Value) -> Result<&'v str, SchemaError> {
        value.as_str().ok_or_else(|| self.wrong_type("a string", value))
    }

    /// The value as a boolean.
    pub(super) fn flag(&self, value: &Value) -> Result<bool, SchemaError> {
        value.as_bool().ok_or_else(|| self.wrong_type("a boolean", value))
    }

    /// Refuses a value of another type.
    pub(super) fn refuse<T>(&self, expected: &'static str, found: &Value) -> Result<T, SchemaError> {
        Err(self.wrong_type(expected, found))
    }

    /// Refuses an unknown word.
    pub(super) fn refuse_word<T>(
        &self,
        what: &'static str,
        found: &Value,
        known: &'static [&'static str],
    ) -> Result<T, SchemaError> {
        Err(self.error(Problem::UnknownWord { what, found: found.to_string(), known }))
    }
}

/// A member that is present and not null: Go decodes null as absent nearly everywhere.
pub(super) fn present<'v>(object: &'v Map<String, Value>, name: &str) -> Option<&'v Value> {
    object.get(name).filter(|value| !value.is_null())
}

fn name_of_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = self.parent {
            parent.fmt(f)?;
        }
        match self.step {
            Step::Root(name) => f.write_str(name),
            Step::Member(name) if is_plain(name) => write!(f, ".{name}"),
            Step::Member(name) => write!(f, "[{name:?}]"),
            Step::Index(index) => write!(f, "[{index}]"),
        }
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// `inner`, wrapped in this many objects of one member each.
#[cfg(test)]
pub(super) fn nested(levels: usize, members: &[&str], inner: Value) -> Value {
    let wrap = |inner, member: &&str| Value::Object([((*member).to_owned(), inner)].into_iter().collect());
    members.iter().rev().cycle().take(levels).fold(inner, wrap)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_reads_like_a_path() {
        let root = At::root("$");
        let schemas = root.member("schemas");
        let model = schemas.member("io.k8s.Pod");
        let item = model.index(3);
        assert_eq!(item.to_string(), r#"$.schemas["io.k8s.Pod"][3]"#);
    }

    #[test]
    fn null_is_absent() {
        let value = serde_json::json!({"a": null, "b": 1});
        let object = value.as_object().unwrap();
        assert_eq!((present(object, "a"), present(object, "b").is_some()), (None, true));
    }
}
