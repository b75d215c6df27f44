//! The grammar of templates, read from `grammar.yaml`. It makes no choices.

use std::collections::BTreeMap;

use baton_merge::yaml;
use serde_json::{Map, Value};

const SHIPPED: &str = include_str!("grammar.yaml");
/// The type of a whole spec.
const ROOT: &str = "Spec";
/// The default percentage of cases in which a field is present.
const USUAL: u32 = 12;
/// The default maximum of items in a list.
const MOST: usize = 2;

/// All types, by name.
#[derive(Debug)]
pub(super) struct Grammar(BTreeMap<String, Shape>);

/// The grammar of a value.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    Literal(Value),
    AnyOf(Vec<Shape>),
    Struct(Struct),
    List(List),
    Map { keys: Vec<String>, value: Box<Shape> },
    Named(String),
}

/// An object with fields of its own.
#[derive(Clone, Debug, Default)]
pub(super) struct Struct {
    pub(super) fields: Vec<Field>,
    /// At most one of these is present.
    pub(super) union: Vec<Field>,
    /// Whether one of the union is required.
    pub(super) needs_one: bool,
    /// Whether no field of it may be null.
    pub(super) whole: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) shape: Shape,
    /// The percentage of cases in which it is present. In a union, how often it is chosen.
    pub(super) weight: u32,
}

#[derive(Clone, Debug)]
pub(super) struct List {
    pub(super) item: Box<Shape>,
    /// The fields that identify items; empty if nothing does.
    pub(super) keys: Vec<String>,
    pub(super) least: usize,
    pub(super) most: usize,
}

impl Grammar {
    /// The one of `grammar.yaml`.
    pub(super) fn shipped() -> Self {
        let types: Map<String, Value> = yaml::from_str(SHIPPED).expect("grammar.yaml is YAML");
        let mut shapes = BTreeMap::new();
        for name in types.keys() {
            shapes.insert(name.clone(), Reader { types: &types }.shape(&types[name], false));
        }
        Self(shapes)
    }

    pub(super) fn root(&self) -> &Shape {
        self.named(ROOT)
    }

    fn named(&self, name: &str) -> &Shape {
        self.0.get(name).unwrap_or_else(|| panic!("grammar.yaml has no type {name}"))
    }

    /// The shape, also if this is only its name.
    pub(super) fn resolved<'a>(&'a self, shape: &'a Shape) -> &'a Shape {
        match shape {
            Shape::Named(name) => self.resolved(self.named(name)),
            shape => shape,
        }
    }

    /// The first alternative that a value may have been made from.
    pub(super) fn shape_of<'a>(&'a self, shape: &'a Shape, value: &Value) -> Option<&'a Shape> {
        match self.resolved(shape) {
            Shape::AnyOf(all) => all.iter().find_map(|one| self.shape_of(one, value)),
            Shape::Struct(fields) => value.as_object().filter(|members| fields.fits(members)).map(|_| shape),
            Shape::List(_) => value.is_array().then_some(shape),
            Shape::Map { .. } => value.is_object().then_some(shape),
            Shape::Literal(literal) => (literal == value).then_some(shape),
            Shape::Named(_) => None,
        }
        .map(|shape| self.resolved(shape))
    }

    /// The fields of a type.
    #[cfg(test)]
    pub(super) fn members_of(&self, name: &str) -> Vec<String> {
        match self.named(name) {
            Shape::Struct(all) => all.fields.iter().map(|field| field.name.clone()).collect(),
            other => panic!("{name} isn't a struct: {other:?}"),
        }
    }
}

impl Struct {
    fn fits(&self, members: &Map<String, Value>) -> bool {
        let all = || self.fields.iter().chain(&self.union);
        members.keys().all(|name| all().any(|field| field.name == *name))
            && self.fields.iter().all(|field| !field.is_needed() || members.contains_key(&field.name))
    }
}

impl Field {
    pub(super) fn is_needed(&self) -> bool {
        self.weight == 100
    }
}

