//! Structs as the server shows them in errors: those of its own types, whose fields have Go's names and Go's order, and
//! which show what isn't set.

use baton_merge::value::Value;

use super::selector::selector_json;
use crate::field::shown;

/// A field of such a struct: its name there, its name in the API, and what it holds.
pub(super) type GoField = (&'static str, &'static str, GoType);

/// What a field holds.
pub(super) enum GoType {
    /// A plain value, shown like this where it isn't set.
    Plain(&'static str),
    /// A struct that needn't be there.
    Pointer(&'static [GoField]),
    /// A label selector that needn't be there.
    Selector,
    /// A list of such structs.
    List(&'static [GoField]),
}

/// A struct of these fields as the server shows it.
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
