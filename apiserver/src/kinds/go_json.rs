//! Go structs as errors show them: with Go's names, in Go's order, and with unset fields.

use baton_merge::value::Value;

use super::selector::selector_json;
use crate::field::shown;

/// A field of a Go struct: its name in Go, its name in the API, and its type.
pub(super) type GoField = (&'static str, &'static str, GoType);

/// The type of a field.
pub(super) enum GoType {
    /// A scalar, with the text of its zero value.
    Plain(&'static str),
    /// A pointer to a struct.
    Pointer(&'static [GoField]),
    /// A pointer to a label selector.
    Selector,
    /// A slice of structs.
    List(&'static [GoField]),
}

/// A value as the Go struct with these fields.
pub(super) fn go_json(value: Option<Value<'_>>, fields: &[GoField]) -> String {
    let members: Vec<_> = fields
        .iter()
        .map(|(go_name, name, go_type)| {
            let member = value.and_then(|value| value.get(name));
            let text = match (go_type, member) {
                (GoType::Plain(zero), None) => (*zero).to_owned(),
                (GoType::Plain(_), Some(member)) => shown(member),
                (GoType::Pointer(_) | GoType::List(_), None) => "null".to_owned(),
                (GoType::Pointer(fields), member) => go_json(member, fields),
                (GoType::Selector, member) => selector_json(member),
                (GoType::List(fields), Some(list)) => {
                    let items = list.as_list().unwrap_or_default().iter();
                    let items: Vec<_> = items.map(|item| go_json(Some(*item), fields)).collect();
                    format!("[{}]", items.join(","))
                }
            };
            format!("\"{go_name}\":{text}")
        })
        .collect();
    format!("{{{}}}", members.join(","))
}
