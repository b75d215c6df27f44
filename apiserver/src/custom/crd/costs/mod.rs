//! The estimated cost of a rule, by its schema when the CRD is stored: `checker/cost.go` and `ext/lists.go` of cel-go, and
//! `pkg/cel/library/cost.go` of k8s.io/apiserver.

mod calls;
mod estimate;

use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue, operators,
};

use super::super::rules::{NEW_LIST, NEW_MAP, SELECTION};
use super::declared::Declared;
use calls::Call;
use estimate::{Entries, Estimate, Location, Size, Type, all_of, united};

/// The limit of a rule, for the largest possible object.
pub(super) const RULE_LIMIT: u64 = 10_000_000;
/// The limit of all rules of a version.
pub(super) const SCHEMA_LIMIT: u64 = 100_000_000;

/// The highest cost of an expression about a value.
pub(super) fn estimate(root: &Declared, expression: &IdedExpr) -> u64 {
    Walk { root, variables: Vec::new() }.estimate(expression).cost
}

/// The message about a cost above its limit, as upstream writes it.
pub(super) fn excess(of: &str, cost: u64, limit: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "it's rounded")]
    let factor = cost as f64 / limit as f64;
    let factor = match factor {
        more if more > 100.0 => "more than 100x".to_owned(),
        little if little < 1.5 => format!("{little:.6}x"),
        factor => format!("{factor:.1}x"),
    };
    format!(
        "{of} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and maxLength \
         where arrays, maps, and strings are declared)"
    )
}

struct Variable<'e, 'd> {
    name: &'e str,
    type_: Type<'d>,
    location: Location<'d>,
    size: Option<Size>,
    entries: Option<Entries>,
}

struct Walk<'e, 'd> {
    root: &'d Declared,
    variables: Vec<Variable<'e, 'd>>,
}

impl<'e, 'd> Walk<'e, 'd> {
    fn estimate(&mut self, expression: &'e IdedExpr) -> Estimate<'d> {
        match &expression.expr {
            Expr::Literal(literal) => Self::literal(literal),
            Expr::Ident(name) => self.name(name),
            Expr::Select(select) => {
                let operand = self.estimate(&select.operand);
                if select.test {
                    return Estimate::new(operand.cost, Type::Bool);
                }
                let is_read = matches!(operand.type_, Type::Map(_) | Type::Object(_));
                let mut selected = self.selected(&operand, &select.field);
                selected.cost = operand.cost + if is_read { SELECTION } else { 0 };
                selected
            }
            Expr::Call(call) => self.call(call),
            Expr::List(list) => {
                let items: Vec<_> = list.elements.iter().map(|item| self.estimate(item)).collect();
                let type_ = items.first().map_or(Type::Any, |item| item.type_.clone());
                let cost = items.iter().fold(NEW_LIST, |sum, item| sum.saturating_add(item.cost));
                let mut made = Estimate::new(cost, Type::List(Box::new(type_)));
                made.size = Some(Size::exactly(items.len() as u64));
                let value = all_of(items.iter());
                made.entries = Some(Entries { is_list: true, key: Size::exactly(1), value });
                made
            }
            Expr::Map(map) => {
                let entries = map.entries.iter().filter_map(|entry| match &entry.expr {
                    EntryExpr::MapEntry(entry) => Some(entry),
                    EntryExpr::StructField(_) => None,
                });
                let entries: Vec<_> =
                    entries.map(|entry| (self.estimate(&entry.key), self.estimate(&entry.value))).collect();
                let both = entries.iter().flat_map(|(key, value)| [key.cost, value.cost]);
                let cost = both.fold(NEW_MAP, u64::saturating_add);
                let type_ = entries.first().map_or(Type::Any, |(_, value)| value.type_.clone());
                let mut made = Estimate::new(cost, Type::Map(Box::new(type_)));
                made.size = Some(Size::exactly(entries.len() as u64));
                made.entries = Some(Entries {
                    is_list: false,
                    key: all_of(entries.iter().map(|(key, _)| key)),
                    value: all_of(entries.iter().map(|(_, value)| value)),
                });
                made
            }
            Expr::Comprehension(fold) => self.fold(fold),
            Expr::Struct(_) | Expr::Unspecified => Estimate::new(0, Type::Any),
        }
    }

    fn literal(literal: &LiteralValue) -> Estimate<'d> {
        let (type_, size) = match literal {
            LiteralValue::String(text) => (Type::Text, text.inner().chars().count()),
            LiteralValue::Bytes(bytes) => (Type::Bytes, bytes.inner().len()),
            LiteralValue::Boolean(_) => (Type::Bool, 1),
            LiteralValue::Null => (Type::Other, 1),
            _ => (Type::Scalar, 1),
        };
        Estimate { size: Some(Size::exactly(size as u64)), ..Estimate::new(0, type_) }
    }

