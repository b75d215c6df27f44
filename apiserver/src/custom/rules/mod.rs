//! Validation rules in CEL, `x-kubernetes-validations`, as apiextensions-apiserver evaluates them. The language and its
//! Kubernetes functions are those of the crate `kube-cel`; what rules see of an object and what their failures say is
//! done here.

mod evaluate;
mod functions;
mod values;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, LiteralValue, operators};
use kube_cel::cel::parser::Parser;
use serde_json::Value as Json;

pub(super) use evaluate::{Past, validate};
pub(super) use functions::TYPES;
pub(super) use values::escape;

/// A rule.
#[derive(Debug)]
pub(super) struct ValidationRule {
    pub(super) rule: String,
    pub(super) message: String,
    pub(super) message_expression: String,
    pub(super) reason: Option<String>,
    pub(super) field_path: String,
    pub(super) optional_old_self: Option<bool>,
    program: Result<Program, String>,
    message_program: Option<Result<Program, String>>,
}

/// A parsed expression.
#[derive(Debug)]
struct Program {
    expression: IdedExpr,
    uses_old_self: bool,
}

impl Program {
    fn parse(source: &str) -> Result<Self, String> {
        let parser = Parser::new().enable_optional_syntax(true);
        let mut expression = parser.parse(source).map_err(|why| why.to_string())?;
        amend(&mut expression);
        let uses_old_self = expression.references().has_variable("oldSelf");
        Ok(Self { expression, uses_old_self })
    }
}

/// Writes what the crates fail at as something that they can do: optional selections as indexes, quantifiers as calls again, and
/// some operators and arguments as calls of [functions] that no expression can name.
fn amend(expression: &mut IdedExpr) {
    match &mut expression.expr {
        Expr::Call(call) => {
            call.target.iter_mut().for_each(|target| amend(target));
            call.args.iter_mut().for_each(amend);
        }
        Expr::Comprehension(comprehension) => {
            let parts = [
                &mut comprehension.iter_range,
                &mut comprehension.accu_init,
                &mut comprehension.loop_cond,
                &mut comprehension.loop_step,
                &mut comprehension.result,
            ];
            parts.into_iter().for_each(amend);
        }
        Expr::List(list) => list.elements.iter_mut().for_each(amend),
        Expr::Map(map) => {
            for entry in &mut map.entries {
                if let EntryExpr::MapEntry(entry) = &mut entry.expr {
                    amend(&mut entry.key);
                    amend(&mut entry.value);
                }
            }
        }
        Expr::Select(select) => amend(&mut select.operand),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => {}
    }
    let amended = match std::mem::take(&mut expression.expr) {
        Expr::Call(call) => amended_call(call),
        Expr::Comprehension(comprehension) => quantifier(*comprehension),
        // What follows an optional value is optional, too.
        Expr::Select(select) if is_optional(&select.operand) => {
            let key = cel_text(&select.field);
            let index = call(operators::OPT_INDEX, [*select.operand, key]);
            if select.test { method("hasValue", index) } else { index.expr }
        }
        other => other,
    };
    expression.expr = amended;
}

fn amended_call(mut own: CallExpr) -> Expr {
    let is_of_format = |target: &IdedExpr| matches!(&target.expr, Expr::Ident(name) if name == "format");
    let arguments = own.args.len();
    match own.func_name.as_str() {
        // There may be no such field.
        operators::OPT_SELECT => operators::OPT_INDEX.clone_into(&mut own.func_name),
        // The crate panics at the smallest integer.
        operators::NEGATE => functions::NEGATED.clone_into(&mut own.func_name),
        // To the crate, no integer equals a double.
        operators::EQUALS => functions::EQUAL.clone_into(&mut own.func_name),
        operators::NOT_EQUALS => functions::UNEQUAL.clone_into(&mut own.func_name),
        "matches" | "find" | "findAll" if own.target.is_some() && arguments > 0 => {
            wrap(&mut own.args[0], functions::PATTERN);
        }
        "string" | "int" | "timestamp" if own.target.is_none() && arguments == 1 => {
            let converted = match own.func_name.as_str() {
                "string" => functions::TEXT,
                "int" => functions::SECONDS,
                _ => functions::TIME,
            };
            wrap(&mut own.args[0], converted);
        }
        "named" if own.target.as_deref().is_some_and(is_of_format) => {
            return call(functions::OPTIONAL, [IdedExpr { id: 0, expr: Expr::Call(own) }]).expr;
        }
        _ => {}
    }
    Expr::Call(own)
}

