//! Changes to bodies: laid over each other, patched, thinned out. Any JSON will do; nothing here knows a kind.

use crate::Json;

/// `over` laid over `base`: maps are merged, everything else is replaced, and null removes.
pub fn overlaid(base: &Json, over: &Json) -> Json {
    let (Json::Object(_), Json::Object(members)) = (base, over) else { return over.clone() };
    let mut merged = base.clone();
    for (name, value) in members {
        match (base.get(name), value) {
            (_, Json::Null) => drop(merged.take(name)),
            (Some(old), _) => merged.set(name, overlaid(old, value)),
            (None, _) => merged.set(name, value.clone()),
        }
    }
    merged
}

/// The value at a place: names of members, and indexes of items as text.
pub fn at_mut<'j>(json: &'j mut Json, place: &[String]) -> Option<&'j mut Json> {
    place.iter().try_fold(json, |json, name| match json {
        Json::List(items) => items.get_mut(name.parse::<usize>().ok()?),
        other => other.get_mut(name),
    })
}

/// Takes the value at a place out.
pub fn remove(json: &mut Json, place: &[String]) {
    let Some((name, parent)) = place.split_last() else { return };
    match at_mut(json, parent) {
        Some(Json::List(items)) => {
            if let Some(index) = name.parse().ok().filter(|index| *index < items.len()) {
                items.remove(index);
            }
        }
        Some(object) => drop(object.take(name)),
        None => {}
    }
}

/// Performs one operation of a JSON patch: an addition, a replacement or a removal. A test changes nothing.
pub fn perform(json: &mut Json, operation: &Json) {
    let path = operation.get("path").and_then(Json::as_str).unwrap_or_default();
    let place: Vec<_> =
        path.split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~")).collect();
    if operation.get("op").and_then(Json::as_str) == Some("test") {
        return;
    }
    match (operation.get("value"), place.split_last()) {
        (None, _) => remove(json, &place),
        (Some(value), Some((name, parent))) => match at_mut(json, parent) {
            Some(Json::List(items)) => {
                let adds = operation.get("op").and_then(Json::as_str) == Some("add");
                match name.parse::<usize>().ok() {
                    Some(index) if adds && index <= items.len() => items.insert(index, value.clone()),
                    Some(index) if index < items.len() => items[index] = value.clone(),
                    None if adds && name == "-" => items.push(value.clone()),
                    _ => {}
                }
            }
            Some(object) => object.set(name, value.clone()),
            None => {}
        },
        (Some(value), None) => *json = value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        text.parse().unwrap()
    }

    #[test]
    fn what_is_laid_over_replaces_lists_and_removes_by_null() {
        let base = json(r#"{"a":{"b":1,"c":[1,2]},"d":1}"#);
        let over = json(r#"{"a":{"b":null,"c":[3]},"e":{}}"#);
        assert_eq!(overlaid(&base, &over), json(r#"{"a":{"c":[3]},"d":1,"e":{}}"#));
    }

    #[test]
    fn an_operation_inserts_replaces_or_removes_an_item() {
        let performed = |operation: &str| {
            let mut value = json(r#"{"a":[1,2]}"#);
            perform(&mut value, &json(operation));
            value.to_string()
        };
        assert_eq!(performed(r#"{"op":"add","path":"/a/1","value":3}"#), r#"{"a":[1,3,2]}"#);
        assert_eq!(performed(r#"{"op":"add","path":"/a/-","value":3}"#), r#"{"a":[1,2,3]}"#);
        assert_eq!(performed(r#"{"op":"replace","path":"/a/1","value":3}"#), r#"{"a":[1,3]}"#);
        assert_eq!(performed(r#"{"op":"remove","path":"/a/0"}"#), r#"{"a":[2]}"#);
    }
}
