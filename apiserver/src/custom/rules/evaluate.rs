//! Walks an object along its schema and evaluates the rules on the way.

use std::sync::Arc;

use baton_merge::value::Value;
use kube_cel::cel::objects::OptionalValue;
use kube_cel::cel::{self, Context, ExecutionError};

use super::super::correlate::{Correlated, item_like};
use super::super::schema::Schema;
use super::values::to_cel;
use super::{Program, ValidationRule, functions};
use crate::field::{FieldError, FieldPath};

/// The longest message that an expression may make.
const MAX_MESSAGE: usize = 5 * 1024;

thread_local! {
    static FUNCTIONS: Context<'static> = functions::all();
}

/// What is known of a value's past, to tolerate what was wrong before.
#[derive(Clone, Copy, Default)]
pub(in super::super) struct Past<'s, 'a> {
    current: Option<Correlated<'s, 'a>>,
    nearest: Option<Correlated<'s, 'a>>,
}

impl<'s, 'a> Past<'s, 'a> {
    /// The past of an object.
    pub(in super::super) fn of(current: Option<Correlated<'s, 'a>>) -> Self {
        Self { current, nearest: None }
    }

    fn tolerates(&self) -> bool {
        self.current.or(self.nearest).is_some_and(|known| known.is_unchanged())
    }

    fn key(self, name: &str) -> Self {
        match self.current {
            None => self,
            Some(_) if self.nearest.is_none() && ["apiVersion", "kind"].contains(&name) => Self::default(),
            Some(current) => Self { current: current.key(name), nearest: Some(current) },
        }
    }

    fn index(self, index: usize) -> Self {
        match self.current {
            None => self,
            Some(current) => Self { current: current.index(index), nearest: Some(current) },
        }
    }
}

/// What the rules of a schema and of those below say of an object.
#[derive(Default)]
pub(in super::super) struct Findings {
    pub(in super::super) errors: Vec<FieldError>,
    pub(in super::super) warnings: Vec<String>,
}

/// Evaluates all rules. With an old value, those that compare with it, too.
pub(in super::super) fn validate(
    schema: &Schema,
    is_object: bool,
    path: &FieldPath,
    new: Value<'_>,
    old: Option<Value<'_>>,
    past: Past<'_, '_>,
) -> Findings {
    let mut findings = Findings::default();
    if schema.has_rules() {
        FUNCTIONS.with(|functions| {
            Walk { functions, findings: &mut findings }.value(schema, is_object, path, new, old, past);
        });
    }
    findings
}

struct Walk<'w> {
    functions: &'w Context<'static>,
    findings: &'w mut Findings,
}

impl Walk<'_> {
    fn value(
        &mut self,
        schema: &Schema,
        is_object: bool,
        path: &FieldPath,
        new: Value<'_>,
        old: Option<Value<'_>>,
        past: Past<'_, '_>,
    ) {
        if new.is_null() {
            return;
        }
        let old = old.filter(|old| !old.is_null());
        if !schema.rules.is_empty() {
            let node = Node { schema, path, new, past };
            self.rules(&node, is_object, old);
        }
        match new {
            Value::Map(map) => {
                for (name, value) in map.members() {
                    let old = old.and_then(|old| old.get(name));
                    let past = past.key(name);
                    if let Some(values) = schema.values() {
                        self.value(values, false, &path.key(name), *value, old, past);
                    }
                    if let Some(property) = schema.properties.get(*name) {
                        self.value(property, property.embedded, &path.child(name), *value, old, past);
                    }
                }
            }
            Value::List(items) => {
                let Some(below) = &schema.items else { return };
                let before = old.and_then(|old| old.as_list()).unwrap_or_default();
                for (index, item) in items.iter().enumerate() {
                    let old = item_like(schema, before, *item);
                    self.value(below, below.embedded, &path.index(index), *item, old, past.index(index));
                }
            }
            _ => {}
        }
    }

    fn rules(&mut self, node: &Node<'_, '_>, is_object: bool, old: Option<Value<'_>>) {
        let functions = self.functions;
        let mut plain = functions.new_inner_scope();
        plain.add_variable_from_value("self", to_cel(node.schema, is_object, node.new));
        let mut optional = plain.new_inner_scope();
        let old_self = old.map(|old| to_cel(node.schema, is_object, old));
        let wrapped = old_self.clone().map_or_else(OptionalValue::none, OptionalValue::of);
        optional.add_variable_from_value("oldSelf", cel::Value::Opaque(Arc::new(wrapped)));
        let mut compared = plain.new_inner_scope();
        if let Some(old_self) = old_self {
            compared.add_variable_from_value("oldSelf", old_self);
        }
        for rule in &node.schema.rules {
            let is_optional = rule.optional_old_self == Some(true);
            if rule.uses_old_self() && old.is_none() && !is_optional {
                continue;
            }
            let scope = if is_optional { &optional } else { &compared };
            if let Some((error, can_be_tolerated)) = node.evaluate(rule, scope, &compared) {
                if can_be_tolerated && !rule.uses_old_self() && node.past.tolerates() {
                    self.findings.warnings.push(error.to_string());
                } else {
                    self.findings.errors.push(error);
                }
            }
        }
    }
}

