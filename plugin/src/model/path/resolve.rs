//! Finds the field of a path in an object.

use std::collections::BTreeSet;

use baton_merge::{
    Arena,
    fieldpath::{Branch, FieldSet, KeyField, Path, PathElement},
    value::Value,
};

use super::{FieldQuery, PathError, Segment, parse::plain};
use crate::text::most_similar;

/// How similar a path has to be to be suggested: 1 is the same.
const SIMILAR: f64 = 0.6;

/// The path of a field in an object, of which `owned` are the fields that any manager owns.
///
/// Items of a list are named as managers own them: `containers[0]` becomes `containers[name="web"]`.
pub(crate) fn resolve<'a>(
    query: &FieldQuery,
    arena: &'a Arena,
    object: Value<'a>,
    owned: FieldSet<'a>,
) -> Result<Path<'a>, PathError> {
    let mut here = Here { value: Some(object), owned };
    let (mut elements, mut segments) = (Vec::new(), &query.segments[..]);
    while let Some((segment, rest)) = segments.split_first() {
        let found = match segment {
            Segment::Name(_) => here.longest_name(arena, segments),
            Segment::WholeName(name) => here.name(name, arena).map(|element| (element, rest)),
            Segment::Index(index) => here.at(arena, *index).map(|element| (element, rest)),
            Segment::Value(text) => here.item(text).map(|element| (element, rest)),
            Segment::Keys(keys) => match here.with_keys(arena, keys)[..] {
                [] => None,
                [element] => Some((element, rest)),
                ref several => {
                    let path = Path::new(&elements).to_string();
                    let paths = several.iter().map(|element| format!("{path}{element}")).collect();
                    return Err(PathError::Ambiguous { path: query.text.clone(), paths });
                }
            },
        };
        let Some((element, rest)) = found else {
            return Err(no_such_field(query, arena, object, owned));
        };
        here = here.below(&element);
        elements.push(element);
        segments = rest;
    }
    Ok(Path::new(arena.list(elements)))
}

/// A place in an object, with the fields below it that managers own.
#[derive(Clone, Copy)]
struct Here<'a> {
    value: Option<Value<'a>>,
    owned: FieldSet<'a>,
}

impl<'a> Here<'a> {
    fn below(self, element: &PathElement<'a>) -> Self {
        Self { value: self.part(element), owned: self.owned.below(element) }
    }

    fn part(self, element: &PathElement<'a>) -> Option<Value<'a>> {
        if let PathElement::Field(name) = element {
            return self.value?.get(name);
        }
        let names = self.names();
        let is_it = |item: &Value<'a>| match (element, self.name_among(*item, &names)) {
            (_, Some(name)) => name == *element,
            (PathElement::Key(_), None) => name_among(*item, &[], &[*element]).is_some(),
            _ => true,
        };
        let exact = Path::new(std::slice::from_ref(element));
        let exact = self.value.and_then(|value| exact.find(value)).filter(is_it);
        let searched = || match element {
            PathElement::Key(_) => self.items().iter().copied().find(is_it),
            _ => None,
        };
        exact.or_else(searched)
    }

    /// The member with this name that the object has or a manager owns.
    fn name(self, name: &str, arena: &'a Arena) -> Option<PathElement<'a>> {
        let is_there = self.value.and_then(|value| value.get(name)).is_some();
        let is_owned = || self.owned.branches().any(|branch| branch.element == PathElement::Field(name));
        (is_there || is_owned()).then(|| PathElement::Field(arena.copy_text(name)))
    }

    /// The member whose name is made of the most of these segments, with dots between them.
    fn longest_name<'s>(
        self,
        arena: &'a Arena,
        segments: &'s [Segment],
    ) -> Option<(PathElement<'a>, &'s [Segment])> {
        let names = segments.iter().map_while(|segment| match segment {
            Segment::Name(name) => Some(name.as_str()),
            _ => None,
        });
        let names: Vec<_> = names.collect();
        (1..=names.len()).rev().find_map(|count| {
            let element = self.name(&names[..count].join("."), arena)?;
            Some((element, &segments[count..]))
        })
    }

