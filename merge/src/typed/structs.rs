//! Structs in a value.

use super::{Context, kinds::Kind};
use crate::{
    fieldpath::{Path, PathElement},
    schema::TypeId,
    value::Value,
};

/// A struct in a value.
#[derive(Clone, Copy, Debug)]
pub struct Struct<'a> {
    /// Its type.
    pub type_id: TypeId,
    /// Where it is.
    pub path: Path<'a>,
    /// The value.
    pub value: Value<'a>,
}

pub(super) fn structs<'a>(context: Context<'a>, type_id: TypeId, value: Value<'a>) -> Vec<Struct<'a>> {
    let mut walk = Walk { context, path: Vec::new(), found: Vec::new() };
    walk.value(type_id, value);
    walk.found
}

struct Walk<'a> {
    context: Context<'a>,
    path: Vec<PathElement<'a>>,
    found: Vec<Struct<'a>>,
}

impl<'a> Walk<'a> {
    fn value(&mut self, type_id: TypeId, value: Value<'a>) {
        let Some(atom) = self.context.schema.atom(type_id) else { return };
        match (Kind::of(atom, Some(&value)), value) {
            (Kind::Map(map), Value::Map(members)) if !map.is_atomic => {
                if map.has_named_fields() {
                    let path = Path::new(self.context.arena.slice(&self.path));
                    self.found.push(Struct { type_id, path, value });
                }
                for (name, member) in members.members() {
                    self.below(PathElement::Field(name), map.member(name), *member);
                }
            }
            (Kind::List(list), Value::List(items)) if list.is_associative() => {
                for item in items {
                    if let Ok(element) = self.context.element(list, item) {
                        self.below(element, list.element, *item);
                    }
                }
            }
            _ => {}
        }
    }

    fn below(&mut self, element: PathElement<'a>, type_id: TypeId, value: Value<'a>) {
        self.path.push(element);
        self.value(type_id, value);
        self.path.pop();
    }
}
