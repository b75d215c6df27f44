//! Field sets: their wire form, and their algebra compared with plain sets of paths.

use std::collections::BTreeSet;

use baton_merge::{
    Arena,
    fieldpath::{FieldSet, Path, PathElement, Pattern, PatternElement},
    server::Spelling,
    value::Value,
};

use super::choices::Choices;

/// Reads FieldsV1: the set is sorted, and survives writing and reading.
pub fn fields_v1(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let json = serde_json::from_str(text).ok();
    let arena = Arena::new();
    let _ = Spelling::of_fields_v1(text);
    let read = [
        FieldSet::from_fields_v1_text(&arena, text).ok(),
        json.as_ref().and_then(|json| FieldSet::from_fields_v1(&arena, json).ok()),
        Value::from_text(&arena, text).ok().and_then(|value| FieldSet::from_value(&arena, value).ok()),
    ];
    for set in read.into_iter().flatten() {
        check_wire_form(set);
        assert_eq!(set.union(&arena, set), set, "a set united with itself is another");
        assert_eq!(set.intersection(&arena, set), set, "a set and itself have something else in common");
        assert!(set.difference(&arena, set).is_empty(), "something is left of a set without itself");
        assert!(
            set.recursive_difference(&arena, set).is_empty(),
            "something is left of a set without itself"
        );
        assert!(set.leaves(&arena).is_subset(set), "a leaf isn't in the set");
    }
}

/// Writes a set in each way and reads it again. Panics if it differs.
///
/// A set that is read holds all its numbers as floats, as the server's does. Integers beyond 2^53 lose digits by that: they
/// still equal what was read of them, but are written otherwise, and two of them may become one. Read once, it is stable.
fn check_wire_form(set: FieldSet<'_>) {
    let arena = Arena::new();
    let paths = set.paths(&arena);
    assert_eq!(FieldSet::of_paths(&arena, paths.clone()), set, "the set isn't in order:\n{set}");
    assert!(set.is_writable(), "an item without a name was read:\n{set}");
    assert_eq!(paths.len(), set.len(), "the set counts its paths wrong:\n{set}");
    let text = set.to_fields_v1_text();
    let again = FieldSet::from_fields_v1_text(&arena, &text);
    let again = again.unwrap_or_else(|error| panic!("what was written can't be read: {error}\n{text}"));
    if !paths.iter().any(loses_digits) {
        assert_eq!(again, set, "another set was read than was written:\n{text}");
        return check_stable(set, &text);
    }
    assert!(again.len() <= set.len(), "more was read than was written:\n{text}\n{again}");
    assert!(again.len() < set.len() || again == set, "another set was read than was written:\n{text}");
    check_stable(again, &again.to_fields_v1_text());
}

/// A set without digits to lose is read and written alike in each way.
fn check_stable(set: FieldSet<'_>, text: &str) {
    let arena = Arena::new();
    let json = set.to_fields_v1();
    let from_text = FieldSet::from_fields_v1_text(&arena, text).expect("what was written is read");
    let from_tree = FieldSet::from_fields_v1(&arena, &json).expect("a tree that was written is read");
    assert_eq!(from_text, set, "another set was read than was written:\n{text}");
    assert_eq!(from_text.to_fields_v1_text(), text, "a set is written in two ways");
    assert_eq!(from_tree, set, "another set was read from a tree:\n{text}");
    assert_eq!(serde_json::to_value(set).ok(), Some(json), "serde writes another set");
}

/// Whether a number in the path is an integer that loses digits as a float.
fn loses_digits(path: &Path<'_>) -> bool {
    path.elements().iter().any(|element| match element {
        PathElement::Key(fields) => fields.iter().any(|(_, value)| value_loses_digits(value)),
        PathElement::Value(value) => value_loses_digits(value),
        _ => false,
    })
}

fn value_loses_digits(value: &Value<'_>) -> bool {
    match value {
        // Some exact floats are written with fewer digits and zeros, too.
        Value::Int(int) => int.unsigned_abs() > 1 << f64::MANTISSA_DIGITS,
        Value::List(items) => items.iter().any(value_loses_digits),
        Value::Map(map) => map.members().iter().any(|(_, value)| value_loses_digits(value)),
        _ => false,
    }
}

type Model = BTreeSet<Vec<usize>>;

/// A set and its model: each path as the numbers of its elements.
type Both<'a> = (FieldSet<'a>, Model);

/// An integer that loses a digit as a float.
const LARGE: i64 = 9_007_199_254_740_993;
const ROUNDED: f64 = 9_007_199_254_740_992.0;

