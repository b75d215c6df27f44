//! Label selectors, after `k8s.io/apimachinery/pkg/labels`.

use std::fmt::{self, Write};

use baton_merge::value::{Map, Value};

use super::lexer::{Lexer, Token};
use super::{SelectorError, quoted};
use crate::field::{FieldError, FieldPath};
use crate::kinds::format;

/// A label selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LabelSelector {
    /// The requirements, sorted by key. None for the selector that matches nothing.
    requirements: Option<Vec<Requirement>>,
}

/// A requirement of one label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Requirement {
    key: String,
    operator: Operator,
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Exists,
    DoesNotExist,
    In,
    NotIn,
    Equals,
    DoubleEquals,
    NotEquals,
    GreaterThan,
    LessThan,
}

impl LabelSelector {
    /// Parses a selector of a query: `a=b,c!=d,e in (x,y),!f,g`.
    pub(crate) fn parse(selector: &str) -> Result<Self, SelectorError> {
        let mut lexer = Lexer::new(selector);
        let mut requirements = Vec::new();
        loop {
            match lexer.peek() {
                Token::End => break,
                Token::Word(_) | Token::Symbol("!") => {}
                token @ Token::Symbol(_) => {
                    return Err(expected(token, ", expected: !, identifier, or 'end of string'"));
                }
            }
            let requirement = parse_requirement(&mut lexer)
                .map_err(|error| SelectorError(format!("unable to parse requirement: {error}")))?;
            requirements.push(requirement);
            match (lexer.take(), lexer.peek()) {
                (Token::End, _) => break,
                (Token::Symbol(","), Token::Word(_) | Token::Symbol("!")) => {}
                (Token::Symbol(","), token) => {
                    return Err(expected(token, ", expected: identifier after ','"));
                }
                (token, _) => return Err(expected(token, ", expected: ',' or 'end of string'")),
            }
        }
        Ok(Self::of(requirements))
    }

    /// The selector of a `LabelSelector`: nothing if absent, everything if empty.
    pub(crate) fn from_object(selector: Option<Value<'_>>) -> Result<Self, SelectorError> {
        let Some(selector) = selector.filter(|selector| !selector.is_null()) else {
            return Ok(Self { requirements: None });
        };
        let labels = selector.get("matchLabels").and_then(|labels| labels.as_map()).unwrap_or_default();
        let mut requirements = Vec::new();
        for (key, value) in labels.members() {
            let values = vec![value.as_str().unwrap_or_default().to_owned()];
            requirements.push(Requirement::new(key, Operator::Equals, values)?);
        }
        let expressions =
            selector.get("matchExpressions").and_then(|list| list.as_list()).unwrap_or_default();
        for expression in expressions {
            let text = |name| expression.get(name).and_then(|value| value.as_str()).unwrap_or_default();
            let operator = match text("operator") {
                "In" => Operator::In,
                "NotIn" => Operator::NotIn,
                "Exists" => Operator::Exists,
                "DoesNotExist" => Operator::DoesNotExist,
                other => {
                    let message = format!("{} is not a valid label selector operator", quoted(other));
                    return Err(SelectorError(message));
                }
            };
            let values = expression.get("values").and_then(|values| values.as_list()).unwrap_or_default();
            let values = values.iter().map(|value| value.as_str().unwrap_or_default().to_owned()).collect();
            requirements.push(Requirement::new(text("key"), operator, values)?);
        }
        Ok(Self::of(requirements))
    }

    fn of(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|one, other| one.key.cmp(&other.key));
        Self { requirements: Some(requirements) }
    }

    /// Whether it matches these labels.
    pub(crate) fn matches(&self, labels: Option<Map<'_>>) -> bool {
        let labels = labels.unwrap_or_default();
        let Some(requirements) = &self.requirements else { return false };
        requirements.iter().all(|requirement| {
            requirement.matches(labels.get(&requirement.key).map(|label| label.as_str().unwrap_or_default()))
        })
    }

    /// Whether it matches everything.
    pub(crate) fn is_everything(&self) -> bool {
        self.requirements.as_ref().is_some_and(Vec::is_empty)
    }
}

impl Requirement {
    fn new(key: &str, operator: Operator, values: Vec<String>) -> Result<Self, SelectorError> {
        let mut errors = Vec::new();
        let root = FieldPath::default();
        let values_path = root.child("values");
        if let Some(detail) = details(&format::qualified_name(key)) {
            errors.push(FieldError::invalid_text(&root.child("key"), key, &detail));
        }
        if let Some(detail) = operator.wrong_count(values.len()) {
            let shown: Vec<_> = values.iter().map(|value| Value::String(value)).collect();
            errors.push(FieldError::invalid(&values_path, Value::List(&shown), detail));
        }
        for (position, value) in values.iter().enumerate() {
            let path = values_path.index(position);
            let is_ordered = matches!(operator, Operator::GreaterThan | Operator::LessThan);
            if is_ordered && value.parse::<i64>().is_err() {
                let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
                errors.push(FieldError::invalid_text(&path, value, detail));
            }
            if let Some(detail) = details(&format::label_value(value)) {
                errors.push(FieldError::invalid_text(&path.key(key), value, &detail));
            }
        }
        match errors.as_slice() {
            [] => Ok(Self { key: key.to_owned(), operator, values }),
            [error] => Err(SelectorError(error.to_string())),
            errors => {
                let mut texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
                texts.dedup();
                Err(SelectorError(format!("[{}]", texts.join(", "))))
            }
        }
    }

