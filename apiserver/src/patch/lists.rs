//! Merges and orders lists in a strategic merge patch.

use serde_json::{Map, Value};

use super::PatchError;
use super::go::{go_printed, go_type};
use super::schema::{PatchSchema, Shape};
use super::strategic::{PATCH, merge_members, unknown_directive, wrong_type};

/// A list to merge.
pub(super) struct List<'s> {
    pub(super) schema: &'s PatchSchema,
    pub(super) items: &'s Shape,
    /// The merge key, for lists of maps.
    pub(super) key: Option<&'s str>,
}

impl List<'_> {
    /// Merges the patch's items into the list.
    pub(super) fn merge(&self, live: Vec<Value>, patch: &mut Vec<Value>) -> Result<Vec<Value>, PatchError> {
        if live.is_empty() && patch.is_empty() {
            return Ok(live);
        }
        if !is_of_maps(&[&live, patch])? {
            let mut merged: Vec<Value> = Vec::with_capacity(live.len() + patch.len());
            for item in live.iter().chain(&*patch) {
                if !merged.contains(item) {
                    merged.push(item.clone());
                }
            }
            return self.ordered(merged, patch, &live, false);
        }
        let key = self.key.ok_or_else(|| {
            PatchError::Internal("cannot merge lists without merge key for struct".to_owned())
        })?;
        let (live, changes) = Self::follow_directives(live, patch, key)?;
        let mut merged = live.clone();
        let mut plain = Vec::new();
        for position in changes {
            let Some(Value::Object(change)) = patch.get_mut(position) else { continue };
            let change_key = change.get(key).ok_or_else(|| no_key(change, key))?.clone();
            match merged.iter_mut().find(|item| item.get(key) == Some(&change_key)) {
                Some(Value::Object(own)) => merge_members(self.schema, self.items, own, change)?,
                _ => merged.push(Value::Object(change.clone())),
            }
            plain.push(Value::Object(change.clone()));
        }
        self.ordered(merged, &plain, &live, true)
    }

    /// Applies the items with a `$patch`. Returns the list, and the indexes of the other items.
    fn follow_directives(
        mut live: Vec<Value>,
        patch: &[Value],
        key: &str,
    ) -> Result<(Vec<Value>, Vec<usize>), PatchError> {
        let mut plain = Vec::new();
        let mut is_replaced = false;
        for (position, item) in patch.iter().enumerate() {
            let change = map(item)?;
            match (change.get(PATCH), change.get(PATCH).and_then(Value::as_str)) {
                (None, _) => plain.push(position),
                (_, Some("delete")) => {
                    let deleted = change.get(key).ok_or_else(|| no_key(change, key))?;
                    live.retain(|item| item.get(key) != Some(deleted));
                }
                (_, Some("replace")) => is_replaced = true,
                (_, Some("merge")) => {
                    let message = "merging lists cannot yet be specified in the patch";
                    return Err(PatchError::Internal(message.to_owned()));
                }
                (Some(directive), _) => return Err(unknown_directive(directive, change)),
            }
        }
        if is_replaced {
            return Ok((
                plain.iter().filter_map(|position| patch.get(*position).cloned()).collect(),
                Vec::new(),
            ));
        }
        Ok((live, plain))
    }

    /// The items in the patch's order; the others keep their order, between them.
    pub(super) fn ordered(
        &self,
        items: Vec<Value>,
        patch: &[Value],
        live: &[Value],
        are_maps: bool,
    ) -> Result<Vec<Value>, PatchError> {
        let key = match (are_maps, self.key) {
            (true, key) => Some(key.unwrap_or_default()),
            (false, Some(_)) => {
                return Err(items.first().map_or_else(no_items, |item| wrong_type(MAP, item)));
            }
            (false, None) => None,
        };
        for item in items.iter().chain(patch).chain(live).filter(|_| are_maps) {
            let key = key.unwrap_or_default();
            let item = map(item)?;
            item.get(key).ok_or_else(|| no_key(item, key))?;
        }
        let identity = |item: &Value| key.map_or(Some(item), |key| item.get(key)).cloned();
        let index = |list: &[Value], item: &Value| {
            let identity = identity(item);
            list.iter().position(|other| key.map_or(Some(other), |key| other.get(key)) == identity.as_ref())
        };
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for item in items {
            let side = if index(patch, &item).is_some() { &mut ours } else { &mut theirs };
            side.push(item);
        }
        let ours = sorted(ours, |item| index(patch, item));
        let theirs = sorted(theirs, |item| index(live, item));
        let mut merged = Vec::with_capacity(ours.len() + theirs.len());
        let (mut ours, mut theirs) = (ours.into_iter().peekable(), theirs.into_iter().peekable());
        loop {
            let is_theirs_next = match (theirs.peek(), ours.peek()) {
                (None, None) => return Ok(merged),
                (their, our) => match (their, our) {
                    (Some(_), None) => true,
                    (Some(their), Some(our)) => {
                        matches!((index(live, their), index(live, our)), (Some(their), Some(our)) if their < our)
                    }
                    _ => false,
                },
            };
            merged.extend(if is_theirs_next { theirs.next() } else { ours.next() });
        }
    }

    /// Refuses a patch whose items are in another order than its `$setElementOrder`.
    pub(super) fn check_order(&self, patch: &[Value], order: &[Value]) -> Result<(), PatchError> {
        if patch.is_empty() || order.is_empty() {
            return Ok(());
        }
        let mut items = Vec::new();
        for item in patch {
            let directive = if self.key.is_some() { map(item)?.get(PATCH) } else { item.get(PATCH) };
            if directive.is_none() {
                items.push(item);
            }
        }
        let mut expected = order.iter();
        for item in items {
            loop {
                let Some(next) = expected.next() else {
                    let shown = |list: &[Value]| go_printed(&Value::Array(list.to_vec()));
                    return Err(PatchError::Internal(format!(
                        "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
                        shown(patch),
                        shown(order)
                    )));
                };
                if self.is_same(item, next)? {
                    break;
                }
            }
        }
        Ok(())
    }

    fn is_same(&self, one: &Value, other: &Value) -> Result<bool, PatchError> {
        let Some(key) = self.key else { return Ok(one == other) };
        let (one, other) = (map(one)?, map(other)?);
        let key_of = |item: &Map<String, Value>| item.get(key).cloned().ok_or_else(|| no_key(item, key));
        Ok(key_of(one)? == key_of(other)?)
    }
}