    /// The elements that managers own below this place.
    fn names(self) -> Vec<PathElement<'a>> {
        self.owned.branches().map(|branch| branch.element).collect()
    }

    fn items(self) -> &'a [Value<'a>] {
        self.value.and_then(|value| value.as_list()).unwrap_or_default()
    }

    /// The item at a position, as managers name it.
    fn at(self, arena: &'a Arena, index: usize) -> Option<PathElement<'a>> {
        let (item, names) = (*self.items().get(index)?, self.names());
        let name = self.name_among(item, &names).or_else(|| name_beside(arena, item, &names));
        name.or_else(|| Some(PathElement::Index(index.try_into().ok()?)))
    }

    fn name_among(self, item: Value<'_>, names: &[PathElement<'a>]) -> Option<PathElement<'a>> {
        name_among(item, self.items(), names)
    }

    fn item(self, text: &str) -> Option<PathElement<'a>> {
        let is_it = |value: &Value<'_>| plain(*value) == text;
        let owned = self.owned.branches().map(|Branch { element, .. }| element);
        let owned = owned.filter(|element| matches!(element, PathElement::Value(value) if is_it(value)));
        let there = self.items().iter().filter(|item| is_it(item)).map(|item| PathElement::Value(*item));
        owned.chain(there).next()
    }

    /// The items that have these keys: those that managers own by their keys, and those of the object.
    fn with_keys(self, arena: &'a Arena, keys: &[(String, String)]) -> Vec<PathElement<'a>> {
        let has = |own: Option<Value<'_>>, text: &str| own.is_some_and(|own| plain(own) == *text);
        let owned = self.owned.branches().map(|Branch { element, .. }| element);
        let owned = owned.filter(|element| match element {
            PathElement::Key(own) => keys.iter().all(|(name, text)| {
                let value = own.iter().find(|(own, _)| own == name).map(|(_, value)| *value);
                // On a command line, an item may be named by a field that isn't a key.
                has(value, text) || (value.is_none() && has(self.value_at(element, name), text))
            }),
            _ => false,
        });
        let (mut found, names) = (owned.collect::<Vec<_>>(), self.names());
        let unowned = self.items().iter().filter(|item| {
            keys.iter().all(|(name, text)| has(item.get(name), text))
                && self.name_among(**item, &names).is_none()
        });
        found.extend(unowned.map(|item| {
            name_beside(arena, *item, &names).unwrap_or_else(|| {
                let keys = keys.iter().filter_map(|(name, _)| Some((arena.copy_text(name), item.get(name)?)));
                let mut keys: Vec<KeyField<'a>> = keys.collect();
                keys.sort_by_key(|(name, _)| *name);
                PathElement::Key(arena.list(keys))
            })
        }));
        // Other items may have these keys and another one: then they are the whole name of the item that leaves it out.
        let is_whole = |element: &&PathElement<'a>| match element {
            PathElement::Key(own) => {
                own.len() == keys.len() && own.iter().all(|(own, _)| keys.iter().any(|(name, _)| own == name))
            }
            _ => false,
        };
        match found.iter().filter(is_whole).collect::<Vec<_>>()[..] {
            [whole] => vec![*whole],
            _ => found,
        }
    }

    fn value_at(self, element: &PathElement<'a>, name: &str) -> Option<Value<'a>> {
        self.below(element).value?.get(name)
    }
}

/// The name of an item of a list among those that managers own: the one with the most keys. An item may leave out a key that has a
/// default, unless another item has all keys of the name.
pub(crate) fn name_among<'a>(
    item: Value<'_>,
    items: &[Value<'_>],
    names: &[PathElement<'a>],
) -> Option<PathElement<'a>> {
    let is_named = |item: Value<'_>, element: &PathElement<'a>, is_exact: bool| match element {
        PathElement::Key(keys) => {
            let has = |(name, key): &KeyField<'a>| item.get(name).map_or(!is_exact, |own| own == *key);
            keys.iter().all(has) && keys.iter().any(|(name, _)| item.get(name).is_some())
        }
        PathElement::Value(value) => item == *value,
        _ => false,
    };
    let length = |element: &&PathElement<'a>| match element {
        PathElement::Key(keys) => keys.len(),
        _ => 0,
    };
    let exact = names.iter().filter(|element| is_named(item, element, true)).max_by_key(length);
    let is_free = |element: &&PathElement<'a>| !items.iter().any(|item| is_named(*item, element, true));
    let inexact = || names.iter().filter(|element| is_named(item, element, false)).find(is_free);
    exact.or_else(inexact).copied()
}

/// The name of an item that no manager owns, by those of its neighbours' keys that it has.
pub(crate) fn name_beside<'a>(
    arena: &'a Arena,
    item: Value<'a>,
    names: &[PathElement<'a>],
) -> Option<PathElement<'a>> {
    let keys = names.iter().flat_map(|element| match element {
        PathElement::Key(keys) => *keys,
        _ => &[],
    });
    let keys: BTreeSet<&str> = keys.map(|(name, _)| *name).collect();
    let keys: Vec<_> = keys.into_iter().filter_map(|name| Some((name, item.get(name)?))).collect();
    (!keys.is_empty()).then(|| PathElement::Key(arena.list(keys)))
}

