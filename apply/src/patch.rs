//! Applies a JSON patch to an object, to predict it.
//!
//! Works on values of the merge core: as a tree of `serde_json`, an object takes a hundred times its text.

use std::{borrow::Cow, collections::BTreeMap};

use baton_merge::{
    Arena,
    value::{Map, Value, ValueError},
};
use json_patch::{
    AddOperation, CopyOperation, MoveOperation, Patch, PatchOperation, RemoveOperation, ReplaceOperation,
    TestOperation,
    jsonptr::{Pointer, Token},
};

/// The error of a JSON patch that doesn't fit an object.
#[derive(Clone, Debug, thiserror::Error)]
#[error("operation {operation} failed at {path:?}: {problem}")]
pub struct PatchError {
    /// The index of the operation.
    pub operation: usize,
    /// The operation's path.
    pub path: String,
    problem: Problem,
}

#[derive(Clone, Debug, thiserror::Error)]
enum Problem {
    #[error("there is nothing")]
    Nothing,
    #[error("the value is another one")]
    Other,
    #[error("a value can't be moved into itself")]
    IntoItself,
    #[error(transparent)]
    Value(#[from] ValueError),
}

/// The object after the patch.
pub(crate) fn patched<'a>(
    arena: &'a Arena,
    object: Value<'a>,
    patch: &'a Patch,
) -> Result<Value<'a>, PatchError> {
    let mut object = Part::Whole(object);
    for (operation, one) in patch.0.iter().enumerate() {
        let failed = |problem| PatchError { operation, path: one.path().to_string(), problem };
        object.apply(arena, one).map_err(failed)?;
    }
    Ok(object.value(arena))
}

