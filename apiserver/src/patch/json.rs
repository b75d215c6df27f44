//! JSON patch, after RFC 6902 and the server's library: indexes may count from the end, and an absent member can be
//! replaced.

use serde_json::{Map, Value};

use super::{PatchError, cannot_unmarshal};

/// The most operations.
pub(super) const MAX_OPERATIONS: usize = 10_000;

/// The most text that the copies of a patch may add: each could double the object.
const MAX_COPIED: usize = 3 * 1024 * 1024;

/// Applies a JSON patch.
pub(crate) fn json_patch(live: Value, patch: &Value) -> Result<Value, PatchError> {
    let operations = operations(patch)
        .map_err(|error| PatchError::BadRequest(format!("error decoding patch: {error}")))?;
    if operations.len() > MAX_OPERATIONS {
        return Err(PatchError::TooManyOperations { found: operations.len() });
    }
    let mut document = live;
    let mut copied = 0;
    for operation in operations {
        Operation(operation).apply(&mut document, &mut copied).map_err(PatchError::Unprocessable)?;
    }
    if is_too_deep(&document) { Err(PatchError::Unprocessable(TOO_DEEP.to_owned())) } else { Ok(document) }
}

/// Whether a value is so deep that writing it could exhaust the stack. Moves can nest flat input.
fn is_too_deep(value: &Value) -> bool {
    let mut level = vec![value];
    for _ in 0..MAX_DEPTH {
        level = level
            .into_iter()
            .flat_map(|value| match value {
                Value::Array(items) => items.iter().collect(),
                Value::Object(members) => members.values().collect(),
                _ => Vec::new(),
            })
            .collect();
        if level.is_empty() {
            return false;
        }
    }
    true
}

/// Unknown members of operations, which are warned of or refused.
pub(crate) fn unknown_members(patch: &Value) -> Vec<String> {
    let operations = patch.as_array().into_iter().flatten().enumerate();
    let members = operations.flat_map(|(position, operation)| {
        operation.as_object().into_iter().flatten().map(move |(name, _)| (position, name))
    });
    members
        .filter(|(_, name)| !matches!(name.as_str(), "op" | "path" | "from" | "value"))
        .map(|(position, name)| format!("json patch unknown field \"[{position}].{name}\""))
        .collect()
}

/// The operations of a patch; a null has no members.
fn operations(patch: &Value) -> Result<Vec<Option<&Map<String, Value>>>, String> {
    let items = match patch {
        Value::Null => return Ok(Vec::new()),
        Value::Array(items) => items,
        other => return Err(cannot_unmarshal(other, "value of type []handlers.jsonPatchOp")),
    };
    let operation = |item| match item {
        &Value::Null => Ok(None),
        Value::Object(members) => {
            let wrong = ["op", "path", "from"]
                .into_iter()
                .filter_map(|name| Some((name, members.get(name)?)))
                .find(|(_, value)| !value.is_string() && !value.is_null());
            match wrong {
                Some((name, value)) => {
                    Err(cannot_unmarshal(value, &format!("struct field jsonPatchOp.{name} of type string")))
                }
                None => Ok(Some(members)),
            }
        }
        other => Err(cannot_unmarshal(other, "value of type handlers.jsonPatchOp")),
    };
    items.iter().map(operation).collect()
}

/// Deeper than stored objects, and far from the end of the stack.
const MAX_DEPTH: usize = 128;
const TOO_DEEP: &str = "lists and maps are nested too deep";

struct Operation<'p>(Option<&'p Map<String, Value>>);

/// The message for a missing value.
const MISSING: &str = "missing value";
const NO_PATH: &str = "operation missing path field: missing value";
const NO_FROM: &str = "operation, missing from field: missing value";

