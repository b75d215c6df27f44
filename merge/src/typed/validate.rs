//! Validation of a value against its type, after `typed/validate.go`.

use super::{
    Context, Duplicates, Invalid,
    error::Violations,
    kinds::{Kind, NO_KIND, NO_TYPE, description, expectation, fits},
};
use crate::{
    fieldpath::PathElement,
    schema::{List, Map, TypeId, definition::Scalar},
    value::{self, Value},
};

/// `known` is a valid value of the type, checked as strictly: parts that share its memory aren't checked again.
pub(super) fn validate<'a>(
    context: Context<'a>,
    type_id: TypeId,
    value: Value<'a>,
    duplicates: Duplicates,
    known: Option<&Value<'a>>,
) -> Result<(), Invalid> {
    let mut violations = Violations::default();
    Walk { context, duplicates }.value(type_id, &value, known, &mut violations);
    violations.or(())
}

struct Walk<'a> {
    context: Context<'a>,
    duplicates: Duplicates,
}

impl<'a> Walk<'a> {
    fn value(
        &self,
        type_id: TypeId,
        value: &Value<'a>,
        known: Option<&Value<'a>>,
        violations: &mut Violations,
    ) {
        if known.is_some_and(|known| value.shares_memory(known)) {
            return;
        }
        let Some(atom) = self.context.schema.atom(type_id) else {
            return violations.add(NO_TYPE);
        };
        match Kind::of(atom, Some(value)) {
            Kind::Map(map) => self.map(map, value, known, violations),
            Kind::Scalar(scalar) => check_scalar(scalar, value, violations),
            Kind::List(list) => self.list(list, value, known, violations),
            Kind::None => violations.add(NO_KIND),
        }
    }

    fn map(&self, map: &'a Map, value: &Value<'a>, known: Option<&Value<'a>>, violations: &mut Violations) {
        let members = match value {
            Value::Null => return,
            Value::Map(members) => members,
            other => return violations.add(format!("expected a map, found {}", description(other))),
        };
        let mut known = known.and_then(Value::as_map).unwrap_or_default().members();
        for (name, value) in members.members() {
            let member = map.member(name);
            let known = value::seek(&mut known, name).map(|(_, known)| known);
            violations.below(&PathElement::Field(name), |violations| {
                if member == TypeId::EMPTY && map.named_field(name).is_none() {
                    violations.add("field not declared in schema");
                } else {
                    self.value(member, value, known, violations);
                }
            });
        }
    }

    fn list(
        &self,
        list: &'a List,
        value: &Value<'a>,
        known: Option<&Value<'a>>,
        violations: &mut Violations,
    ) {
        let items = match value {
            Value::Null => return,
            Value::List(items) => *items,
            other => return violations.add(format!("expected a list, found {}", description(other))),
        };
        let mut known = known.and_then(Value::as_list).unwrap_or_default().iter();
        if !list.is_associative() {
            for (position, item) in (0..).zip(items) {
                violations.below(&PathElement::Index(position), |violations| {
                    self.value(list.element, item, known.next(), violations);
                });
            }
            return;
        }
        let mut elements = self.context.arena.vec_with_capacity(items.len());
        for (position, item) in items.iter().enumerate() {
            match self.context.element(list, item) {
                Ok(element) => elements.push(element),
                // If an item has no name, its list isn't checked deeper.
                Err(error) => return violations.add(format!("item {position}: {error}")),
            }
        }
        for (element, item) in elements.iter().zip(items) {
            violations.below(element, |violations| self.value(list.element, item, known.next(), violations));
        }
        if self.duplicates == Duplicates::Forbidden && elements.len() > 1 {
            elements.sort_unstable();
            for same in elements.windows(2).filter(|pair| pair[0] == pair[1]) {
                violations.add(format!("duplicate entries for key {}", same[0]));
            }
        }
    }
}

fn check_scalar(scalar: Scalar, value: &Value<'_>, violations: &mut Violations) {
    if !fits(scalar, value) {
        violations.add(format!("expected {}, found {}", expectation(scalar), description(value)));
    }
}