/// Different elements, each in all its spellings.
const ELEMENTS: &[&[PathElement<'static>]] = &[
    &[PathElement::Field("a")],
    &[PathElement::Field("b")],
    &[PathElement::Field("")],
    &[PathElement::Field("a.b/\"\\\u{8}\u{2028}<")],
    &[PathElement::Key(&[("name", Value::String("a"))])],
    &[
        PathElement::Key(&[("port", Value::Int(80)), ("protocol", Value::String("TCP"))]),
        PathElement::Key(&[("port", Value::Float(80.0)), ("protocol", Value::String("TCP"))]),
    ],
    &[PathElement::Key(&[("port", Value::Int(443)), ("protocol", Value::String("TCP"))])],
    &[PathElement::Key(&[])],
    &[PathElement::Value(Value::Int(1)), PathElement::Value(Value::Float(1.0))],
    &[PathElement::Value(Value::Float(0.0)), PathElement::Value(Value::Float(-0.0))],
    &[PathElement::Value(Value::String("1"))],
    &[PathElement::Value(Value::String("\u{1}\t\u{7f}ä\u{1f600}&"))],
    &[PathElement::Value(Value::Bool(true))],
    &[PathElement::Value(Value::Null)],
    &[PathElement::Value(Value::List(&[Value::Int(1), Value::Null]))],
    &[PathElement::Value(Value::Float(1e-7))],
    &[PathElement::Value(Value::Int(LARGE)), PathElement::Value(Value::Float(ROUNDED))],
    &[PathElement::Key(&[("id", Value::Int(LARGE))]), PathElement::Key(&[("id", Value::Float(ROUNDED))])],
    &[PathElement::Index(0)],
    &[PathElement::Index(-1)],
];

/// Computes with sets of a few paths and compares with the model.
pub fn field_sets(data: &[u8]) {
    let mut choices = Choices::new(data);
    let paths = [some_paths(&mut choices), some_paths(&mut choices)];
    let pattern = some_path(&mut choices);
    let arena = Arena::new();
    let [left, right] = paths.each_ref().map(|paths| {
        let set = FieldSet::of_paths(&arena, paths.iter().map(|(path, _)| Path::new(path)));
        (set, paths.iter().map(|(_, numbers)| numbers.clone()).collect())
    });
    for (set, model) in [&left, &right] {
        check(&arena, "a set of paths", *set, model);
        check_wire_form(*set);
    }
    compute(&arena, &left, &right);
    compute(&arena, &right, &left);
    filter(&arena, &left, &pattern);
}

type NumberedPath = (Vec<PathElement<'static>>, Vec<usize>);

fn some_paths(choices: &mut Choices<'_>) -> Vec<NumberedPath> {
    let mut paths = Vec::new();
    while paths.len() < 24 && !choices.are_over() && choices.below(8) > 0 {
        paths.push(some_path(choices));
    }
    paths
}

fn some_path(choices: &mut Choices<'_>) -> NumberedPath {
    // Small numbers are frequent, so that paths share prefixes.
    let element = |choices: &mut Choices<'_>| {
        let number = choices.below(ELEMENTS.len()).min(choices.below(ELEMENTS.len()));
        (*choices.one(ELEMENTS[number]), number)
    };
    (0..=choices.below(4)).map(|_| element(choices)).unzip()
}

fn compute<'a>(arena: &'a Arena, (left, left_model): &Both<'a>, (right, right_model): &Both<'a>) {
    let (left, right) = (*left, *right);
    let of = |model: &Model, keep: &dyn Fn(&Vec<usize>) -> bool| -> Model {
        model.iter().filter(|path| keep(path)).cloned().collect()
    };
    let is_below = |path: &[usize], above: &[usize]| path.len() > above.len() && path.starts_with(above);

    let union: Model = left_model | right_model;
    check(arena, "the union", left.union(arena, right), &union);
    check(arena, "the intersection", left.intersection(arena, right), &(left_model & right_model));
    check(arena, "the difference", left.difference(arena, right), &(left_model - right_model));
    let outside = |path: &Vec<usize>| !right_model.iter().any(|other| path.starts_with(other));
    check(
        arena,
        "the recursive difference",
        left.recursive_difference(arena, right),
        &of(left_model, &outside),
    );
    let leaf = |path: &Vec<usize>| !left_model.iter().any(|other| is_below(other, path));
    check(arena, "the leaves", left.leaves(arena), &of(left_model, &leaf));
    assert_eq!(left.is_subset(right), left_model.is_subset(right_model), "subset:\n{left}\nof\n{right}");
    assert_eq!(
        left.is_disjoint(right),
        left_model.is_disjoint(right_model),
        "disjoint:\n{left}\nand\n{right}"
    );
    for path in right.paths(arena) {
        assert_eq!(left.contains(&path), left_model.contains(&numbers_of(&path)), "{path} in\n{left}");
    }
}

/// A pattern of one prefix keeps the paths along it, at its end and below it.
fn filter(arena: &Arena, (set, model): &Both<'_>, (prefix, numbers): &NumberedPath) {
    let pattern = Pattern::prefix(prefix.iter().copied().map(PatternElement::Exactly));
    let along = |path: &&Vec<usize>| path.starts_with(numbers) || numbers.starts_with(path);
    check(
        arena,
        "the filtered set",
        set.filter(arena, &pattern),
        &model.iter().filter(along).cloned().collect(),
    );
}

fn check(arena: &Arena, what: &str, set: FieldSet<'_>, model: &Model) {
    let actual: Model = set.paths(arena).iter().map(numbers_of).collect();
    assert_eq!(&actual, model, "{what} is\n{set}");
    assert_eq!(set.len(), model.len(), "{what} holds a path twice:\n{set}");
    assert_eq!(set.is_empty(), model.is_empty(), "{what} has branches without members");
}

/// The numbers of a path's elements.
fn numbers_of(path: &Path<'_>) -> Vec<usize> {
    let number = |element: &PathElement<'_>| ELEMENTS.iter().position(|spellings| spellings[0] == *element);
    path.elements().iter().map(|element| number(element).expect("no element comes from nowhere")).collect()
}