impl<'p> Operation<'p> {
    fn text(&self, name: &str) -> Option<&'p str> {
        self.0?.get(name)?.as_str()
    }

    /// The value, or null.
    fn value(&self) -> Value {
        self.0.and_then(|members| members.get("value")).cloned().unwrap_or_default()
    }

    /// Applies the operation, and counts copied text.
    fn apply(&self, document: &mut Value, copied: &mut usize) -> Result<(), String> {
        let path = self.text("path");
        match self.text("op").unwrap_or("unknown") {
            "add" => {
                let path = path.ok_or("add operation failed to decode path: missing value")?;
                let (parent, key) = find(document, path).ok_or_else(|| {
                    format!("add operation does not apply: doc is missing path: \"{path}\": {MISSING}")
                })?;
                add(parent, &key, self.value())
                    .map_err(|error| format!("error in add for path: '{path}': {error}"))
            }
            "remove" => {
                let path = path.ok_or("remove operation failed to decode path: missing value")?;
                let (parent, key) = find(document, path).ok_or_else(|| {
                    format!("remove operation does not apply: doc is missing path: \"{path}\": {MISSING}")
                })?;
                let removed = remove(parent, &key);
                removed.map(drop).map_err(|error| format!("error in remove for path: '{path}': {error}"))
            }
            "replace" => self.replace(document, path),
            "move" => self.transfer(document, path, "move", copied),
            "copy" => self.transfer(document, path, "copy", copied),
            "test" => self.test(document, path),
            other => Err(format!("Unexpected kind: {other}")),
        }
    }

    fn replace(&self, document: &mut Value, path: Option<&str>) -> Result<(), String> {
        let path = path.ok_or_else(|| format!("replace operation failed to decode path: {NO_PATH}"))?;
        let value = self.value();
        if path.is_empty() {
            if !value.is_object() && !value.is_array() {
                return Err("replace operation value must be object or array: %!w(<nil>)".to_owned());
            }
            *document = value;
            return Ok(());
        }
        let (parent, key) = find(document, path).ok_or_else(|| {
            format!("replace operation does not apply: doc is missing path: {path}: {MISSING}")
        })?;
        if let Value::Object(members) = parent {
            members.insert(key, value);
            return Ok(());
        }
        let item = get(parent, &key).map_err(|_| {
            format!("replace operation does not apply: doc is missing key: {path}: {MISSING}")
        })?;
        if let Some(item) = item {
            *item = value;
        }
        Ok(())
    }

    /// Moves or copies.
    fn transfer(
        &self,
        document: &mut Value,
        path: Option<&str>,
        verb: &str,
        copied: &mut usize,
    ) -> Result<(), String> {
        let is_move = verb == "move";
        let from =
            self.text("from").ok_or_else(|| format!("{verb} operation failed to decode from: {NO_FROM}"))?;
        let (parent, key) = find(document, from).ok_or_else(|| {
            format!("{verb} operation does not apply: doc is missing from path: {from}: {MISSING}")
        })?;
        let wrong_source = |error| {
            if is_move {
                format!("error in move for path: '{key}': {error}")
            } else {
                format!("error in copy for from: '{from}': {error}")
            }
        };
        let value = if is_move {
            remove(parent, &key).map_err(wrong_source)?
        } else {
            let source = get(parent, &key).map_err(wrong_source)?;
            if source.as_deref().is_some_and(is_too_deep) {
                return Err(TOO_DEEP.to_owned());
            }
            source.cloned().unwrap_or_default()
        };
        let path = path.ok_or_else(|| {
            let error = if is_move { NO_PATH } else { MISSING };
            format!("{verb} operation failed to decode path: {error}")
        })?;
        let (parent, key) = find(document, path).ok_or_else(|| {
            format!("{verb} operation does not apply: doc is missing destination path: {path}: {MISSING}")
        })?;
        if !is_move {
            *copied += value.to_string().len();
            if *copied > MAX_COPIED {
                return Err(format!(
                    "Unable to complete the copy, the accumulated size increase of copy is {copied}, exceeding the limit \
                     {MAX_COPIED}"
                ));
            }
        }
        add(parent, &key, value).map_err(|error| {
            if is_move {
                format!("error in move for path: '{path}': {error}")
            } else {
                format!("error while adding value during copy: {error}")
            }
        })
    }

    fn test(&self, document: &mut Value, path: Option<&str>) -> Result<(), String> {
        let path = path.ok_or("test operation failed to decode path: missing value")?;
        let found = if path.is_empty() {
            Some(document)
        } else {
            let (parent, key) = find(document, path).ok_or_else(|| {
                format!("test operation does not apply: is missing path: {path}: {MISSING}")
            })?;
            get(parent, &key).map_err(|error| format!("error in test for path: '{path}': {error}"))?
        };
        if found.as_deref().unwrap_or(&Value::Null) == &self.value() {
            Ok(())
        } else {
            Err(format!("testing value {path} failed: test failed"))
        }
    }
}

