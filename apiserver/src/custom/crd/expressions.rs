//! Undeclared fields and variables in rules. The types of expressions aren't checked further.

use kube_cel::cel::IdedExpr;
use kube_cel::cel::common::ast::{EntryExpr, Expr, operators};

use super::super::rules::{TYPES, ValidationRule, escape};
use super::super::schema::Schema;

/// The type of a value in a rule.
#[derive(Clone, Copy)]
enum Known<'s> {
    Unknown,
    Of {
        schema: &'s Schema,
        is_object: bool,
    },
    /// The metadata fields that rules can access.
    Metadata,
}

/// Namespaces of CEL types.
const NAMESPACES: [&str; 3] = ["google", "kubernetes", "net"];

/// The wrong member of a rule and cel-go's message: the expression can't be parsed, has an undeclared reference, or isn't
/// of the right type.
pub(super) fn check(
    schema: &Schema,
    is_object: bool,
    rule: &ValidationRule,
) -> Option<(&'static str, String)> {
    let root = Known::Of { schema, is_object };
    let result = match compile(root, &rule.rule, rule.expression()) {
        Ok(result) => result,
        Err(why) => return Some(("rule", format!("compilation failed: {why}"))),
    };
    let is_other = |schema: &Schema| !["", "boolean"].contains(&schema.type_name.as_str());
    if matches!(result, Known::Of { schema, .. } if is_other(schema)) {
        return Some(("rule", "cel expression must evaluate to a bool".to_owned()));
    }
    let message = compile(root, &rule.message_expression, rule.made_message_expression()?);
    let why = message.err()?;
    Some(("messageExpression", format!("messageExpression compilation failed: {why}")))
}

/// The type of an expression's result.
fn compile<'s>(
    root: Known<'s>,
    source: &str,
    expression: Result<&IdedExpr, &str>,
) -> Result<Known<'s>, String> {
    let expression = expression.map_err(|why| why.replace("\n| ", "\n | "))?;
    let mut walk = Walk { root, variables: Vec::new(), undefined: None };
    let result = walk.expression(expression);
    match walk.undefined {
        Some((what, sign)) => Err(located(source, &what, &sign)),
        None => Ok(result),
    }
}

struct Walk<'s> {
    root: Known<'s>,
    variables: Vec<(String, Known<'s>)>,
    /// The undeclared reference, and the text that locates it in the source.
    undefined: Option<(String, String)>,
}

impl<'s> Walk<'s> {
    fn expression(&mut self, expression: &IdedExpr) -> Known<'s> {
        match &expression.expr {
            Expr::Ident(name) => self.name(name),
            Expr::Select(select) => {
                let operand = self.expression(&select.operand);
                let selected = self.select(operand, &select.field);
                // `has(a.b)` is a bool, whatever `b` is.
                if select.test { Known::Unknown } else { selected }
            }
            Expr::Call(call) => {
                if let Some(target) = &call.target {
                    let is_namespace = matches!(&target.expr, Expr::Ident(name) if !self.is_known(name));
                    if !is_namespace {
                        self.expression(target);
                    }
                }
                let arguments: Vec<_> = call.args.iter().map(|argument| self.expression(argument)).collect();
                match (call.func_name.as_str(), arguments.first()) {
                    (operators::INDEX, Some(Known::Of { schema, .. })) => {
                        below(schema.items.as_deref().or(schema.values()))
                    }
                    _ => Known::Unknown,
                }
            }
            Expr::Comprehension(comprehension) => {
                let range = self.expression(&comprehension.iter_range);
                let start = self.expression(&comprehension.accu_init);
                let (item, value) = match range {
                    Known::Of { schema, .. } => {
                        (below(schema.items.as_deref()), below(schema.items.as_deref().or(schema.values())))
                    }
                    _ => (Known::Unknown, Known::Unknown),
                };
                let outer = self.variables.len();
                let first = if comprehension.iter_var2.is_some() { Known::Unknown } else { item };
                self.variables.push((comprehension.iter_var.clone(), first));
                self.variables.extend(comprehension.iter_var2.clone().map(|name| (name, value)));
                self.variables.push((comprehension.accu_var.clone(), start));
                for part in [&comprehension.loop_cond, &comprehension.loop_step, &comprehension.result] {
                    self.expression(part);
                }
                self.variables.truncate(outer);
                Known::Unknown
            }
            Expr::List(list) => {
                list.elements.iter().for_each(|element| {
                    self.expression(element);
                });
                Known::Unknown
            }
            Expr::Map(map) => {
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        self.expression(&entry.key);
                        self.expression(&entry.value);
                    }
                }
                Known::Unknown
            }
            Expr::Literal(_) | Expr::Struct(_) | Expr::Unspecified => Known::Unknown,
        }
    }

    fn is_known(&self, name: &str) -> bool {
        ["self", "oldSelf"].contains(&name) || self.variables.iter().any(|(known, _)| known == name)
    }

    fn name(&mut self, name: &str) -> Known<'s> {
        let variable = self.variables.iter().rev().find(|(known, _)| known == name);
        match variable {
            Some((_, known)) => *known,
            None if name == "self" => self.root,
            // Optional values have methods of their own.
            None if name == "oldSelf" || TYPES.contains(&name) || NAMESPACES.contains(&name) => {
                Known::Unknown
            }
            None => {
                let what = format!("undeclared reference to '{name}' (in container '')");
                self.undefined.get_or_insert_with(|| (what, name.to_owned()));
                Known::Unknown
            }
        }
    }

    fn select(&mut self, operand: Known<'s>, field: &str) -> Known<'s> {
        let found = match operand {
            Known::Unknown => return Known::Unknown,
            Known::Metadata => ["name", "generateName"].contains(&field).then_some(Known::Unknown),
            Known::Of { schema, .. } if schema.type_name != "object" => Some(Known::Unknown),
            Known::Of { is_object: true, .. } if ["apiVersion", "kind"].contains(&field) => {
                Some(Known::Unknown)
            }
            Known::Of { is_object: true, .. } if field == "metadata" => Some(Known::Metadata),
            Known::Of { schema, .. } if schema.values().is_some() => Some(below(schema.values())),
            Known::Of { schema, .. } => {
                let mut properties = schema.properties.iter();
                let property = properties.find(|(name, _)| escape(name).as_deref() == Some(field));
                property.map(|(_, property)| below(Some(property)))
            }
        };
        found.unwrap_or_else(|| {
            self.undefined.get_or_insert_with(|| (format!("undefined field '{field}'"), format!(".{field}")));
            Known::Unknown
        })
    }
}

fn below(schema: Option<&Schema>) -> Known<'_> {
    schema.map_or(Known::Unknown, |schema| Known::Of { schema, is_object: schema.embedded })
}

/// A message with its position in the source, as cel-go writes it.
fn located(source: &str, what: &str, sign: &str) -> String {
    let is_end = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_');
    let place = source.match_indices(sign).find(|(at, _)| is_end(&source[at + sign.len()..]));
    let at = place.map_or(0, |(at, _)| at);
    let before = &source[..at];
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    let line = source[line_start..].lines().next().unwrap_or_default();
    let column = source[line_start..at].chars().count();
    let number = before.matches('\n').count() + 1;
    format!("ERROR: <input>:{number}:{}: {what}\n | {line}\n | {}^", column + 1, ".".repeat(column))
}