fn no_such_field<'a>(
    query: &FieldQuery,
    arena: &'a Arena,
    object: Value<'a>,
    owned: FieldSet<'a>,
) -> PathError {
    let typed = query.text.to_lowercase();
    let last = query.segments.last();
    let paths = every_path(arena, object, owned).into_iter().map(|(path, _)| {
        let text = path.to_string();
        let ends_alike = matches!(
            (last, path.elements().last()),
            (Some(Segment::Name(last) | Segment::WholeName(last)), Some(PathElement::Field(name))) if last == name
        );
        let similarity = strsim::normalized_levenshtein(&text.to_lowercase(), &typed);
        // The last name is most of what is meant.
        (similarity + if ends_alike { 1.0 } else { 0.0 }, text)
    });
    let similar = most_similar(paths, SIMILAR);
    PathError::NoSuchField { path: query.text.clone(), similar }
}

/// The paths of all members and items of an object that managers can own, with their values, and of owned fields without a value.
pub(crate) fn every_path<'a>(
    arena: &'a Arena,
    object: Value<'a>,
    owned: FieldSet<'a>,
) -> Vec<(Path<'a>, Option<Value<'a>>)> {
    let mut found = Vec::new();
    walk(arena, Here { value: Some(object), owned }, &mut Vec::new(), &mut found);
    found
}

fn walk<'a>(
    arena: &'a Arena,
    here: Here<'a>,
    above: &mut Vec<PathElement<'a>>,
    found: &mut Vec<(Path<'a>, Option<Value<'a>>)>,
) {
    if !above.is_empty() {
        found.push((Path::new(arena.list(above.iter().copied())), here.value));
    }
    let mut elements: Vec<PathElement<'a>> = match here.value {
        Some(Value::Map(map)) => map.members().iter().map(|(name, _)| PathElement::Field(name)).collect(),
        Some(Value::List(items)) => (0..items.len()).filter_map(|index| here.at(arena, index)).collect(),
        _ => Vec::new(),
    };
    let owned: Vec<_> = here.owned.branches().collect();
    let known: BTreeSet<_> = elements.iter().copied().collect();
    elements.extend(owned.iter().map(|branch| branch.element).filter(|element| !known.contains(element)));
    for element in elements {
        above.push(element);
        if !is_of_the_server(above) {
            let owned = Branch::find(&owned, &element).map(|branch| branch.below).unwrap_or_default();
            walk(arena, Here { value: here.part(&element), owned }, above, found);
        }
        above.pop();
    }
}

/// Whether a path leads to a field that only the server writes, and no manager owns.
pub(crate) fn is_of_the_server(path: &[PathElement<'_>]) -> bool {
    use PathElement::Field;
    matches!(
        path,
        [Field("apiVersion" | "kind")]
            | [
                Field("metadata"),
                Field(
                    "name"
                        | "namespace"
                        | "uid"
                        | "resourceVersion"
                        | "generation"
                        | "creationTimestamp"
                        | "deletionTimestamp"
                        | "deletionGracePeriodSeconds"
                        | "selfLink"
                        | "managedFields"
                )
            ]
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_item_that_leaves_out_an_optional_key_has_a_name_of_its_own() {
        let object = json!({"devices": [
            {"device": "x", "pool": "p", "shareID": "s", "state": "shared"},
            {"device": "x", "pool": "p", "state": "whole"},
        ]});
        let shared = r#"k:{"device":"x","pool":"p","shareID":"s"}"#;
        let whole = r#"k:{"device":"x","pool":"p"}"#;
        for owned in [&[shared, whole][..], &[shared]] {
            let entry = |name: &&str| ((*name).to_owned(), json!({".": {}, "f:state": {}}));
            let fields = json!({"f:devices": owned.iter().map(entry).collect::<serde_json::Map<_, _>>()});
            let arena = Arena::new();
            let value = Value::from_json(&arena, &object).unwrap();
            let owned = FieldSet::from_fields_v1(&arena, &fields).unwrap();
            let found = |text: &str| {
                let query = text.parse().unwrap();
                let path = resolve(&query, &arena, value, owned).map_err(|error| error.to_string())?;
                let place = path.elements().iter().fold(Here { value: Some(value), owned }, Here::below);
                Ok::<_, String>(place.value.map(|value| value.to_json()))
            };
            let state = found("devices[device=x,pool=p].state");
            assert_eq!(state, Ok(Some(json!("whole"))), "{fields}");
            assert!(found("devices[device=x].state").unwrap_err().contains("is ambiguous"), "{fields}");
            let state = found("devices[device=x,pool=p,shareID=s].state");
            assert_eq!(state, Ok(Some(json!("shared"))), "{fields}");
        }
    }
}
