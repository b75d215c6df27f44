//! JSON that is nearly what somebody expects: a good tree with a few things changed.

use serde_json::{Map, Value, json};

use super::choices::Choices;

/// Changes up to eight things in a tree. What is put in comes from the tree itself, from the fragments, or is any small
/// JSON.
pub(super) fn mutate(choices: &mut Choices<'_>, tree: &mut Value, fragments: &[Value]) {
    for _ in 0..8 {
        let kind = choices.below(8);
        if kind == 0 && choices.are_over() {
            return;
        }
        let places = places(tree);
        let target = &places[number(choices, places.len())];
        let source = tree.pointer(&places[number(choices, places.len())]).cloned().unwrap_or_default();
        let put = match choices.below(4) {
            0 => any(choices, 3),
            1 if !fragments.is_empty() => choices.one(fragments).clone(),
            _ => source,
        };
        if let Some(target) = tree.pointer_mut(target) {
            change(choices, kind, target, put);
        }
    }
}

fn change(choices: &mut Choices<'_>, kind: usize, target: &mut Value, put: Value) {
    match (kind, target) {
        (0 | 1, Value::Object(members)) if !members.is_empty() => {
            let name = name_at(choices, members);
            members.remove(&name);
        }
        (2, Value::Object(members)) if !members.is_empty() => {
            let name = name_at(choices, members);
            members.insert(name, put);
        }
        (3, Value::Object(members)) => {
            members.insert(choices.one(NAMES).to_string(), put);
        }
        (3, Value::Array(items)) => items.push(put),
        (4, Value::Object(members)) => {
            if let Value::Object(others) = put {
                members.extend(others);
            }
        }
        (4, Value::Array(items)) if !items.is_empty() => {
            let item = items[choices.below(items.len().min(256))].clone();
            items.push(item);
        }
        (5, Value::Array(items)) if !items.is_empty() => {
            items.remove(choices.below(items.len().min(256)));
        }
        (6, Value::String(text)) => text.push_str(choices.one::<&str>(NAMES)),
        (_, target) => *target = put,
    }
}

fn name_at(choices: &mut Choices<'_>, members: &Map<String, Value>) -> String {
    let at = number(choices, members.len());
    members.keys().nth(at).cloned().unwrap_or_default()
}

/// A number below a limit of any size.
fn number(choices: &mut Choices<'_>, limit: usize) -> usize {
    let high = choices.below(256);
    (high << 8 | choices.below(256)) % limit.max(1)
}

/// The places of a tree as JSON pointers, each before what is below it.
fn places(tree: &Value) -> Vec<String> {
    let below = |name: String, child| {
        let name = name.replace('~', "~0").replace('/', "~1");
        places(child).into_iter().map(move |place| format!("/{name}{place}"))
    };
    let mut found = vec![String::new()];
    match tree {
        Value::Array(items) => {
            found.extend(items.iter().enumerate().flat_map(|(i, child)| below(i.to_string(), child)));
        }
        Value::Object(members) => {
            found.extend(members.iter().flat_map(|(name, child)| below(name.clone(), child)));
        }
        _ => {}
    }
    found
}

/// Names that occur in objects, paths and requests, and some odd ones.
const NAMES: &[&str] = &[
    "a",
    "b",
    "name",
    "port",
    "protocol",
    "value",
    "spec",
    "metadata",
    "labels",
    "",
    ".",
    "f:a",
    "k:{\"name\":\"a\"}",
    "v:1",
    "i:0",
    "x:",
    "é\u{1f600}\u{0}",
    "kubectl.kubernetes.io/last-applied-configuration",
];

/// Any JSON of a few levels.
pub(super) fn any(choices: &mut Choices<'_>, depth: usize) -> Value {
    match choices.below(if depth == 0 { 4 } else { 6 }) {
        0 => scalar(choices),
        1 => Value::Null,
        2 => json!({}),
        3 => json!([]),
        4 => (0..choices.below(4)).map(|_| any(choices, depth - 1)).collect(),
        _ => {
            let members = 0..choices.below(4);
            members.map(|_| (choices.one(NAMES).to_string(), any(choices, depth - 1))).collect()
        }
    }
}

/// Any scalar.
fn scalar(choices: &mut Choices<'_>) -> Value {
    match choices.below(16) {
        0 => json!(choices.one(NAMES)),
        1 => json!(1),
        2 => json!(0),
        3 => json!(true),
        4 => json!(false),
        5 => json!(1.0),
        6 => json!(0.5),
        7 => json!(-0.0),
        8 => json!(-1),
        9 => json!(80),
        10 => json!(9_007_199_254_740_993_i64),
        11 => json!(i64::MIN),
        12 => json!(1e300),
        13 => json!(u64::MAX),
        14 => json!("2026-01-02T03:04:05Z"),
        _ => json!(choices.below(256)),
    }
}
