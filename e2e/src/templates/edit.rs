//! Finds all edits of a spec that the grammar allows, and does one.

use baton_testbed::Random;
use serde_json::{Map, Value};

use super::{
    generate::{empty, item, member, value},
    grammar::{Field, Grammar, List, Shape, Struct},
};

/// The sorts of edits, and how often each is chosen.
const VERBS: [(Verb, u32); 11] = [
    (Verb::Set, 14),
    (Verb::Change, 14),
    (Verb::Drop, 14),
    (Verb::Null, 5),
    (Verb::Empty, 6),
    (Verb::Zero, 4),
    (Verb::Switch, 18),
    (Verb::Move, 6),
    (Verb::Insert, 9),
    (Verb::Remove, 8),
    (Verb::Rename, 8),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verb {
    /// A new field.
    Set,
    /// Another value of a field.
    Change,
    Drop,
    Null,
    /// To the empty list or object.
    Empty,
    /// To 0, false or the empty text.
    Zero,
    /// To another member of a union, or to none.
    Switch,
    /// The items of a list in another order.
    Move,
    Insert,
    Remove,
    /// Another key of an item.
    Rename,
}

/// A possible edit of the value at a place.
struct Edit<'g> {
    verb: Verb,
    /// The place, as a JSON pointer.
    place: String,
    about: About<'g>,
}

#[derive(Clone, Copy)]
enum About<'g> {
    Field(&'g Field),
    Union(&'g Struct),
    List(&'g List),
    Item(&'g List, usize),
}

/// Does one random edit, and describes it; `None` if it changed nothing.
pub(super) fn edit(grammar: &Grammar, random: &mut Random, spec: &mut Value) -> Option<String> {
    let mut edits = Vec::new();
    find(grammar, grammar.root(), spec, "", &[], &mut edits);
    let weights: Vec<u32> = VERBS
        .iter()
        .map(|(verb, weight)| if edits.iter().any(|edit| edit.verb == *verb) { *weight } else { 0 })
        .collect();
    let verb = VERBS[random.weighted(&weights)].0;
    edits.retain(|edit| edit.verb == verb);
    let chosen = random.choose(&edits)?;
    let before = spec.clone();
    let what = chosen.perform(grammar, random, spec)?;
    (*spec != before).then(|| format!("{verb:?} {what}"))
}

/// Finds all edits of a value of this shape, and below it. Edits of a list include the keys of its items.
fn find<'g>(
    grammar: &'g Grammar,
    shape: &'g Shape,
    value: &Value,
    place: &str,
    keys: &[String],
    edits: &mut Vec<Edit<'g>>,
) {
    let edit = |verb, about| Edit { verb, place: place.to_owned(), about };
    match (grammar.shape_of(shape, value), value) {
        (Some(Shape::Struct(fields)), Value::Object(members)) => {
            if !fields.union.is_empty() {
                edits.push(edit(Verb::Switch, About::Union(fields)));
            }
            for field in fields.fields.iter().filter(|field| !keys.contains(&field.name)) {
                let verbs = verbs(grammar, field, fields.whole, members.get(&field.name));
                edits.extend(verbs.into_iter().map(|verb| edit(verb, About::Field(field))));
            }
            for field in fields.fields.iter().chain(&fields.union) {
                if let Some(member) = members.get(&field.name) {
                    let place = format!("{place}/{}", escaped(&field.name));
                    find(grammar, &field.shape, member, &place, &[], edits);
                }
            }
        }
        (Some(Shape::List(list)), Value::Array(items)) => {
            if items.len() > 1 {
                edits.push(edit(Verb::Move, About::List(list)));
            }
            if items.len() < list.most + 1 {
                edits.push(edit(Verb::Insert, About::List(list)));
            }
            for (index, item) in items.iter().enumerate() {
                if items.len() > list.least {
                    edits.push(edit(Verb::Remove, About::Item(list, index)));
                }
                if !list.keys.is_empty() {
                    edits.push(edit(Verb::Rename, About::Item(list, index)));
                }
                find(grammar, &list.item, item, &format!("{place}/{index}"), &list.keys, edits);
            }
        }
        _ => {}
    }
}

fn verbs(grammar: &Grammar, field: &Field, whole: bool, member: Option<&Value>) -> Vec<Verb> {
    let Some(member) = member else { return vec![Verb::Set] };
    let mut verbs = vec![Verb::Change];
    if !field.is_needed() {
        verbs.push(Verb::Drop);
        if !whole && !member.is_null() {
            verbs.push(Verb::Null);
            let has_empty = empty(grammar, &field.shape).is_some();
            verbs.push(if has_empty { Verb::Empty } else { Verb::Zero });
        }
    }
    verbs
}

impl Edit<'_> {
    /// Does it, and returns where.
    fn perform(&self, grammar: &Grammar, random: &mut Random, spec: &mut Value) -> Option<String> {
        let target = spec.pointer_mut(&self.place)?;
        match self.about {
            About::Field(field) => {
                let members = target.as_object_mut()?;
                let now = match self.verb {
                    Verb::Drop => None,
                    Verb::Null => Some(Value::Null),
                    Verb::Empty => empty(grammar, &field.shape),
                    Verb::Zero => Some(zero(members.get(&field.name)?)),
                    _ => Some(value(grammar, &field.shape, random)),
                };
                put(members, &field.name, now);
                Some(format!("{}/{}", self.place, field.name))
            }
            About::Union(fields) => {
                let members = target.as_object_mut()?;
                fields.union.iter().for_each(|field| drop(members.remove(&field.name)));
                if fields.needs_one || random.percent(75) {
                    member(grammar, fields, members, random);
                }
                Some(self.place.clone())
            }
            About::List(list) => {
                let items = target.as_array_mut()?;
                match self.verb {
                    Verb::Move => random.shuffle(items),
                    _ => {
                        let item = item(grammar, list, items, random)?;
                        items.insert(random.below(items.len() + 1), item);
                    }
                }
                Some(self.place.clone())
            }
            About::Item(list, index) => {
                let items = target.as_array_mut()?;
                if self.verb == Verb::Remove {
                    items.remove(index);
                } else {
                    let other = item(grammar, list, items, random)?;
                    for key in &list.keys {
                        put(items[index].as_object_mut()?, key, other.get(key).cloned());
                    }
                }
                Some(format!("{}/{index}", self.place))
            }
        }
    }
}

fn put(members: &mut Map<String, Value>, name: &str, value: Option<Value>) {
    match value {
        Some(value) => drop(members.insert(name.to_owned(), value)),
        None => drop(members.remove(name)),
    }
}

fn zero(value: &Value) -> Value {
    match value {
        Value::Bool(_) => false.into(),
        Value::Number(_) => 0.into(),
        Value::String(_) => "".into(),
        _ => Value::Null,
    }
}

/// A member's name in a JSON pointer.
pub(super) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
