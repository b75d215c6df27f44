//! Edits single fields of a manifest.

use baton_merge::{Arena, fieldpath::PathElement, value::Value};
use serde_json::Value as Json;

/// Removes a field, and the maps and lists that had only this field. `None` if there is no such field.
pub(super) fn remove(object: &mut Json, path: &[PathElement<'_>]) -> Option<()> {
    let (first, rest) = path.split_first()?;
    let is_last = rest.is_empty();
    let is_empty = |value: &Json| match value {
        Json::Object(members) => members.is_empty(),
        Json::Array(items) => items.is_empty(),
        _ => false,
    };
    match object {
        Json::Object(members) => {
            let PathElement::Field(name) = first else { return None };
            let member = members.get_mut(*name)?;
            if !is_last {
                remove(member, rest)?;
            }
            if is_last || is_empty(member) {
                members.remove(*name);
            }
        }
        Json::Array(items) => {
            let index = position(items, first)?;
            if is_last {
                items.remove(index);
            } else {
                remove(&mut items[index], rest)?;
            }
        }
        _ => return None,
    }
    Some(())
}

/// Gives a field another value. `None` if there is no such field.
pub(super) fn replace(object: &mut Json, path: &[PathElement<'_>], value: Json) -> Option<()> {
    let Some((first, rest)) = path.split_first() else {
        *object = value;
        return Some(());
    };
    let below = match (object, first) {
        (Json::Object(members), PathElement::Field(name)) => members.get_mut(*name)?,
        (Json::Array(items), element) => {
            let index = position(items, element)?;
            items.get_mut(index)?
        }
        _ => return None,
    };
    replace(below, rest, value)
}

/// The index of the item that an element names.
fn position(items: &[Json], element: &PathElement<'_>) -> Option<usize> {
    let arena = Arena::new();
    let items: Result<Vec<_>, _> = items.iter().map(|item| Value::from_json(&arena, item)).collect();
    element.position(&items.ok()?)
}

#[cfg(test)]
mod tests {
    use baton_merge::fieldpath::PathElement::{Field, Key};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_goes_with_the_maps_that_had_only_it() {
        let mut object = json!({"spec": {"replicas": 3}, "kind": "A"});
        remove(&mut object, &[Field("spec"), Field("replicas")]).unwrap();
        assert_eq!(object, json!({"kind": "A"}));
        assert_eq!(remove(&mut object, &[Field("spec")]), None);
    }

    #[test]
    fn an_item_is_found_without_a_key_that_has_a_default() {
        let keys = [("port", Value::Int(80)), ("protocol", Value::String("TCP"))];
        let path = [Field("ports"), Key(&keys), Field("targetPort")];
        let mut object = json!({"ports": [{"port": 80, "protocol": "UDP"}, {"port": 80, "targetPort": 1}]});
        replace(&mut object, &path, json!(2)).unwrap();
        assert_eq!(object["ports"][1], json!({"port": 80, "targetPort": 2}));
        remove(&mut object, &path[..2]).unwrap();
        assert_eq!(object, json!({"ports": [{"port": 80, "protocol": "UDP"}]}));
    }
}
