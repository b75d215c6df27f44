//! The differences between two objects, field by field, of any JSON.

use std::{collections::BTreeSet, fmt};

use serde_json::{Map, Value};

/// The fields that identify items of lists: the first one that all items have.
const KEYS: [&str; 6] = ["name", "mountPath", "devicePath", "containerPort", "ip", "topologyKey"];

/// A place at which two objects differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// Such as `.spec.template.spec.containers[app].image`.
    pub path: String,
    /// The wanted value.
    pub wanted: Option<Value>,
    /// The found value.
    pub found: Option<Value>,
}

impl Difference {
    /// Whether it is a zero that is missing, outside of lists that are merged as a whole. A server doesn't store such a zero, but
    /// its manager owns it.
    pub fn is_unstored_zero(&self) -> bool {
        let is_index = |part: &str| part.split(']').next().is_some_and(|name| name.parse::<usize>().is_ok());
        let is_in_atomic = self.path.split('[').skip(1).any(is_index);
        self.found.is_none() && self.wanted.as_ref().is_some_and(is_zero) && !is_in_atomic
    }

    /// The difference without what only this object has: names of items and values.
    pub fn sort(&self) -> String {
        let how = match (&self.wanted, &self.found) {
            (None, _) => "is there",
            (_, None) => "is missing",
            _ => "has another value",
        };
        format!("{} {how}", general(&self.path))
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |side: &Option<Value>| side.as_ref().map_or("(absent)".to_owned(), Value::to_string);
        write!(f, "{}: wanted {}, found {}", self.path, shown(&self.wanted), shown(&self.found))
    }
}

/// A path or a message without what is in quotes, and without the keys of items in brackets. Containers of all sorts are the same.
pub fn general(text: &str) -> String {
    let text = text.replace("initContainers", "containers");
    let (mut general, mut rest) = (String::new(), text.as_str());
    while let Some(at) = rest.find(['[', '"']) {
        let (before, opened) = rest.split_at(at);
        general.push_str(before);
        let (open, inner) = opened.split_at(1);
        general.push_str(open);
        // A message may list paths in brackets, which have brackets of their own.
        let end = if open == "[" { inner.find(['[', ']', ' ']) } else { inner.find('"') };
        rest = match end.map(|end| inner.split_at(end).1) {
            Some(after) if after.starts_with([']', '"']) => {
                general.push_str(&after[..1]);
                &after[1..]
            }
            _ => inner,
        };
    }
    general + rest
}

/// The paths at which `found` differs from `wanted`. A list whose items are in another order differs as a whole.
pub fn differences(wanted: &Value, found: &Value) -> Vec<Difference> {
    let mut all = Vec::new();
    compare("", Some(wanted), Some(found), &mut all);
    all
}

/// The paths at which `object` differs from what was `applied`. Other fields, and the resourceVersion, aren't compared.
pub fn not_as_applied(applied: &Value, object: &Value) -> Vec<Difference> {
    let mut all = differences(applied, object);
    all.retain(|difference| difference.wanted.is_some() && difference.path != ".metadata.resourceVersion");
    all
}

/// Whether it is 0, false or the empty text.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

fn compare(path: &str, wanted: Option<&Value>, found: Option<&Value>, all: &mut Vec<Difference>) {
    match (wanted, found) {
        (Some(Value::Object(wanted)), Some(Value::Object(found))) => objects(path, wanted, found, all),
        (Some(Value::Array(wanted)), Some(Value::Array(found))) => lists(path, wanted, found, all),
        (wanted, found) if wanted == found => {}
        (wanted, found) => {
            all.push(Difference { path: path.to_owned(), wanted: wanted.cloned(), found: found.cloned() });
        }
    }
}

fn objects(path: &str, wanted: &Map<String, Value>, found: &Map<String, Value>, all: &mut Vec<Difference>) {
    let names: BTreeSet<&String> = wanted.keys().chain(found.keys()).collect();
    for name in names {
        compare(&format!("{path}.{name}"), wanted.get(name), found.get(name), all);
    }
}

fn lists(path: &str, wanted: &[Value], found: &[Value], all: &mut Vec<Difference>) {
    let items = || wanted.iter().chain(found);
    let key = KEYS.into_iter().find(|key| items().all(|item| item.get(key).is_some()));
    let Some(key) = key.filter(|_| items().next().is_some()) else {
        for index in 0..wanted.len().max(found.len()) {
            compare(&format!("{path}[{index}]"), wanted.get(index), found.get(index), all);
        }
        return;
    };
    let names = |side: &[Value]| -> Vec<String> { side.iter().map(|item| name(item, key)).collect() };
    let (left, right) = (names(wanted), names(found));
    let both: BTreeSet<&String> = left.iter().chain(&right).collect();
    let of = |side: &[Value], wanted: &String| side.iter().find(|item| name(item, key) == *wanted).cloned();
    for one in &both {
        let (wanted, found) = (of(wanted, one), of(found, one));
        compare(&format!("{path}[{one}]"), wanted.as_ref(), found.as_ref(), all);
    }
    let (sorted, other) = (BTreeSet::from_iter(&left), BTreeSet::from_iter(&right));
    if left != right && sorted == other {
        let names = |side: &[String]| Some(side.to_vec().into());
        all.push(Difference { path: format!("{path} (order)"), wanted: names(&left), found: names(&right) });
    }
}

/// The name of an item. It includes the protocol of a port, which is TCP by default, and the action of a constraint.
fn name(item: &Value, key: &str) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let first = text(&item[key]);
    let second = match key {
        "containerPort" => item["protocol"].as_str().filter(|text| !text.is_empty()).or(Some("TCP")),
        "topologyKey" => item["whenUnsatisfiable"].as_str(),
        _ => None,
    };
    second.map_or_else(|| first.clone(), |second| format!("{first}/{second}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(wanted: &Value, found: &Value) -> Vec<String> {
        differences(wanted, found).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn items_are_compared_by_their_names() {
        let wanted = json!({"list": [{"name": "a", "v": 1}, {"name": "b"}]});
        let found = json!({"list": [{"name": "b"}, {"name": "a", "v": 2}]});
        assert_eq!(
            shown(&wanted, &found),
            [r"list[a].v: wanted 1, found 2", r#"list (order): wanted ["a","b"], found ["b","a"]"#]
                .map(|line| format!(".{line}"))
        );
    }

    #[test]
    fn a_sort_of_difference_has_no_names_and_no_values() {
        let found =
            differences(&json!({"list": [{"name": "a"}]}), &json!({"list": [{"name": "a", "emptyDir": {}}]}));
        assert_eq!(found[0].sort(), ".list[].emptyDir is there");
        let message = r#"invalid: [a[0].b: "x" is wrong, c[name="y"]: no]"#;
        assert_eq!(general(message), r#"invalid: [a[].b: "" is wrong, c[]: no]"#);
    }

    #[test]
    fn what_was_not_applied_is_not_compared() {
        let all = not_as_applied(&json!({"a": 0, "b": 1}), &json!({"b": 1, "c": 2}));
        assert_eq!(all.iter().map(|one| one.path.as_str()).collect::<Vec<_>>(), [".a"]);
    }
}
