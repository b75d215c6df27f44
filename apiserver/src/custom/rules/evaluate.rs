//! Evaluates the rules of an object, along its schema.

use std::ops::ControlFlow;
use std::sync::Arc;

use baton_merge::value::Value;
use kube_cel::cel::objects::OptionalValue;
use kube_cel::cel::{self, Context, ExecutionError};

use super::super::correlate::{Correlated, item_like};
use super::super::schema::Schema;
use super::interpret::Evaluation;
use super::values::to_cel;
use super::{Program, ValidationRule, costs, functions};
use crate::field::{FieldError, FieldPath};

/// The longest message that an expression may return.
const MAX_MESSAGE: usize = 5 * 1024;

const OVER_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";

thread_local! {
    static FUNCTIONS: Context<'static> = functions::all();
}

/// The old value, which decides what is tolerated.
#[derive(Clone, Copy, Default)]
pub(in super::super) struct Past<'s, 'a> {
    current: Option<Correlated<'s, 'a>>,
    nearest: Option<Correlated<'s, 'a>>,
}

impl<'s, 'a> Past<'s, 'a> {
    /// The old value of an object.
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

/// The failures of an object's rules.
#[derive(Default)]
pub(in super::super) struct Findings {
    pub(in super::super) errors: Vec<FieldError>,
    pub(in super::super) warnings: Vec<String>,
}

/// Evaluates all rules; transition rules need an old value.
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
            let mut walk = Walk { functions, findings: &mut findings, budget: costs::OBJECT_LIMIT };
            // Once the budget is exceeded, no more rules are evaluated.
            let _over_budget = walk.value(schema, is_object, path, new, old, past);
        });
    }
    findings
}

struct Walk<'w> {
    functions: &'w Context<'static>,
    findings: &'w mut Findings,
    /// The budget left.
    budget: u64,
}

/// The variables of a rule.
type Variables<'v> = [(&'v str, cel::Value)];

