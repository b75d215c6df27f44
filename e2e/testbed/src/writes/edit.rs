//! Places in bodies, found and reordered. Any JSON will do; nothing here knows a kind.

use crate::{Json, Random, prediction::edit::at_mut};

/// Where a value is: names of members, and indexes of items as text.
pub(super) type Place = Vec<String>;

/// All paths that are `wanted`. Items of lists count as members of the list's own name.
pub(super) fn places(json: &Json, wanted: &dyn Fn(&[&str], &Json) -> bool) -> Vec<Place> {
    let mut found = Vec::new();
    collect(json, &mut Vec::new(), wanted, &mut found);
    found
}

fn collect(json: &Json, at: &mut Place, wanted: &dyn Fn(&[&str], &Json) -> bool, found: &mut Vec<Place>) {
    let path: Vec<_> = at.iter().map(String::as_str).collect();
    if !at.is_empty() && wanted(&path, json) {
        found.push(at.clone());
    }
    let children: Vec<(String, &Json)> = match json {
        Json::Object(members) => members.iter().map(|(name, value)| (name.clone(), value)).collect(),
        Json::List(items) => items.iter().enumerate().map(|(i, value)| (i.to_string(), value)).collect(),
        _ => return,
    };
    for (name, child) in children {
        at.push(name);
        collect(child, at, wanted, found);
        at.pop();
    }
}

/// A JSON patch's spelling of a place.
pub(super) fn pointer(place: &[String]) -> String {
    let escaped = place.iter().map(|name| name.replace('~', "~0").replace('/', "~1"));
    escaped.flat_map(|name| ["/".to_owned(), name]).collect()
}

/// Puts the items of one list into another order, where there is a list of several.
pub(super) fn reorder(random: &mut Random, json: &mut Json) {
    let lists = places(json, &|_, value| value.items().len() > 1);
    if let Some(place) = random.choose(&lists)
        && let Some(Json::List(items)) = at_mut(json, place)
    {
        if random.one_in(2) { items.reverse() } else { random.shuffle(items) }
    }
}

#[cfg(test)]
mod tests {
    use crate::prediction::edit::remove;

    use super::*;

    #[test]
    fn a_place_can_be_found_and_emptied() {
        let mut value: Json = r#"{"a":[{"x~/y":1},2]}"#.parse().unwrap();
        let found = places(&value, &|_, value| matches!(value, Json::Number(_)));
        assert_eq!(found.iter().map(|place| pointer(place)).collect::<Vec<_>>(), ["/a/0/x~0~1y", "/a/1"]);
        remove(&mut value, &found[1]);
        remove(&mut value, &found[0]);
        assert_eq!(value, r#"{"a":[{}]}"#.parse().unwrap());
    }
}
