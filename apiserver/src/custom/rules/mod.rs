//! Validation rules in CEL, `x-kubernetes-validations`, as apiextensions-apiserver evaluates them. The language and its
//! Kubernetes functions are those of the crate `kube-cel`; what rules see of an object and what their failures say is
//! done here.

mod evaluate;
mod values;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{EntryExpr, Expr, operators};
use kube_cel::cel::parser::Parser;
use serde_json::Value as Json;

pub(super) use evaluate::{Past, TYPES, validate};
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

/// What `-a` becomes, a function that is no name in CEL.
const NEGATED: &str = "-a";

/// Writes what the crate fails at as something that means the same: `a.?b` as `a[?'b']`, since there may be no `b`, and `-a` as
/// a [function](NEGATED), since the crate panics at the smallest integer.
fn amend(expression: &mut IdedExpr) {
    match &mut expression.expr {
        Expr::Call(call) => {
            if call.func_name == operators::OPT_SELECT {
                operators::OPT_INDEX.clone_into(&mut call.func_name);
            } else if call.func_name == operators::NEGATE {
                NEGATED.clone_into(&mut call.func_name);
            }
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
