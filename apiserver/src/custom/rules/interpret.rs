//! Evaluates expressions as cel-go does, and counts their cost. The functions are in [`functions`](super::functions).

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, ListExpr, MapExpr, operators,
};
use kube_cel::cel::objects::{Key, Map, OptionalValue};
use kube_cel::cel::{Context, ExecutionError, Value};

use super::macros::{MAP_INSERT, RESULT};
use super::unordered::{items, optional};
use super::values::known;
use super::{costs, functions};

type Result<T = Value> = std::result::Result<T, ExecutionError>;

/// A name and its value. The accumulator of a comprehension may be an error.
type Variable<'e> = (&'e str, Result);

/// An evaluation: its variables and its cost so far.
pub(super) struct Evaluation<'e> {
    functions: &'e Context<'static>,
    variables: Vec<Variable<'e>>,
    pub(super) cost: u64,
}

impl<'e> Evaluation<'e> {
    pub(super) fn new(functions: &'e Context<'static>, variables: &[(&'e str, Value)]) -> Self {
        let variables = variables.iter().map(|(name, value)| (*name, Ok(value.clone()))).collect();
        Self { functions, variables, cost: 0 }
    }

    /// Whether the cost limit stopped it.
    pub(super) fn is_cancelled(&self) -> bool {
        self.cost > costs::CALL_LIMIT
    }

    pub(super) fn value(&mut self, expression: &'e IdedExpr) -> Result {
        if self.is_cancelled() {
            return Err(cancelled());
        }
        let value = self.any(expression);
        if self.is_cancelled() { Err(cancelled()) } else { value }
    }

    fn any(&mut self, expression: &'e IdedExpr) -> Result {
        match &expression.expr {
            Expr::Literal(literal) => literal.to_val().as_ref().try_into(),
            Expr::Ident(name) => self.variable(name),
            Expr::Select(select) => {
                let operand = self.operand(&select.operand)?;
                if select.test {
                    return Ok(Value::Bool(functions::field(&operand, &select.field)?.is_some()));
                }
                self.cost += costs::SELECTION;
                functions::selected(&operand, &select.field)
            }
            Expr::Call(call) => self.call(call),
            Expr::List(list) => self.list(list),
            Expr::Map(map) => self.map(map),
            Expr::Comprehension(comprehension) => self.fold(comprehension),
            Expr::Struct(_) | Expr::Unspecified => Err(ExecutionError::NoSuchOverload),
        }
    }

    fn variable(&mut self, name: &str) -> Result {
        match self.variables.iter().rev().find(|(known, _)| *known == name) {
            Some((_, value)) => {
                self.cost += costs::SELECTION;
                known(value.clone()?)
            }
            // A type is a constant.
            None => match self.functions.get_variable(name) {
                Some(value) => value.as_ref().try_into(),
                None => Err(ExecutionError::UndeclaredReference(Arc::new(name.to_owned()))),
            },
        }
    }

    fn call(&mut self, call: &'e CallExpr) -> Result {
        match (call.func_name.as_str(), &call.target, call.args.as_slice()) {
            (operators::LOGICAL_AND, None, [left, right]) => self.decided(left, right, false),
            (operators::LOGICAL_OR, None, [left, right]) => self.decided(left, right, true),
            (operators::CONDITIONAL, None, [condition, if_true, if_false]) => {
                let chosen = if bool(&self.value(condition)?)? { if_true } else { if_false };
                self.part(chosen)
            }
            (operators::NOT_STRICTLY_FALSE, None, [value]) => {
                let value = self.value(value);
                self.cost += 1;
                Ok(Value::Bool(value != Ok(Value::Bool(false))))
            }
            ("or" | "orValue", Some(target), [other]) => {
                let target = self.value(target)?;
                let found = optional(&target).ok_or(ExecutionError::NoSuchOverload)?.value();
                match (found, call.func_name.as_str()) {
                    (Some(_), "or") => Ok(target.clone()),
                    (Some(value), _) => Ok(value.clone()),
                    (None, _) => self.value(other),
                }
            }
            (name, None, [IdedExpr { expr: Expr::Ident(collected), .. }, added @ ..])
                if collected == RESULT =>
            {
                self.collected(name, added)
            }
            (operators::INDEX | operators::OPT_INDEX | operators::OPT_SELECT, None, [base, key]) => {
                let args = [self.operand(base)?, self.part(key)?];
                self.cost += costs::SELECTION;
                functions::call(self.functions, &call.func_name, None, &args)
            }
            (name, target, args) => {
                let (name, target) = match target.as_deref() {
                    Some(IdedExpr { expr: Expr::Ident(space), .. }) if !self.is_variable(space) => {
                        (&format!("{space}.{name}")[..], None)
                    }
                    target => (name, target),
                };
                let all: Vec<_> = target.into_iter().chain(args).map(|arg| self.value(arg)).collect();
                let sizes: Vec<&Value> = all.iter().map(|arg| arg.as_ref().unwrap_or(&Value::Null)).collect();
                let values = all.iter().cloned().collect::<Result<Vec<_>>>();
                let result = values.and_then(|all| {
                    let (targets, args) = all.split_at(usize::from(target.is_some()));
                    functions::call(self.functions, name, targets.first(), args)
                });
                if !is_folded(call) {
                    let cost = costs::of_call(name, &sizes, result.as_ref().ok());
                    self.cost = self.cost.saturating_add(cost);
                }
                result
            }
        }
    }

    /// An operand of a conditional or a selection, whose first variable has no cost.
    fn part(&mut self, expression: &'e IdedExpr) -> Result {
        let value = self.value(expression);
        self.cost = self.cost.saturating_sub(if is_attribute(expression) { costs::SELECTION } else { 0 });
        value
    }

    /// The operand of a selection.
    fn operand(&mut self, expression: &'e IdedExpr) -> Result {
        let value = self.value(expression);
        self.cost += if is_attribute(expression) { 0 } else { costs::SELECTION };
        value
    }

    fn is_variable(&self, name: &str) -> bool {
        self.variables.iter().any(|(known, _)| *known == name)
    }

    /// `&&` and `||`: a decisive side is enough, even if the other one is an error.
    fn decided(&mut self, left: &'e IdedExpr, right: &'e IdedExpr, decisive: bool) -> Result {
        let left = self.value(left).and_then(|value| bool(&value));
        if left == Ok(decisive) {
            return Ok(Value::Bool(decisive));
        }
        let right = self.value(right).and_then(|value| bool(&value));
        if right == Ok(decisive) {
            return Ok(Value::Bool(decisive));
        }
        left.and(right).map(Value::Bool)
    }

    /// A function of the innermost accumulator, which nothing else reads, so it isn't copied.
    fn collected(&mut self, name: &str, added: &'e [IdedExpr]) -> Result {
        self.cost += costs::SELECTION;
        let place = self.variables.iter().rposition(|(name, _)| *name == RESULT);
        let place = place.ok_or(ExecutionError::NoSuchOverload)?;
        let collected = match name {
            operators::ADD | MAP_INSERT => std::mem::replace(&mut self.variables[place].1, Ok(Value::Null)),
            _ => self.variables[place].1.clone(),
        };
        let added: Vec<_> = added.iter().map(|each| self.value(each)).collect::<Result<_>>()?;
        self.cost += 1;
        functions::collected(self.functions, name, collected?, &added)
    }

    fn list(&mut self, list: &'e ListExpr) -> Result {
        let mut made = Vec::with_capacity(list.elements.len());
        for (index, element) in list.elements.iter().enumerate() {
            let value = self.value(element)?;
            if list.optional_indices.contains(&index) {
                made.extend(present(&value)?);
            } else {
                made.push(value);
            }
        }
        self.cost += if list.elements.iter().all(is_constant) { 0 } else { costs::NEW_LIST };
        Ok(Value::List(Arc::new(made)))
    }

    fn map(&mut self, map: &'e MapExpr) -> Result {
        let mut made = HashMap::with_capacity(map.entries.len());
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else { return Err(ExecutionError::NoSuchOverload) };
            let key = self.value(&entry.key)?;
            let value = self.value(&entry.value)?;
            let value = if entry.optional { present(&value)? } else { Some(value) };
            if let Some(value) = value {
                made.insert(key.try_into().map_err(ExecutionError::UnsupportedKeyType)?, value);
            }
        }
        self.cost +=
            if map.entries.iter().all(|entry| is_constant_entry(&entry.expr)) { 0 } else { costs::NEW_MAP };
        Ok(Value::Map(Map { map: Arc::new(made) }))
    }

    fn fold(&mut self, fold: &'e ComprehensionExpr) -> Result {
        let range = self.value(&fold.iter_range)?;
        let outer = self.variables.len();
        let start = self.value(&fold.accu_init);
        self.variables.push((&fold.accu_var, start));
        let rounds = Rounds::of(&range, fold.iter_var2.is_some())?;
        for (first, second) in rounds {
            self.variables.truncate(outer + 1);
            self.variables.push((&fold.iter_var, Ok(first)));
            if let (Some(name), Some(second)) = (&fold.iter_var2, second) {
                self.variables.push((name, Ok(second)));
            }
            if self.value(&fold.loop_cond) != Ok(Value::Bool(true)) {
                break;
            }
            let collected = self.value(&fold.loop_step);
            self.variables[outer].1 = collected;
        }
        self.variables.truncate(outer + 1);
        let result = self.value(&fold.result);
        self.variables.truncate(outer);
        result
    }
}

/// The values of a comprehension's variables in each round.
enum Rounds {
    Items { items: Arc<Vec<Value>>, index: usize, with_index: bool },
    Members { members: std::vec::IntoIter<(Key, Value)>, with_value: bool },
}

impl Rounds {
    fn of(range: &Value, has_two: bool) -> Result<Self> {
        if let Some(items) = items(range) {
            return Ok(Self::Items { items: items.clone(), index: 0, with_index: has_two });
        }
        let Value::Map(map) = range else { return Err(ExecutionError::NoSuchOverload) };
        let members: Vec<_> = map.map.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        Ok(Self::Members { members: members.into_iter(), with_value: has_two })
    }
}

impl Iterator for Rounds {
    type Item = (Value, Option<Value>);