/// `all` or `exists` as the call that was written, so that [a function](functions::all) can pass over errors as cel-go does.
fn quantifier(mut comprehension: ComprehensionExpr) -> Expr {
    if let Expr::Call(step) = &mut comprehension.loop_step.expr {
        let name = match step.func_name.as_str() {
            operators::LOGICAL_AND => Some("all"),
            operators::LOGICAL_OR => Some("exists"),
            _ => None,
        };
        // A step of another macro keeps all its arguments.
        if let Some(name) = name
            && let Some(predicate) = step.args.pop()
        {
            let variable = IdedExpr { id: 0, expr: Expr::Ident(comprehension.iter_var) };
            return Expr::Call(CallExpr {
                func_name: name.to_owned(),
                target: Some(Box::new(comprehension.iter_range)),
                args: vec![variable, predicate],
            });
        }
    }
    Expr::Comprehension(Box::new(comprehension))
}

/// Whether a value is surely an optional one.
fn is_optional(expression: &IdedExpr) -> bool {
    match &expression.expr {
        Expr::Call(call) if call.func_name == operators::OPT_INDEX => true,
        Expr::Call(call) if call.func_name == operators::INDEX => call.args.first().is_some_and(is_optional),
        _ => false,
    }
}

fn call(name: &str, args: impl Into<Vec<IdedExpr>>) -> IdedExpr {
    let call = CallExpr { func_name: name.to_owned(), target: None, args: args.into() };
    IdedExpr { id: 0, expr: Expr::Call(call) }
}

fn method(name: &str, target: IdedExpr) -> Expr {
    Expr::Call(CallExpr { func_name: name.to_owned(), target: Some(Box::new(target)), args: Vec::new() })
}

fn wrap(expression: &mut IdedExpr, function: &str) {
    let inner = std::mem::take(expression);
    *expression = call(function, [inner]);
}

fn cel_text(text: &str) -> IdedExpr {
    IdedExpr { id: 0, expr: Expr::Literal(LiteralValue::String(text.into())) }
}

/// A call that declares a name for its last argument: what the name's values are taken from, the name, and that argument.
pub(super) fn binding(call: &CallExpr) -> Option<(&IdedExpr, &str, &IdedExpr)> {
    let is_macro = ["all", "exists", "optMap", "optFlatMap"].contains(&call.func_name.as_str());
    match (call.target.as_deref(), call.args.as_slice()) {
        (Some(range), [IdedExpr { expr: Expr::Ident(name), .. }, body]) if is_macro => {
            Some((range, name, body))
        }
        _ => None,
    }
}

impl ValidationRule {
    /// Reads a rule.
    pub(super) fn read(json: &Json) -> Self {
        let text = |name| json[name].as_str().unwrap_or_default().to_owned();
        let (rule, message_expression) = (text("rule"), text("messageExpression"));
        Self {
            program: Program::parse(&rule),
            message_program: (!message_expression.is_empty()).then(|| Program::parse(&message_expression)),
            message: text("message"),
            reason: json["reason"].as_str().map(str::to_owned),
            field_path: text("fieldPath"),
            optional_old_self: json["optionalOldSelf"].as_bool(),
            rule,
            message_expression,
        }
    }

    /// The rule, parsed.
    ///
    /// # Errors
    /// Why it can't be parsed.
    pub(super) fn expression(&self) -> Result<&IdedExpr, &str> {
        self.program.as_ref().map(|program| &program.expression).map_err(String::as_str)
    }

    /// The expression of the message, parsed, where there is one.
    ///
    /// # Errors
    /// Why it can't be parsed.
    pub(super) fn made_message_expression(&self) -> Option<Result<&IdedExpr, &str>> {
        let program = self.message_program.as_ref()?.as_ref();
        Some(program.map(|program| &program.expression).map_err(String::as_str))
    }

    /// Whether the rule compares with the old value.
    pub(super) fn uses_old_self(&self) -> bool {
        self.program.as_ref().is_ok_and(|program| program.uses_old_self)
    }

    /// The rule by its message, or else by its text.
    fn shown(&self) -> &str {
        if self.message.is_empty() { self.rule.trim() } else { self.message.trim() }
    }

    /// What is said when the rule fails.
    fn detail(&self) -> String {
        if self.message.is_empty() {
            format!("failed rule: {}", self.shown())
        } else {
            self.shown().to_owned()
        }
    }

    /// The field that a failure names, below the rule's own place. Paths are checked when a definition is.
    fn below(&self) -> Option<String> {
        let path = self.field_path.trim();
        let path = path.replace("['", "[").replace("']", "]").replace("\\'", "'");
        let path = path.strip_prefix('.').unwrap_or(&path);
        (!path.is_empty()).then(|| path.to_owned())
    }
}