/// Whether the items are maps. All must be of one type.
pub(super) fn is_of_maps(lists: &[&Vec<Value>]) -> Result<bool, PatchError> {
    let mut items = lists.iter().copied().flatten();
    match items.next() {
        None => Err(no_items()),
        Some(Value::Array(_)) => {
            Err(PatchError::Unprocessable("lists of lists are not supported".to_owned()))
        }
        Some(first) if items.any(|item| go_type(item) != go_type(first)) => {
            let shown: Vec<_> = lists.iter().map(|list| go_printed(&Value::Array((*list).clone()))).collect();
            let message = format!("list element types are not identical: [{}]", shown.join(" "));
            Err(PatchError::Internal(message))
        }
        Some(first) => Ok(first.is_object()),
    }
}

const MAP: &str = "map[string]interface {}";

fn no_items() -> PatchError {
    PatchError::Internal("no elements in any of the given slices".to_owned())
}

fn map(item: &Value) -> Result<&Map<String, Value>, PatchError> {
    item.as_object().ok_or_else(|| wrong_type(MAP, item))
}

fn no_key(map: &Map<String, Value>, key: &str) -> PatchError {
    let map = go_printed(&Value::Object(map.clone()));
    PatchError::Internal(format!("map: {map} does not contain declared merge key: {key}"))
}

/// Sorts by the index in another list. As upstream, an item without one comes before all that precede it.
fn sorted(items: Vec<Value>, index: impl Fn(&Value) -> Option<usize>) -> Vec<Value> {
    let mut sorted: Vec<(Option<usize>, Value)> = Vec::with_capacity(items.len());
    for item in items {
        let own = index(&item);
        let is_before = |other: &(Option<usize>, Value)| match (own, other.0) {
            (Some(own), Some(other)) => own < other,
            _ => true,
        };
        let at = sorted.iter().rposition(|other| !is_before(other)).map_or(0, |last| last + 1);
        sorted.insert(at, (own, item));
    }
    sorted.into_iter().map(|(_, item)| item).collect()
}