    fn matches(&self, label: Option<&str>) -> bool {
        let has = |label: &str| self.values.iter().any(|value| value == label);
        match (self.operator, label) {
            (Operator::Exists, label) => label.is_some(),
            (Operator::DoesNotExist, label) => label.is_none(),
            (Operator::NotIn | Operator::NotEquals, label) => !label.is_some_and(has),
            (_, None) => false,
            (Operator::In | Operator::Equals | Operator::DoubleEquals, Some(label)) => has(label),
            (operator @ (Operator::GreaterThan | Operator::LessThan), Some(label)) => {
                let limit = self.values.first().and_then(|value| value.parse::<i64>().ok());
                match (label.parse::<i64>(), limit) {
                    (Ok(label), Some(limit)) if operator == Operator::GreaterThan => label > limit,
                    (Ok(label), Some(limit)) => label < limit,
                    _ => false,
                }
            }
        }
    }
}

impl Operator {
    /// The error for a wrong count of values.
    fn wrong_count(self, count: usize) -> Option<&'static str> {
        match self {
            Self::In | Self::NotIn => {
                (count == 0).then_some("for 'in', 'notin' operators, values set can't be empty")
            }
            Self::Equals | Self::DoubleEquals | Self::NotEquals => {
                (count != 1).then_some("exact-match compatibility requires one single value")
            }
            Self::Exists | Self::DoesNotExist => {
                (count != 0).then_some("values set must be empty for exists and does not exist")
            }
            Self::GreaterThan | Self::LessThan => {
                (count != 1).then_some("for 'Gt', 'Lt' operators, exactly one value is required")
            }
        }
    }
}

/// As in a query, with sorted values.
impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, requirement) in self.requirements.iter().flatten().enumerate() {
            if position > 0 {
                f.write_char(',')?;
            }
            requirement.fmt(f)?;
        }
        Ok(())
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        let mut values: Vec<_> = self.values.iter().map(String::as_str).collect();
        values.sort_unstable();
        let values = values.join(",");
        match self.operator {
            Operator::Exists => write!(f, "{key}"),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::DoubleEquals => write!(f, "{key}=={values}"),
            Operator::NotEquals => write!(f, "{key}!={values}"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
        }
    }
}

/// Labels, or a selector that is a plain map, as tables print them.
pub(crate) fn format_labels(labels: Option<Map<'_>>) -> String {
    let pairs: Vec<_> = labels
        .unwrap_or_default()
        .members()
        .iter()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    if pairs.is_empty() { "<none>".to_owned() } else { pairs.join(",") }
}

fn parse_requirement(lexer: &mut Lexer<'_>) -> Result<Requirement, SelectorError> {
    let is_negated = lexer.peek() == Token::Symbol("!");
    if is_negated {
        lexer.take();
    }
    let key = match lexer.take() {
        Token::Word(key) => key,
        token => return Err(expected(token, ", expected: identifier")),
    };
    if let Some(detail) = details(&format::qualified_name(key)) {
        let error = FieldError::invalid_text(&FieldPath::default(), key, &detail);
        return Err(SelectorError(error.to_string()));
    }
    if is_negated {
        return Requirement::new(key, Operator::DoesNotExist, Vec::new());
    }
    if matches!(lexer.peek(), Token::End | Token::Symbol(",")) {
        return Requirement::new(key, Operator::Exists, Vec::new());
    }
    let operator = match lexer.take() {
        Token::Word("in") => Operator::In,
        Token::Word("notin") => Operator::NotIn,
        Token::Symbol("=") => Operator::Equals,
        Token::Symbol("==") => Operator::DoubleEquals,
        Token::Symbol("!=") => Operator::NotEquals,
        Token::Symbol(">") => Operator::GreaterThan,
        Token::Symbol("<") => Operator::LessThan,
        token => return Err(expected(token, ", expected: in, notin, =, ==, !=, gt, lt")),
    };
    let values = match operator {
        Operator::In | Operator::NotIn => parse_values(lexer)?,
        _ => vec![parse_exact_value(lexer)?.to_owned()],
    };
    Requirement::new(key, operator, values)
}

/// The value of a comparison, possibly empty.
fn parse_exact_value<'t>(lexer: &mut Lexer<'t>) -> Result<&'t str, SelectorError> {
    if matches!(lexer.peek(), Token::End | Token::Symbol(",")) {
        return Ok("");
    }
    match lexer.take() {
        Token::Word(value) => Ok(value),
        token => Err(expected(token, ", expected: identifier")),
    }
}

/// The values in parentheses, sorted and without duplicates. Nothing between two commas is the empty value.
fn parse_values(lexer: &mut Lexer<'_>) -> Result<Vec<String>, SelectorError> {
    match lexer.take() {
        Token::Symbol("(") => {}
        token => return Err(expected(token, " expected: '('")),
    }
    match lexer.peek() {
        Token::Word(_) | Token::Symbol("," | ")") => {}
        token => return Err(expected(token, ", expected: ',', ')' or identifier")),
    }
    let mut values = Vec::new();
    loop {
        // An empty value is before a comma or the end.
        let value = match lexer.peek() {
            Token::Word(value) => {
                lexer.take();
                value
            }
            Token::Symbol("," | ")") => "",
            token => return Err(expected(token, ", expected: ',', or identifier")),
        };
        values.push(value.to_owned());
        match lexer.peek() {
            Token::Symbol(",") => {
                lexer.take();
            }
            Token::Symbol(")") => {
                lexer.take();
                break;
            }
            token => return Err(expected(token, ", expected: ',' or ')'")),
        }
    }
    values.sort_unstable();
    values.dedup();
    Ok(values)
}

fn expected(found: Token<'_>, what: &str) -> SelectorError {
    SelectorError(format!("found '{}'{what}", found.text()))
}

fn details(errors: &[String]) -> Option<String> {
    (!errors.is_empty()).then(|| errors.join("; "))
}
