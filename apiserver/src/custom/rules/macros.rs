//! Macros that the parser doesn't expand: those with two variables, of optional values, and `sortBy`.

use kube_cel::cel::common::ast::{
    CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, ListExpr, LiteralValue, MapExpr, operators,
};

/// The accumulator of a comprehension, which no expression can name.
pub(super) const RESULT: &str = "@result";
const SORTED: &str = "@sorted";
/// Functions that no expression can name.
pub(in super::super) const MAP_INSERT: &str = "cel.@mapInsert";
pub(in super::super) const SORT_BY_KEYS: &str = "@sortByAssociatedKeys";

/// Expands all macros of an expression.
pub(super) fn expand(expression: &mut IdedExpr) {
    match &mut expression.expr {
        Expr::Call(call) => {
            call.target.iter_mut().for_each(|target| expand(target));
            call.args.iter_mut().for_each(expand);
            if let Some(expanded) = expanded(call) {
                *expression = expanded;
            }
        }
        Expr::Comprehension(comprehension) => {
            let parts = [
                &mut comprehension.iter_range,
                &mut comprehension.accu_init,
                &mut comprehension.loop_cond,
                &mut comprehension.loop_step,
                &mut comprehension.result,
            ];
            parts.into_iter().for_each(expand);
        }
        Expr::List(list) => list.elements.iter_mut().for_each(expand),
        Expr::Map(map) => {
            for entry in &mut map.entries {
                if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                    expand(&mut entry.key);
                    expand(&mut entry.value);
                }
            }
        }
        Expr::Select(select) => expand(&mut select.operand),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => {}
    }
}

/// The expansion of a call, if it is a macro.
fn expanded(call: &CallExpr) -> Option<IdedExpr> {
    let target = call.target.as_deref()?;
    let names: Vec<&str> = call.args.iter().map_while(name).collect();
    let name = call.func_name.as_str();
    match (name, names.as_slice(), call.args.as_slice()) {
        ("optMap" | "optFlatMap", [variable, ..], [_, body]) => {
            let value = method("value", target.clone(), []);
            let made = bind(variable, value, body.clone());
            let made = if name == "optMap" { function("optional.of", [made]) } else { made };
            Some(choice(method("hasValue", target.clone(), []), made, function("optional.none", [])))
        }
        ("sortBy", [variable, ..], [_, key]) => {
            let keys = Fold {
                range: ident(SORTED),
                variables: (variable, None),
                start: list([]),
                while_true: bool(true),
                step: function(operators::ADD, [ident(RESULT), list([key.clone()])]),
                result: ident(RESULT),
            };
            Some(bind(SORTED, target.clone(), method(SORT_BY_KEYS, ident(SORTED), [keys.expression()])))
        }
        (_, [first, second, ..], [_, _, rest @ ..]) if first != second => {
            let (start, while_true, step, result) = with_two_variables(name, first, rest)?;
            let variables = (*first, Some(*second));
            Some(Fold { range: target.clone(), variables, start, while_true, step, result }.expression())
        }
        _ => None,
    }
}

