//! JSON close to a reader's expectation: a valid tree with a few changes.

use serde_json::{Map, Value, json};

use super::choices::Choices;

/// Changes up to eight values in a tree. New values come from the tree itself, from the fragments, or are any small JSON.
pub(super) fn mutate(choices: &mut Choices<'_>, tree: &mut Value, fragments: &[Value]) {
    for _ in 0..8 {
        let kind = choices.below(8);
        if kind == 0 && choices.are_over() {
            return;
        }
        let target = number(choices, count(tree));
        let source = node(tree, number(choices, count(tree))).clone();
        let put = match choices.below(4) {
            0 => any(choices, 3),
            1 if !fragments.is_empty() => choices.one(fragments).clone(),
            _ => source,
        };
        change(choices, kind, node_mut(tree, target), put);
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

fn children(tree: &Value) -> Box<dyn Iterator<Item = &Value> + '_> {
    match tree {
        Value::Array(items) => Box::new(items.iter()),
        Value::Object(members) => Box::new(members.values()),
        _ => Box::new(std::iter::empty()),
    }
}

fn count(tree: &Value) -> usize {
    1 + children(tree).map(count).sum::<usize>()
}

fn node(tree: &Value, mut at: usize) -> &Value {
    if at == 0 {
        return tree;
    }
    at -= 1;
    for child in children(tree) {
        let size = count(child);
        if at < size {
            return node(child, at);
        }
        at -= size;
    }
    tree
}

fn node_mut(tree: &mut Value, at: usize) -> &mut Value {
    let Some(mut below) = at.checked_sub(1) else { return tree };
    let mut position = 0;
    for child in children(tree) {
        let size = count(child);
        if below < size {
            break;
        }
        below -= size;
        position += 1;
    }
    match tree {
        Value::Array(items) => node_mut(&mut items[position], below),
        Value::Object(members) => {
            node_mut(members.values_mut().nth(position).expect("the position was counted"), below)
        }
        _ => unreachable!("a scalar has no children"),
    }
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
