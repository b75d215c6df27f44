//! Validation rules in CEL, `x-kubernetes-validations`, after apiextensions-apiserver. The crates `cel` and `kube-cel`
//! parse and have most functions; evaluation, costs, access to objects and messages are here.

mod costs;
mod evaluate;
mod functions;
mod interpret;
mod macros;
mod times;
mod unordered;
mod values;

use kube_cel::cel::IdedExpr;
use kube_cel::cel::parser::Parser;
use serde_json::Value as Json;

pub(super) use costs::{NEW_LIST, NEW_MAP, PER_PATTERN, PER_TEXT, SELECTION, scaled};
pub(super) use evaluate::{Past, validate};
pub(super) use functions::TYPES;
pub(super) use macros::{MAP_INSERT, SORT_BY_KEYS};
pub(super) use values::escape;

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
        macros::expand(&mut expression);
        let uses_old_self = expression.references().has_variable("oldSelf");
        Ok(Self { expression, uses_old_self })
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
    /// The parser's message.
    pub(super) fn expression(&self) -> Result<&IdedExpr, &str> {
        self.program.as_ref().map(|program| &program.expression).map_err(String::as_str)
    }

    /// The parsed `messageExpression`, if there is one.
    ///
    /// # Errors
    /// The parser's message.
    pub(super) fn made_message_expression(&self) -> Option<Result<&IdedExpr, &str>> {
        let program = self.message_program.as_ref()?.as_ref();
        Some(program.map(|program| &program.expression).map_err(String::as_str))
    }

    /// Whether the rule uses `oldSelf`.
    pub(super) fn uses_old_self(&self) -> bool {
        self.program.as_ref().is_ok_and(|program| program.uses_old_self)
    }

    /// The message of the rule or, without one, its text.
    fn shown(&self) -> &str {
        if self.message.is_empty() { self.rule.trim() } else { self.message.trim() }
    }

    /// The detail of a failure.
    fn detail(&self) -> String {
        if self.message.is_empty() {
            format!("failed rule: {}", self.shown())
        } else {
            self.shown().to_owned()
        }
    }

    /// The `fieldPath` of a failure, below the rule's own path. It was validated with the CRD.
    fn below(&self) -> Option<String> {
        let path = self.field_path.trim();
        let path = path.replace("['", "[").replace("']", "]").replace("\\'", "'");
        let path = path.strip_prefix('.').unwrap_or(&path);
        (!path.is_empty()).then(|| path.to_owned())
    }
}
