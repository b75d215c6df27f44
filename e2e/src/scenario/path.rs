//! Values by the paths that conflicts are reported with: `.spec.containers[name="app"].image`, `.metadata.finalizers[="a/b"]`.

use baton_testbed::Json;

/// The value at a path, spelled as the API server spells it in a conflict. Names of members may contain dots: the longest name that
/// fits is used.
pub(super) fn at<'j>(json: &'j Json, path: &str) -> Option<&'j Json> {
    if path.is_empty() {
        return Some(json);
    }
    if let Some(rest) = path.strip_prefix('.') {
        let fits = |name: &str| {
            let rest = rest.strip_prefix(name)?;
            (rest.is_empty() || rest.starts_with(['.', '['])).then_some(rest)
        };
        let mut members: Vec<_> =
            json.members().iter().filter_map(|(name, value)| Some((name, value, fits(name)?))).collect();
        members.sort_by_key(|(name, ..)| std::cmp::Reverse(name.len()));
        return members.into_iter().find_map(|(_, value, rest)| at(value, rest));
    }
    let (element, rest) = element(path)?;
    let items = json.items();
    let item = match (element.strip_prefix('='), element.parse::<usize>()) {
        (Some(value), _) => items.iter().find(|item| is(item, value)),
        (None, Ok(index)) => items.get(index),
        (None, Err(_)) => items.iter().find(|item| has_keys(item, element)),
    };
    at(item?, rest)
}

/// The text in the brackets at the start of a path, and the text after them.
fn element(path: &str) -> Option<(&str, &str)> {
    let inner = path.strip_prefix('[')?;
    let mut quoted = false;
    let mut escaped = false;
    for (i, c) in inner.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = quoted,
            '"' => quoted = !quoted,
            ']' if !quoted => return Some((&inner[..i], &inner[i + 1..])),
            _ => {}
        }
    }
    None
}

/// Whether a value has this spelling.
fn is(value: &Json, spelled: &str) -> bool {
    spelled.parse().is_ok_and(|spelled: Json| spelled.same_value(value))
}

/// Whether an item has these keys, spelled `name="web",port=80`.
fn has_keys(item: &Json, keys: &str) -> bool {
    let Some((name, rest)) = keys.split_once('=') else { return false };
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Json>();
    let Some(Ok(value)) = values.next() else { return false };
    let rest = rest[values.byte_offset()..].trim_start_matches(',');
    item.get(name).is_some_and(|own| own.same_value(&value)) && (rest.is_empty() || has_keys(item, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str) -> String {
        let json: Json = r#"{"a.b":{"c":1},"a":{"b":2},"l":[{"name":"x","port":80,"v":3},{"name":"y]","v":4}],"s":["p","q"]}"#
            .parse()
            .unwrap();
        at(&json, path).map_or("nothing".to_owned(), Json::to_string)
    }

    #[test]
    fn a_value_is_found_by_names_keys_values_and_indexes() {
        for (path, value) in [
            (".a.b.c", "1"),
            (".a.b", r#"{"c":1}"#),
            (r#".l[name="x",port=80].v"#, "3"),
            (r#".l[name="y]"].v"#, "4"),
            (r#".s[="q"]"#, r#""q""#),
            (".s[0]", r#""p""#),
            (".l[1].name", r#""y]""#),
            (".a.c", "nothing"),
            (r#".l[name="x",port=81]"#, "nothing"),
            (".s[2]", "nothing"),
        ] {
            assert_eq!(found(path), value, "{path}");
        }
    }
}