/// A part of the object that is being patched: taken apart where an operation has changed something in it.
enum Part<'a> {
    Whole(Value<'a>),
    Map(BTreeMap<Cow<'a, str>, Part<'a>>),
    List(Vec<Part<'a>>),
}

impl<'a> Part<'a> {
    fn apply(&mut self, arena: &'a Arena, operation: &'a PatchOperation) -> Result<(), Problem> {
        match operation {
            PatchOperation::Test(TestOperation { path, value }) => {
                let is_same = self.at(path)?.value(arena) == Value::from_json(arena, value)?;
                if is_same { Ok(()) } else { Err(Problem::Other) }
            }
            PatchOperation::Add(AddOperation { path, value }) => {
                self.add(path, Self::Whole(Value::from_json(arena, value)?))
            }
            PatchOperation::Replace(ReplaceOperation { path, value }) => {
                *self.at(path)? = Self::Whole(Value::from_json(arena, value)?);
                Ok(())
            }
            PatchOperation::Remove(RemoveOperation { path }) => self.remove(path).map(drop),
            PatchOperation::Copy(CopyOperation { from, path }) => {
                let copied = self.at(from)?.value(arena);
                self.add(path, Self::Whole(copied))
            }
            PatchOperation::Move(MoveOperation { from, path }) => {
                if path != from && path.starts_with(from) {
                    return Err(Problem::IntoItself);
                }
                let moved = self.remove(from)?;
                self.add(path, moved)
            }
        }
    }

    /// The part at a path.
    fn at(&mut self, path: &Pointer) -> Result<&mut Self, Problem> {
        path.tokens().try_fold(self, |part, token| match part.opened() {
            Self::Map(members) => members.get_mut(&*token.decoded()).ok_or(Problem::Nothing),
            Self::List(items) => {
                let at = index(&token, items.len())?;
                items.get_mut(at).ok_or(Problem::Nothing)
            }
            Self::Whole(_) => Err(Problem::Nothing),
        })
    }

    fn add(&mut self, path: &'a Pointer, value: Self) -> Result<(), Problem> {
        let Some((around, last)) = path.split_back() else {
            *self = value;
            return Ok(());
        };
        match self.at(around)?.opened() {
            Self::Map(members) => drop(members.insert(last.decoded().into_owned().into(), value)),
            Self::List(items) => {
                let at = index(&last, items.len())?;
                items.insert(at, value);
            }
            Self::Whole(_) => return Err(Problem::Nothing),
        }
        Ok(())
    }

    fn remove(&mut self, path: &Pointer) -> Result<Self, Problem> {
        let (around, last) = path.split_back().ok_or(Problem::Nothing)?;
        match self.at(around)?.opened() {
            Self::Map(members) => members.remove(&*last.decoded()).ok_or(Problem::Nothing),
            Self::List(items) => {
                let at = index(&last, items.len())?;
                if at < items.len() { Ok(items.remove(at)) } else { Err(Problem::Nothing) }
            }
            Self::Whole(_) => Err(Problem::Nothing),
        }
    }

    fn opened(&mut self) -> &mut Self {
        match self {
            Self::Whole(Value::Map(map)) => {
                let member = |(name, value): &(&'a str, Value<'a>)| (Cow::from(*name), Self::Whole(*value));
                *self = Self::Map(map.members().iter().map(member).collect());
            }
            Self::Whole(Value::List(items)) => {
                *self = Self::List(items.iter().copied().map(Self::Whole).collect());
            }
            _ => {}
        }
        self
    }

    fn value(&self, arena: &'a Arena) -> Value<'a> {
        match self {
            Self::Whole(value) => *value,
            Self::Map(members) => {
                let member =
                    |(name, part): (&Cow<'a, str>, &Self)| (arena.copy_text(name), part.value(arena));
                Value::Map(Map::new(arena, members.iter().map(member).collect::<Vec<_>>()))
            }
            Self::List(items) => {
                Value::List(arena.list(items.iter().map(|item| item.value(arena)).collect::<Vec<_>>()))
            }
        }
    }
}

/// The index that a token names in a list of this length; that after its end for `-`.
fn index(token: &Token<'_>, length: usize) -> Result<usize, Problem> {
    token.to_index().ok().and_then(|index| index.for_len_incl(length).ok()).ok_or(Problem::Nothing)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn patch_of(operations: Json) -> Patch {
        serde_json::from_value(operations).unwrap()
    }

    fn result(object: &Json, operations: &Patch) -> Option<Json> {
        let arena = Arena::new();
        patched(&arena, Value::from_json(&arena, object).unwrap(), operations)
            .ok()
            .map(|value| value.to_json())
    }

    #[test]
    fn it_does_what_a_patch_of_a_tree_does() {
        let object = json!({"a": {"b": [1, 2, {"c": null}]}, "d~/": "x", "e": 5});
        for operation in [
            json!({"op": "test", "path": "/a/b/0", "value": 1}),
            json!({"op": "test", "path": "/a/b/0", "value": 2}),
            json!({"op": "test", "path": "/q", "value": null}),
            json!({"op": "add", "path": "/a/b/1", "value": [7]}),
            json!({"op": "add", "path": "/a/b/-", "value": 7}),
            json!({"op": "add", "path": "/a/b/3", "value": 7}),
            json!({"op": "add", "path": "/a/b/4", "value": 7}),
            json!({"op": "add", "path": "/a/new", "value": {"x": 1}}),
            json!({"op": "add", "path": "/a/new/x", "value": 1}),
            json!({"op": "add", "path": "/e/x", "value": 1}),
            json!({"op": "add", "path": "", "value": {"x": 1}}),
            json!({"op": "replace", "path": "/a/b/2/c", "value": 3}),
            json!({"op": "replace", "path": "/a/b/3", "value": 3}),
            json!({"op": "replace", "path": "/d~0~1", "value": "y"}),
            json!({"op": "replace", "path": "/q", "value": 3}),
            json!({"op": "remove", "path": "/a/b/0"}),
            json!({"op": "remove", "path": "/a/b"}),
            json!({"op": "remove", "path": "/a/b/3"}),
            json!({"op": "remove", "path": "/q"}),
            json!({"op": "move", "from": "/a/b/0", "path": "/a/b/2"}),
            json!({"op": "move", "from": "/a", "path": "/a/b"}),
            json!({"op": "move", "from": "/q", "path": "/r"}),
            json!({"op": "copy", "from": "/a/b", "path": "/f"}),
        ] {
            let patch = patch_of(json!([operation]));
            let mut expected = object.clone();
            let expected = json_patch::patch(&mut expected, &patch).ok().map(|()| expected);
            assert_eq!(result(&object, &patch), expected, "{operation}");
        }
    }

    #[test]
    fn an_error_names_the_operation() {
        let arena = Arena::new();
        let patch = patch_of(json!([
            {"op": "add", "path": "/a", "value": 1}, {"op": "remove", "path": "/b"},
        ]));
        let error = patched(&arena, Value::Map(Map::default()), &patch).unwrap_err();
        assert_eq!(error.to_string(), r#"operation 1 failed at "/b": there is nothing"#);
    }
}