/// The initial value, the condition, the step and the result of a macro with two variables.
fn with_two_variables(
    name: &str,
    first: &str,
    rest: &[IdedExpr],
) -> Option<(IdedExpr, IdedExpr, IdedExpr, IdedExpr)> {
    let so_far = || ident(RESULT);
    let collected = |start, step: IdedExpr, filter: Option<&IdedExpr>| {
        let step = match filter {
            Some(filter) => choice(filter.clone(), step, so_far()),
            None => step,
        };
        (start, bool(true), step, so_far())
    };
    let one = || literal(LiteralValue::Int(1.into()));
    Some(match (name, rest) {
        ("all", [predicate]) => (
            bool(true),
            function(operators::NOT_STRICTLY_FALSE, [so_far()]),
            function(operators::LOGICAL_AND, [so_far(), predicate.clone()]),
            so_far(),
        ),
        ("exists", [predicate]) => (
            bool(false),
            function(operators::NOT_STRICTLY_FALSE, [function(operators::LOGICAL_NOT, [so_far()])]),
            function(operators::LOGICAL_OR, [so_far(), predicate.clone()]),
            so_far(),
        ),
        ("existsOne" | "exists_one", [predicate]) => (
            literal(LiteralValue::Int(0.into())),
            bool(true),
            choice(predicate.clone(), function(operators::ADD, [so_far(), one()]), so_far()),
            function(operators::EQUALS, [so_far(), one()]),
        ),
        ("transformList", [filter @ .., made]) if filter.len() <= 1 => {
            let step = function(operators::ADD, [so_far(), list([made.clone()])]);
            collected(list([]), step, filter.first())
        }
        ("transformMap", [filter @ .., made]) if filter.len() <= 1 => {
            let step = function(MAP_INSERT, [so_far(), ident(first), made.clone()]);
            collected(empty_map(), step, filter.first())
        }
        ("transformMapEntry", [filter @ .., made]) if filter.len() <= 1 => {
            collected(empty_map(), function(MAP_INSERT, [so_far(), made.clone()]), filter.first())
        }
        _ => return None,
    })
}

struct Fold<'n> {
    range: IdedExpr,
    variables: (&'n str, Option<&'n str>),
    start: IdedExpr,
    while_true: IdedExpr,
    step: IdedExpr,
    result: IdedExpr,
}

impl Fold<'_> {
    fn expression(self) -> IdedExpr {
        self.collecting(RESULT)
    }

    fn collecting(self, accumulator: &str) -> IdedExpr {
        node(Expr::Comprehension(Box::new(ComprehensionExpr {
            iter_range: self.range,
            iter_var: self.variables.0.to_owned(),
            iter_var2: self.variables.1.map(str::to_owned),
            accu_var: accumulator.to_owned(),
            accu_init: self.start,
            loop_cond: self.while_true,
            loop_step: self.step,
            result: self.result,
        })))
    }
}

/// Binds a variable in a body.
fn bind(variable: &str, value: IdedExpr, body: IdedExpr) -> IdedExpr {
    let fold = Fold {
        range: list([]),
        variables: ("#unused", None),
        start: value,
        while_true: bool(false),
        step: ident(variable),
        result: body,
    };
    fold.collecting(variable)
}

fn node(expr: Expr) -> IdedExpr {
    IdedExpr { id: 0, expr }
}

fn name(expression: &IdedExpr) -> Option<&str> {
    match &expression.expr {
        Expr::Ident(name) => Some(name),
        _ => None,
    }
}

fn ident(name: &str) -> IdedExpr {
    node(Expr::Ident(name.to_owned()))
}

fn literal(value: LiteralValue) -> IdedExpr {
    node(Expr::Literal(value))
}

fn bool(value: bool) -> IdedExpr {
    literal(LiteralValue::Boolean(value.into()))
}

fn list(elements: impl Into<Vec<IdedExpr>>) -> IdedExpr {
    node(Expr::List(ListExpr::new(elements.into())))
}

fn empty_map() -> IdedExpr {
    node(Expr::Map(MapExpr { entries: Vec::new() }))
}

pub(super) fn function(name: &str, args: impl Into<Vec<IdedExpr>>) -> IdedExpr {
    node(Expr::Call(CallExpr { func_name: name.to_owned(), target: None, args: args.into() }))
}

fn method(name: &str, target: IdedExpr, args: impl Into<Vec<IdedExpr>>) -> IdedExpr {
    node(Expr::Call(CallExpr {
        func_name: name.to_owned(),
        target: Some(Box::new(target)),
        args: args.into(),
    }))
}

fn choice(condition: IdedExpr, if_true: IdedExpr, if_false: IdedExpr) -> IdedExpr {
    function(operators::CONDITIONAL, [condition, if_true, if_false])
}