impl Walk<'_> {
    fn value(
        &mut self,
        schema: &Schema,
        is_object: bool,
        path: &FieldPath,
        new: Value<'_>,
        old: Option<Value<'_>>,
        past: Past<'_, '_>,
    ) -> ControlFlow<()> {
        if new.is_null() {
            return ControlFlow::Continue(());
        }
        let old = old.filter(|old| !old.is_null());
        if !schema.rules.is_empty() {
            let node = Node { schema, path, new, past };
            self.rules(&node, is_object, old)?;
        }
        match new {
            Value::Map(map) => {
                for (name, value) in map.members() {
                    let old = old.and_then(|old| old.get(name));
                    let past = past.key(name);
                    if let Some(values) = schema.values() {
                        self.value(values, false, &path.key(name), *value, old, past)?;
                    }
                    if let Some(property) = schema.properties.get(*name) {
                        self.value(property, property.embedded, &path.child(name), *value, old, past)?;
                    }
                }
            }
            Value::List(items) => {
                let Some(below) = &schema.items else { return ControlFlow::Continue(()) };
                let before = old.and_then(|old| old.as_list()).unwrap_or_default();
                for (index, item) in items.iter().enumerate() {
                    let old = item_like(schema, before, *item);
                    self.value(below, below.embedded, &path.index(index), *item, old, past.index(index))?;
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn rules(&mut self, node: &Node<'_, '_>, is_object: bool, old: Option<Value<'_>>) -> ControlFlow<()> {
        let new = ("self", to_cel(node.schema, is_object, node.new));
        let old_self = old.map(|old| to_cel(node.schema, is_object, old));
        let wrapped = old_self.clone().map_or_else(OptionalValue::none, OptionalValue::of);
        let optional = [new.clone(), ("oldSelf", cel::Value::Opaque(Arc::new(wrapped)))];
        let compared: Vec<_> = std::iter::once(new).chain(old_self.map(|old| ("oldSelf", old))).collect();
        for rule in &node.schema.rules {
            let is_optional = rule.optional_old_self == Some(true);
            if rule.uses_old_self() && old.is_none() && !is_optional {
                continue;
            }
            let variables = if is_optional { &optional[..] } else { &compared };
            self.rule(node, rule, variables, &compared)?;
        }
        ControlFlow::Continue(())
    }

    fn rule(
        &mut self,
        node: &Node<'_, '_>,
        rule: &ValidationRule,
        variables: &Variables<'_>,
        message_variables: &Variables<'_>,
    ) -> ControlFlow<()> {
        if self.budget == 0 {
            return self.give_up(node.invalid(OVER_BUDGET));
        }
        let program = match &rule.program {
            Ok(program) => program,
            Err(_) if rule.rule.trim().is_empty() => return ControlFlow::Continue(()),
            Err(why) => {
                self.findings
                    .errors
                    .push(node.invalid(&format!("rule compile error: compilation failed: {why}")));
                return ControlFlow::Continue(());
            }
        };
        let Some(Run { result, is_cancelled }) = self.run(program, variables) else {
            return self.give_up(node.invalid(OVER_BUDGET));
        };
        let shown = rule.shown();
        match result {
            Ok(cel::Value::Bool(true)) => {}
            Ok(_) => return self.failed(node, rule, message_variables),
            Err(why) if is_cancelled => {
                return self.give_up(node.invalid(&format!(
                    "'{}': no further validation rules will be run due to call cost exceeds limit for rule: {shown}",
                    message_of(&why)
                )));
            }
            Err(ExecutionError::NoSuchOverload) => self.findings.errors.push(node.invalid(&format!(
                "'no such overload': call arguments did not match a supported operator, function or macro signature \
                 for rule: {shown}"
            ))),
            Err(why) => {
                self.findings.errors.push(node.invalid(&format!("{} evaluating rule: {shown}", message_of(&why))));
            }
        }
        ControlFlow::Continue(())
    }

    /// Evaluates an expression, unless the budget is exceeded.
    fn run(&mut self, program: &Program, variables: &Variables<'_>) -> Option<Run> {
        let mut evaluation = Evaluation::new(self.functions, variables);
        let result = evaluation.value(&program.expression);
        self.budget = self.budget.checked_sub(evaluation.cost)?;
        Some(Run { result, is_cancelled: evaluation.is_cancelled() })
    }

    fn give_up(&mut self, error: FieldError) -> ControlFlow<()> {
        self.findings.errors.push(error);
        ControlFlow::Break(())
    }

    /// A failed rule: an error, or a warning if nothing has changed.
    fn failed(
        &mut self,
        node: &Node<'_, '_>,
        rule: &ValidationRule,
        message_variables: &Variables<'_>,
    ) -> ControlFlow<()> {
        let path = rule.below().map_or_else(|| node.path.clone(), |below| node.path.child(&below));
        let (error, end) = match self.made_message(rule, message_variables) {
            Ok(made) => {
                let detail = made.unwrap_or_else(|| rule.detail());
                (node.failure(rule, &path, &detail), ControlFlow::Continue(()))
            }
            Err(why) => {
                (FieldError::invalid_text(&path, &node.schema.type_name, &why), ControlFlow::Break(()))
            }
        };
        if !rule.uses_old_self() && node.past.tolerates() {
            self.findings.warnings.push(error.to_string());
        } else {
            self.findings.errors.push(error);
        }
        end
    }

    /// The message of a rule's `messageExpression`, if it returns a valid one.
    ///
    /// # Errors
    /// When the budget is exceeded.
    fn made_message(
        &mut self,
        rule: &ValidationRule,
        variables: &Variables<'_>,
    ) -> Result<Option<String>, String> {
        let Some(Ok(program)) = &rule.message_program else { return Ok(None) };
        let Some(run) = self.run(program, variables) else {
            return Err("messageExpression evaluation failed due to running out of cost budget, no further validation \
                 rules will be run"
                .to_owned());
        };
        if run.is_cancelled {
            return Err(format!(
                "no further validation rules will be run due to call cost exceeds limit for messageExpression: {:?}",
                rule.message_expression
            ));
        }
        let Ok(cel::Value::String(made)) = run.result else { return Ok(None) };
        let text = made.trim();
        Ok((!text.is_empty() && text.len() <= MAX_MESSAGE && !text.contains('\n')).then(|| text.to_owned()))
    }
}

/// The result of an expression.
struct Run {
    result: Result<cel::Value, ExecutionError>,
    /// Whether the cost limit stopped it.
    is_cancelled: bool,
}

/// A value with rules.
struct Node<'n, 'a> {
    schema: &'n Schema,
    path: &'n FieldPath,
    new: Value<'a>,
    past: Past<'n, 'n>,
}

impl Node<'_, '_> {
    fn invalid(&self, detail: &str) -> FieldError {
        FieldError::invalid_text(self.path, &self.schema.type_name, detail)
    }

    fn failure(&self, rule: &ValidationRule, path: &FieldPath, detail: &str) -> FieldError {
        let value = Some(self.new).filter(|_| !["object", "array"].contains(&self.schema.type_name.as_str()));
        match rule.reason.as_deref() {
            Some("FieldValueForbidden") => FieldError::forbidden(path, detail),
            Some("FieldValueRequired") => FieldError::required(path, detail),
            Some("FieldValueDuplicate") => match value {
                Some(value) => FieldError::duplicate(path, value),
                None => FieldError::duplicate_omitted(path),
            },
            _ => match value {
                Some(value) => FieldError::invalid(path, value, detail),
                None => FieldError::invalid_omitted(path, detail),
            },
        }
    }
}

/// The error's message, as cel-go writes it where that is known.
fn message_of(why: &ExecutionError) -> String {
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
