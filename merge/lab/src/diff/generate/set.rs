//! FieldsV1: sets that a server could have written, and invalid ones.

use baton_testbed::{Json, Random};

use super::schema::{Schema, TypeRef};

/// A set over some of the paths of `value`, in the order of the value.
pub fn of_value(random: &mut Random, schema: &Schema, of: &TypeRef, value: &Json) -> Json {
    let mut set = Json::object();
    add(random, schema, of, value, &mut set);
    set
}

fn add(random: &mut Random, schema: &Schema, of: &TypeRef, value: &Json, set: &mut Json) {
    let nothing = TypeRef::default();
    let atom = schema.resolve(of);
    match value {
        Json::Object(members) => {
            for (name, member) in members {
                if random.one_in(4) {
                    continue;
                }
                let map = atom.and_then(|atom| atom.map.as_ref());
                let field = map.and_then(|map| map.fields.iter().find(|field| field.name == *name));
                let below = field.map(|field| &field.of).or(map.and_then(|map| map.element.as_ref()));
                let mut inner = Json::object();
                if !random.one_in(5) {
                    add(random, schema, below.unwrap_or(&nothing), member, &mut inner);
                }
                own(random, &mut inner);
                set.set(&format!("f:{name}"), inner);
            }
        }
        Json::List(items) => {
            let list = atom.and_then(|atom| atom.list.as_ref());
            let keys = list.map(|list| list.keys.as_slice()).unwrap_or_default();
            for (i, item) in items.iter().enumerate() {
                if random.one_in(4) {
                    continue;
                }
                let element = if random.one_in(30) {
                    format!("i:{i}")
                } else if keys.is_empty() {
                    format!("v:{item}")
                } else {
                    let named = keys.iter().filter_map(|key| Some((key.clone(), item.get(key)?.clone())));
                    let mut named: Vec<_> = named.collect();
                    named.sort_by(|one, other| one.0.cmp(&other.0));
                    format!("k:{}", Json::Object(named))
                };
                let mut inner = Json::object();
                if !keys.is_empty() && !random.one_in(5) {
                    let below = list.map_or(&nothing, |list| &list.element);
                    add(random, schema, below, item, &mut inner);
                }
                own(random, &mut inner);
                set.set(&element, inner);
            }
        }
        _ => {}
    }
}

/// Makes a path with paths below it a member itself, now and then.
fn own(random: &mut Random, inner: &mut Json) {
    if let Json::Object(members) = inner
        && !members.is_empty()
        && !random.one_in(3)
    {
        members.insert(0, (".".to_owned(), Json::object()));
    }
}

/// Rare path elements.
const ODD: [&str; 26] = [
    "f:",
    "f:.",
    "f:a.b",
    "f:x\"y",
    "f:<&>",
    "v:1",
    "v:1.0",
    "v:\"a\"",
    "v:null",
    "v:true",
    "v:[1,2]",
    "v:{\"a\":1}",
    "v:9007199254740993",
    "k:{}",
    "k:{\"name\":\"a\"}",
    "k:{\"port\":80,\"protocol\":\"TCP\"}",
    "k:{\"protocol\":\"TCP\",\"port\":80}",
    "k:{\"name\":\"a\",\"name\":\"b\"}",
    "i:0",
    "i:-1",
    "i:7",
    "k:{\"name\":null}",
    "k:{\"port\":1.0}",
    "v:1e3",
    "v:1 2",
    "k:{\"name\":\"a\"}}",
];
/// Invalid path elements.
const BROKEN: [&str; 14] =
    ["", "f", "x:a", ":", "v:", "v:{", "v:nope", "k:", "k:[]", "k:1", "k:{\"a\":}", "i:", "i:a", "i:1.5"];

/// A random set.
pub fn any(random: &mut Random, depth: usize, broken: bool) -> Json {
    let mut members = Vec::new();
    for _ in 0..random.below(5) {
        let element = if broken && random.one_in(8) {
            random.pick(&BROKEN)
        } else if random.one_in(2) {
            random.pick(&ODD)
        } else {
            random.pick(&["f:a", "f:b", "f:c", "f:name", "."])
        };
        let inner = if depth > 0 && element != "." && random.one_in(2) {
            any(random, depth - 1, broken)
        } else if broken && random.one_in(10) {
            [Json::Null, Json::from(1), Json::List(Vec::new()), Json::string("x")][random.below(4)].clone()
        } else {
            Json::object()
        };
        // Elements may repeat on purpose.
        members.push((element.to_owned(), inner));
    }
    Json::Object(members)
}

/// Changes a set a little: adds, removes, moves or respells members.
pub fn mutated(random: &mut Random, set: &Json) -> Json {
    let Json::Object(members) = set else { return set.clone() };
    let mut members = members.clone();
    match random.below(5) {
        0 if !members.is_empty() => drop(members.remove(random.below(members.len()))),
        1 => random.shuffle(&mut members),
        2 => {
            let at = random.below(members.len() + 1);
            let more = if random.one_in(2) { random.pick(&ODD) } else { "." };
            members.insert(at, (more.to_owned(), Json::object()));
        }
        _ if !members.is_empty() => {
            let at = random.below(members.len());
            members[at].1 = mutated(random, &members[at].1);
        }
        _ => {}
    }
    Json::Object(members)
}