    fn next(&mut self) -> Option<Self::Item> {
        match self {
            Self::Items { items, index, with_index } => {
                let item = items.get(*index)?.clone();
                let place = Value::Int(i64::try_from(*index).unwrap_or(i64::MAX));
                *index += 1;
                Some(if *with_index { (place, Some(item)) } else { (item, None) })
            }
            Self::Members { members, with_value } => {
                let (key, value) = members.next()?;
                Some((key.into(), with_value.then_some(value)))
            }
        }
    }
}

fn bool(value: &Value) -> Result<bool> {
    match value {
        Value::Bool(value) => Ok(*value),
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

/// Whether it is a variable or a selection.
fn is_attribute(expression: &IdedExpr) -> bool {
    const SELECTIONS: [&str; 3] = [operators::INDEX, operators::OPT_INDEX, operators::OPT_SELECT];
    match &expression.expr {
        Expr::Ident(_) | Expr::Select(_) => true,
        Expr::Call(call) => SELECTIONS.contains(&call.func_name.as_str()),
        _ => false,
    }
}

/// Whether cel-go makes it a constant, which has no cost.
fn is_constant(expression: &IdedExpr) -> bool {
    match &expression.expr {
        Expr::Literal(_) => true,
        Expr::List(list) => list.elements.iter().all(is_constant),
        Expr::Map(map) => map.entries.iter().all(|entry| is_constant_entry(&entry.expr)),
        Expr::Call(call) => call.func_name != operators::IN && is_folded(call),
        _ => false,
    }
}

fn is_constant_entry(entry: &EntryExpr) -> bool {
    matches!(entry, EntryExpr::MapEntry(entry) if is_constant(&entry.key) && is_constant(&entry.value))
}

/// Whether cel-go folds a call: a conversion of a constant, or a search in a constant list.
fn is_folded(call: &CallExpr) -> bool {
    const CONVERSIONS: [&str; 9] =
        ["bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "uint"];
    match (call.func_name.as_str(), call.args.as_slice()) {
        (operators::IN, [_, range]) => matches!(range.expr, Expr::List(_)) && is_constant(range),
        (name, [arg]) => CONVERSIONS.contains(&name) && is_constant(arg),
        _ => false,
    }
}

/// The value of an optional element, if present.
fn present(value: &Value) -> Result<Option<Value>> {
    Ok(optional(value).map(OptionalValue::value).ok_or(ExecutionError::NoSuchOverload)?.cloned())
}

fn cancelled() -> ExecutionError {
    ExecutionError::function_error("", "operation cancelled: actual cost limit exceeded")
}