    fn name(&self, name: &str) -> Estimate<'d> {
        let mut found = Estimate::new(SELECTION, Type::Any);
        match self.variables.iter().rev().find(|variable| variable.name == name) {
            Some(variable) => {
                found.type_ = variable.type_.clone();
                found.location = variable.location;
                found.size = found.size().or(variable.size);
                found.entries = variable.entries;
            }
            None => {
                found.location = Location::At(Some(self.root));
                if ["self", "oldSelf"].contains(&name) {
                    found.type_ = Type::of(self.root);
                }
            }
        }
        found
    }

    /// The location one step below another.
    fn below(
        &self,
        location: Location<'d>,
        step: impl Fn(&'d Declared) -> Option<&'d Declared>,
    ) -> Location<'d> {
        match location {
            Location::Nowhere => Location::At(Some(self.root)),
            Location::At(declared) => Location::At(declared.and_then(step)),
        }
    }

    /// A selected field, without a cost.
    fn selected(&self, operand: &Estimate<'d>, field: &str) -> Estimate<'d> {
        let of = |type_: &Type<'d>| match type_ {
            Type::Object(declared) => declared.field(field).map_or(Type::Any, Type::of),
            type_ => type_.inner(),
        };
        let type_ = match &operand.type_ {
            Type::Optional(inner) => of(inner).optional(),
            type_ => of(type_),
        };
        let location = self.below(operand.location, |declared| declared.field(field));
        Estimate { location, ..Estimate::new(0, type_) }
    }

    fn fold(&mut self, fold: &'e ComprehensionExpr) -> Estimate<'d> {
        let range = self.estimate(&fold.iter_range);
        let start = self.estimate(&fold.accu_init);
        let outer = self.variables.len();
        self.variables.push(Variable {
            name: &fold.accu_var,
            type_: start.type_.clone(),
            location: start.location,
            size: start.size(),
            entries: start.entries,
        });
        let is_never =
            matches!(&fold.loop_cond.expr, Expr::Literal(LiteralValue::Boolean(value)) if !*value.inner());
        if is_never {
            // The comprehension only binds a variable.
            let mut result = self.estimate(&fold.result);
            self.variables.truncate(outer);
            result.cost = result.cost.saturating_add(range.cost).saturating_add(start.cost);
            return result;
        }
        self.iterate(fold, &range);
        let condition = self.estimate(&fold.loop_cond);
        let step = self.estimate(&fold.loop_step);
        self.variables.truncate(outer + 1);
        let result = self.estimate(&fold.result);
        self.variables.truncate(outer);
        let rounds = range.max().saturating_mul(step.cost.saturating_add(condition.cost));
        let costs = [range.cost, start.cost, result.cost, rounds];
        let cost = costs.into_iter().fold(0, u64::saturating_add);
        let mut made = Estimate::new(cost, result.type_);
        match &fold.accu_init.expr {
            Expr::Literal(_) => made.size = start.size(),
            _ => {
                made.type_ = step.type_;
                made.size = Some(range.size_or_unknown());
                made.entries = step.entries;
            }
        }
        made
    }

    /// Sets the types and sizes of a comprehension's variables.
    fn iterate(&mut self, fold: &'e ComprehensionExpr, range: &Estimate<'d>) {
        let is_list = range.entries.map_or(matches!(range.type_, Type::List(_)), |entries| entries.is_list);
        // Keys and indexes have no schema.
        let key = Variable {
            name: &fold.iter_var,
            type_: if is_list { Type::Scalar } else { Type::Text },
            location: self.below(range.location, |declared| declared.key()),
            size: range.entries.map(|entries| entries.key),
            entries: None,
        };
        let value = Variable {
            name: fold.iter_var2.as_deref().unwrap_or(&fold.iter_var),
            type_: range.type_.inner(),
            location: self.below(range.location, Declared::below),
            size: range.entries.map(|entries| entries.value),
            entries: None,
        };
        match (&fold.iter_var2, is_list) {
            (Some(_), _) => self.variables.extend([key, value]),
            (None, true) => self.variables.push(value),
            (None, false) => self.variables.push(key),
        }
    }

    fn call(&mut self, call: &'e CallExpr) -> Estimate<'d> {
        let is_space = |target: &IdedExpr| matches!(&target.expr, Expr::Ident(name) if self.is_space(name));
        let (name, target) = match call.target.as_deref() {
            Some(target) if is_space(target) => {
                let Expr::Ident(space) = &target.expr else { return Estimate::new(0, Type::Any) };
                (format!("{space}.{}", call.func_name), None)
            }
            target => (call.func_name.clone(), target),
        };
        let args: Vec<_> = call.args.iter().map(|arg| self.estimate(arg)).collect();
        let target = target.map(|target| self.estimate(target));
        let whole = target.iter().chain(&args).fold(0, |sum: u64, part| sum.saturating_add(part.cost));
        let all: Vec<_> = target.iter().chain(&args).collect();
        match (name.as_str(), all.as_slice()) {
            (operators::LOGICAL_AND | operators::LOGICAL_OR, _) => Estimate::new(whole, Type::Bool),
            (operators::CONDITIONAL, [condition, one, other]) => {
                let mut chosen =
                    Estimate::new(condition.cost.saturating_add(one.cost.max(other.cost)), one.type_.clone());
                chosen.size = Some(one.size_or_unknown().or(other.size_or_unknown()));
                chosen.entries = united(one, other);
                chosen
            }
            (operators::OPT_SELECT, [operand, _]) => {
                let field = match call.args.get(1).map(|arg| &arg.expr) {
                    Some(Expr::Literal(LiteralValue::String(field))) => field.inner(),
                    _ => "",
                };
                let selected = self.selected(operand, field).type_;
                let selected =
                    if matches!(selected, Type::Optional(_)) { selected } else { selected.optional() };
                Estimate::new(whole.saturating_add(1), selected)
            }
            (operators::INDEX, [base, _]) if matches!(base.type_, Type::List(_) | Type::Map(_)) => {
                let location = self.below(base.location, Declared::below);
                let size = base.entries.map(|entries| entries.value);
                Estimate { location, size, ..Estimate::new(whole.saturating_add(1), base.type_.inner()) }
            }
            ("dyn", [value]) => Estimate {
                size: value.size(),
                entries: value.entries,
                ..Estimate::new(whole.saturating_add(1), Type::Any)
            },
            (name, all) => {
                let made = Call { name, is_method: target.is_some(), all, args: &call.args }.estimate();
                Estimate { cost: made.cost.saturating_add(whole), ..made }
            }
        }
    }

    fn is_space(&self, name: &str) -> bool {
        !["self", "oldSelf"].contains(&name) && !self.variables.iter().any(|variable| variable.name == name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::super::super::schema::Schema;
    use super::*;

    #[test]
    fn estimates_are_those_of_cel_go() {
        let recorded: Json = serde_json::from_str(include_str!("../../rules/costs.json")).unwrap();
        let mut wrong = Vec::new();
        for each in recorded["rules"].as_array().unwrap() {
            let mut schema = recorded["schema"].clone();
            schema["x-kubernetes-validations"] = serde_json::json!([each]);
            let schema = Schema::read(&schema);
            let declared = Declared::of(&schema, false).unwrap();
            let found = estimate(&declared, schema.rules[0].expression().unwrap());
            if each["estimate"].as_u64() != Some(found) {
                wrong.push(format!("{found} instead of {}: {}", each["estimate"], each["rule"]));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }
}
