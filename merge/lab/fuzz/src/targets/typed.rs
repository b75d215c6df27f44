//! What holds of typed values whatever they are: merging a value with itself, comparing it with itself, taking from it
//! what it has.

use baton_merge::{
    Arena, Release,
    fieldpath::{FieldSet, Path, PathElement},
    server::Resources,
    typed::{Duplicates, Typed},
    value::Value as Merged,
};
use serde_json::Value;

use super::{
    choices::Choices,
    field_sets::check_wire_form,
    predict::{Kind, RELEASES},
};

/// Takes two objects of a kind and checks the laws of every operation.
pub fn typed(data: &[u8]) {
    let mut choices = Choices::new(data);
    let kind = *choices.one(Kind::ALL);
    let release = *choices.one(RELEASES);
    let old = kind.object(&mut choices, 0);
    let mut new = old.clone();
    if choices.once_in(2) {
        new = kind.object(&mut choices, 0);
    } else {
        kind.vary(&mut choices, &mut new);
    }
    let picks: Vec<bool> = (0..64).map(|_| choices.once_in(2)).collect();
    check(kind, release, &old, &new, &picks);
}

fn check(kind: Kind, release: Release, old: &Value, new: &Value, picks: &[bool]) {
    let told = || format!("release {release}, {kind:?}\nold: {old}\nnew: {new}");
    let resources: &Resources = kind.resources();
    let Some(resource) = resources.get(&kind.gvk(0)) else { panic!("{kind:?} is served") };
    let arena = Arena::new();
    let value = |json| Merged::from_json(&arena, json).expect("objects aren't deep");
    let typed = |value, duplicates| {
        Typed::for_release(release, &arena, resources.schema(), resource.type_id(), value, duplicates)
    };
    let Ok(old_typed) = typed(value(old), Duplicates::Allowed) else { return };
    let Ok(new_typed) = typed(value(new), Duplicates::Allowed) else { return };

    for one in [&old_typed, &new_typed] {
        let same = one.compare(one).unwrap_or_else(|error| panic!("not comparable: {error}\n{}", told()));
        assert!(same.is_same(), "a value differs from itself\n{}", told());
        let set = one.to_set().unwrap_or_else(|error| panic!("no set: {error}\n{}", told()));
        check_wire_form(set);
        assert_eq!(one.reconcile(set).ok(), Some(None), "a set changes under its own schema\n{}", told());
        let distinct = typed(one.value(), Duplicates::Forbidden).is_ok();
        if distinct {
            let merged = one.merge(one).unwrap_or_else(|error| panic!("no merge: {error}\n{}", told()));
            assert_eq!(merged.value(), one.value(), "a value merged with itself is another\n{}", told());
            check_removal(&arena, one, set, picks, &told);
        }
    }
    let distinct =
        [&old_typed, &new_typed].iter().all(|one| typed(one.value(), Duplicates::Forbidden).is_ok());
    check_comparison(&arena, &old_typed, &new_typed, distinct, &told);
    check_merge(&typed, &old_typed, &new_typed, &told);
}

/// What is removed is gone.
fn check_removal(
    arena: &Arena,
    one: &Typed<'_>,
    set: FieldSet<'_>,
    picks: &[bool],
    told: &dyn Fn() -> String,
) {
    let paths = set.paths(arena);
    let mut picked = picks.iter().cycle();
    let removed: Vec<Path<'_>> = paths.iter().filter(|_| picked.next() == Some(&true)).copied().collect();
    // Without its key an item is named otherwise, perhaps as one that was removed.
    let is_key = |path: &Path<'_>| {
        matches!(path.elements(), [.., PathElement::Key(keys), PathElement::Field(name)]
            if keys.iter().any(|(key, _)| key == name))
    };
    let removed = FieldSet::of_paths(arena, removed.into_iter().filter(|path| !is_key(path)));
    let rest = one.remove(removed);
    if rest.value().is_null() {
        return;
    }
    let left = rest.to_set().unwrap_or_else(|error| panic!("no set of the rest: {error}\n{}", told()));
    let still = left.intersection(arena, removed);
    assert!(still.is_empty(), "removed, and still there:\n{still}\n{}", told());
    let _ = one.extract(removed).to_set();
}

/// A comparison names what each side has; each path once, but for items that a side holds twice: where they become one
/// or the one becomes two, they go and come.
fn check_comparison(
    arena: &Arena,
    old: &Typed<'_>,
    new: &Typed<'_>,
    distinct: bool,
    told: &dyn Fn() -> String,
) {
    let Ok(there) = old.compare(new) else { return };
    let Ok(back) = new.compare(old) else { panic!("comparable one way only\n{}", told()) };
    assert_eq!(there.added, back.removed, "what is added one way isn't removed the other\n{}", told());
    assert_eq!(there.removed, back.added, "what is removed one way isn't added the other\n{}", told());
    assert_eq!(there.modified, back.modified, "what is modified depends on the direction\n{}", told());
    for part in [there.added, there.removed] {
        assert!(part.is_disjoint(there.modified), "modified, and added or removed\n{}", told());
    }
    let both = there.added.intersection(arena, there.removed).paths(arena);
    assert!(!distinct || both.is_empty(), "added and removed: {both:?}\n{}", told());
    let is_in_item = |path: &Path<'_>| {
        path.elements().iter().any(|element| matches!(element, PathElement::Key(_) | PathElement::Value(_)))
    };
    assert!(both.iter().all(is_in_item), "added and removed, and in no item: {both:?}\n{}", told());
    assert_eq!(
        there.is_same(),
        there.added.union(arena, there.removed).union(arena, there.modified).is_empty()
    );
}

/// A merge has all that was laid over, and doing it again changes nothing.
fn check_merge<'a>(
    typed: &dyn Fn(Merged<'a>, Duplicates) -> Result<Typed<'a>, baton_merge::typed::Invalid>,
    live: &Typed<'a>,
    applied: &Typed<'a>,
    told: &dyn Fn() -> String,
) {
    let distinct = |value: &Typed<'a>| typed(value.value(), Duplicates::Forbidden).is_ok();
    if !distinct(applied) {
        return;
    }
    let merged = live.merge(applied).unwrap_or_else(|error| panic!("no merge: {error}\n{}", told()));
    if let Err(error) = typed(merged.value(), Duplicates::Allowed) {
        panic!("the merged value doesn't fit its schema: {error}\n{}", told());
    }
    if !distinct(live) {
        return;
    }
    assert!(distinct(&merged), "a merge makes duplicates: {}\n{}", merged.value().to_json(), told());
    let again = merged.merge(applied).unwrap_or_else(|error| panic!("no second merge: {error}\n{}", told()));
    assert_eq!(again.value(), merged.value(), "merging again changes something\n{}", told());
    let lost = applied.compare(&merged).unwrap_or_else(|error| panic!("not comparable: {error}\n{}", told()));
    assert!(lost.removed.is_empty(), "a merge loses what was applied:\n{}\n{}", lost.removed, told());
}