/// The map or list that a path ends in, and the key there.
fn find<'d>(document: &'d mut Value, path: &str) -> Option<(&'d mut Value, String)> {
    let unescaped = |part: &str| part.replace("~1", "/").replace("~0", "~");
    let (_, parts) = path.split_once('/')?;
    let (parents, key) = parts.rsplit_once('/').map_or((None, parts), |(parents, key)| (Some(parents), key));
    let mut parent = document;
    for part in parents.into_iter().flat_map(|parents| parents.split('/')) {
        parent = get(parent, &unescaped(part)).ok()??;
        if !parent.is_object() && !parent.is_array() {
            return None;
        }
    }
    Some((parent, unescaped(key)))
}

/// The value at a key; none for an absent member.
fn get<'d>(parent: &'d mut Value, key: &str) -> Result<Option<&'d mut Value>, String> {
    match parent {
        Value::Object(members) => Ok(members.get_mut(key)),
        Value::Array(items) => {
            let position = position(key, items.len())?;
            Ok(items.get_mut(position))
        }
        _ => Ok(None),
    }
}

fn add(parent: &mut Value, key: &str, value: Value) -> Result<(), String> {
    match parent {
        Value::Object(members) => {
            members.insert(key.to_owned(), value);
        }
        Value::Array(items) if key == "-" => items.push(value),
        Value::Array(items) => {
            let end = items.len() + 1;
            let position = match number(key) {
                Ok(_) => position(key, end)?,
                Err(error) => return Err(format!("value was not a proper array index: '{key}': {error}")),
            };
            items.insert(position, value);
        }
        _ => {}
    }
    Ok(())
}

fn remove(parent: &mut Value, key: &str) -> Result<Value, String> {
    match parent {
        Value::Object(members) => {
            members.remove(key).ok_or_else(|| format!("Unable to remove nonexistent key: {key}: {MISSING}"))
        }
        Value::Array(items) => {
            let position = position(key, items.len())?;
            Ok(items.remove(position))
        }
        _ => Ok(Value::Null),
    }
}

/// An index before the end; a negative one counts from the end.
fn position(key: &str, end: usize) -> Result<usize, String> {
    let index = number(key)?;
    let magnitude = usize::try_from(index.unsigned_abs()).unwrap_or(usize::MAX);
    let position = if index < 0 { end.checked_sub(magnitude) } else { Some(magnitude) };
    position
        .filter(|position| *position < end)
        .ok_or_else(|| format!("Unable to access invalid index: {index}: invalid index referenced"))
}

fn number(key: &str) -> Result<i64, String> {
    key.parse().map_err(|error: std::num::ParseIntError| {
        use std::num::IntErrorKind::{NegOverflow, PosOverflow};
        let what = if matches!(error.kind(), NegOverflow | PosOverflow) {
            "value out of range"
        } else {
            "invalid syntax"
        };
        format!("strconv.Atoi: parsing {}: {what}", baton_merge::value::Value::String(key))
    })
}