/// A value that has rules.
struct Node<'n, 'a> {
    schema: &'n Schema,
    path: &'n FieldPath,
    new: Value<'a>,
    past: Past<'n, 'n>,
}

impl Node<'_, '_> {
    /// What a rule finds, and whether it may be tolerated.
    fn evaluate(
        &self,
        rule: &ValidationRule,
        scope: &Context<'_>,
        message_scope: &Context<'_>,
    ) -> Option<(FieldError, bool)> {
        let invalid = |detail: String| {
            Some((FieldError::invalid_text(self.path, &self.schema.type_name, &detail), false))
        };
        let program = match &rule.program {
            Ok(program) => program,
            Err(_) if rule.rule.trim().is_empty() => return None,
            Err(why) => return invalid(format!("rule compile error: compilation failed: {why}")),
        };
        match run(program, scope) {
            Ok(cel::Value::Bool(true)) => None,
            Ok(_) => Some((self.failure(rule, message_scope), true)),
            Err(ExecutionError::NoSuchOverload) => invalid(format!(
                "'no such overload': call arguments did not match a supported operator, function or macro signature \
                 for rule: {}",
                rule.shown()
            )),
            Err(why) => invalid(format!("{} evaluating rule: {}", in_words(&why), rule.shown())),
        }
    }

    fn failure(&self, rule: &ValidationRule, scope: &Context<'_>) -> FieldError {
        let detail = rule.made_message(scope).unwrap_or_else(|| rule.detail());
        let path = rule.below().map_or_else(|| self.path.clone(), |below| self.path.child(&below));
        let value = Some(self.new).filter(|_| !["object", "array"].contains(&self.schema.type_name.as_str()));
        match rule.reason.as_deref() {
            Some("FieldValueForbidden") => FieldError::forbidden(&path, &detail),
            Some("FieldValueRequired") => FieldError::required(&path, &detail),
            Some("FieldValueDuplicate") => match value {
                Some(value) => FieldError::duplicate(&path, value),
                None => FieldError::duplicate_omitted(&path),
            },
            _ => match value {
                Some(value) => FieldError::invalid(&path, value, &detail),
                None => FieldError::invalid_omitted(&path, &detail),
            },
        }
    }
}

impl ValidationRule {
    /// The message that the rule's expression makes, where it makes one that can be shown.
    fn made_message(&self, scope: &Context<'_>) -> Option<String> {
        let program = self.message_program.as_ref()?.as_ref().ok()?;
        let Ok(cel::Value::String(made)) = run(program, scope) else { return None };
        let text = made.trim();
        (!text.is_empty() && text.len() <= MAX_MESSAGE && !text.contains('\n')).then(|| text.to_owned())
    }
}

fn run(program: &Program, scope: &Context<'_>) -> Result<cel::Value, ExecutionError> {
    cel::Value::resolve(&program.expression, scope)
}

/// What went wrong, as cel-go says it where that is known.
fn in_words(why: &ExecutionError) -> String {
    match why {
        ExecutionError::NoSuchKey(name) => format!("no such key: {name}"),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::IndexOutOfBounds(cel::Value::Int(index)) => format!("index out of bounds: {index}"),
        ExecutionError::FunctionError { message, .. } => message.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
