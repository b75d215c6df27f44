//! Leaves parts out of an edit, so that a failure is easier to read.

use serde_json::Value;

use super::{edit::escaped, fit::fit};

/// The specs before and after an edit. Without the first it is a creation.
pub type Pair = (Option<Value>, Value);

/// Something that may be left out of an edit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cut {
    place: String,
    side: Side,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Side {
    Both,
    Before,
    After,
}

/// The parts of an edit at this depth: fields and items of lists, of both sides or of one. The API server may require some of
/// them. Empty if nothing is so deep.
pub fn cuts((before, after): &Pair, depth: usize) -> Vec<Cut> {
    let mut places = Vec::new();
    for side in before.iter().chain([after]) {
        find(side, "", depth, &mut places);
    }
    places.sort();
    places.dedup();
    let sides: &[Side] =
        if before.is_some() { &[Side::Both, Side::Before, Side::After] } else { &[Side::Both] };
    let of = |side: Side| places.iter().map(move |place| Cut { place: place.clone(), side });
    sides.iter().copied().flat_map(of).collect()
}

/// An edit without these.
pub fn without<'a>((before, after): &Pair, cuts: impl IntoIterator<Item = &'a Cut>) -> Pair {
    let (mut before, mut after) = (before.clone(), after.clone());
    for Cut { place, side } in cuts {
        if let Some(before) = before.as_mut().filter(|_| *side != Side::After) {
            remove(before, place);
        }
        if *side != Side::Before {
            remove(&mut after, place);
        }
    }
    before.iter_mut().chain([&mut after]).for_each(fit);
    (before, after)
}

/// The places at a depth. An item of a list is named by its key, so that it has the same name on both sides.
fn find(value: &Value, place: &str, depth: usize, places: &mut Vec<String>) {
    let Some(deeper) = depth.checked_sub(1) else { return places.push(place.to_owned()) };
    let members: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(name, member)| (escaped(name), member)).collect(),
        Value::Array(items) => items.iter().map(|item| (token(item), item)).collect(),
        _ => return,
    };
    for (name, member) in members {
        find(member, &format!("{place}/{name}"), deeper, places);
    }
}

fn remove(value: &mut Value, place: &str) {
    let Some(rest) = place.strip_prefix('/') else { return };
    let (first, rest) = rest.find('/').map_or((rest, ""), |end| rest.split_at(end));
    match value {
        Value::Object(members) => {
            let name = first.replace("~1", "/").replace("~0", "~");
            match members.get_mut(&name) {
                Some(member) if !rest.is_empty() => remove(member, rest),
                _ => drop(members.remove(&name)),
            }
        }
        Value::Array(items) => {
            let Some(index) = items.iter().position(|item| token(item) == first) else { return };
            if rest.is_empty() { drop(items.remove(index)) } else { remove(&mut items[index], rest) }
        }
        _ => {}
    }
}

/// The name of an item in a path.
fn token(item: &Value) -> String {
    let keys = ["name", "mountPath", "devicePath", "containerPort", "ip", "topologyKey"];
    let key = keys.iter().find_map(|key| item.get(key));
    escaped(&key.unwrap_or(item).to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_cut_part_is_missing_on_both_sides_or_on_one() {
        let before = json!({"a": 1, "list": [{"name": "x", "v": 1}]});
        let after = json!({"a": 1, "list": [{"name": "y"}, {"name": "x", "v": 2}]});
        let pair = (Some(before), after);
        let without = |depth, number: usize| without(&pair, [&cuts(&pair, depth)[number]]);
        let x = json!({"name": "x", "v": 1});
        assert_eq!(without(1, 0), (Some(json!({"list": [x]})), json!({"list": pair.1["list"]})));
        assert_eq!(
            without(2, 0),
            (Some(json!({"a": 1, "list": []})), json!({"a": 1, "list": [{"name": "y"}]}))
        );
        assert_eq!(without(2, 2).1, pair.1, "of one side only");
        assert_eq!(cuts(&pair, 9), []);
    }
}