impl List {
    /// The key of an item; absent in a list without keys. A port's default protocol is TCP.
    pub(super) fn key_of(&self, item: &Value) -> Option<Vec<Value>> {
        let field = |name: &String| match &item[name] {
            Value::Null => Value::from(if name == "protocol" { "TCP" } else { "" }),
            Value::String(text) if text.is_empty() && name == "protocol" => Value::from("TCP"),
            value => value.clone(),
        };
        (!self.keys.is_empty()).then(|| self.keys.iter().map(field).collect())
    }
}

/// Reads shapes. It panics if the file is wrong.
struct Reader<'a> {
    types: &'a Map<String, Value>,
}

impl Reader<'_> {
    fn shape(&self, json: &Value, whole: bool) -> Shape {
        match json {
            Value::String(text) => match text.strip_prefix('$') {
                Some(name) if self.types.contains_key(name) => Shape::Named(name.to_owned()),
                Some(_) | None => Shape::Literal(json.clone()),
            },
            // A list among alternatives is a literal.
            Value::Array(all) => {
                Shape::AnyOf(
                    all.iter()
                        .map(|one| {
                            if one.is_array() { Shape::Literal(one.clone()) } else { self.shape(one, whole) }
                        })
                        .collect(),
                )
            }
            Value::Object(members) => self.object(members, whole),
            scalar => Shape::Literal(scalar.clone()),
        }
    }

    fn object(&self, members: &Map<String, Value>, whole: bool) -> Shape {
        let texts = |value: Option<&Value>| -> Vec<String> {
            let all = value.and_then(Value::as_array).into_iter().flatten();
            all.map(|text| text.as_str().expect("a name").to_owned()).collect()
        };
        let number = |name: &str, otherwise: usize| {
            let number = members.get(name).and_then(Value::as_u64);
            number.map_or(otherwise, |number| usize::try_from(number).unwrap_or(otherwise))
        };
        if let Some(item) = members.get("$list") {
            let item = Box::new(self.shape(item, false));
            let (least, most) = (number("least", 0), number("most", MOST));
            return Shape::List(List { item, keys: texts(members.get("key")), least, most });
        }
        if let Some(value) = members.get("$map") {
            return Shape::Map {
                keys: texts(members.get("keys")),
                value: Box::new(self.shape(value, false)),
            };
        }
        let whole = whole || members.contains_key("$whole");
        let mut read = Struct { whole, ..Struct::default() };
        for (name, json) in members {
            match name.as_str() {
                "$whole" => {}
                "$in" => {
                    for embedded in texts(Some(json)) {
                        let Shape::Struct(more) = self.shape(&self.types[&embedded], whole) else {
                            panic!("{embedded} has no fields");
                        };
                        read.fields.extend(more.fields);
                    }
                }
                "$one" | "$one?" => {
                    read.needs_one = name == "$one";
                    let name = json.as_str().and_then(|text| text.strip_prefix('$'));
                    let members = name.map_or(json, |name| &self.types[name]);
                    let members = members.as_object().expect("the fields of a union");
                    read.union =
                        members.iter().map(|(name, json)| self.field(name, json, 1, whole)).collect();
                }
                name => read.fields.push(self.field(name, json, USUAL, whole)),
            }
        }
        Shape::Struct(read)
    }

    fn field(&self, name: &str, json: &Value, usual: u32, whole: bool) -> Field {
        let (name, weight) = match name.split_once('%') {
            Some((name, weight)) => (name, weight.parse().expect("a number after %")),
            None => name.strip_suffix('!').map_or((name, usual), |name| (name, 100)),
        };
        Field { name: name.to_owned(), shape: self.shape(json, whole), weight }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_in_the_grammar_is_that_of_a_type() {
        fn check(shape: &Shape) {
            match shape {
                Shape::Literal(Value::String(text)) => {
                    assert!(!text.starts_with('$') || text.starts_with("$("), "{text} isn't a type");
                }
                Shape::Literal(_) | Shape::Named(_) => {}
                Shape::AnyOf(all) => all.iter().for_each(check),
                Shape::Struct(all) => {
                    all.fields.iter().chain(&all.union).for_each(|field| check(&field.shape));
                }
                Shape::List(list) => check(&list.item),
                Shape::Map { value, .. } => check(value),
            }
        }
        Grammar::shipped().0.values().for_each(check);
    }
}
