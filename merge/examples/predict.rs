//! Predicts an apply before it is sent: is it refused? If it is forced, what happens to each field and its owners? Does it
//! change anything, or can a controller skip it?
//!
//! ```text
//! cargo run -p baton-merge --example predict
//! ```

use std::error::Error;

use baton_merge::{
    Arena, Release,
    fieldpath::Path,
    predict::{Apply, PredictedApply},
    schema::kinds::GroupVersionKind,
    server::Resources,
    value::Value,
    yaml,
};

fn main() -> Result<(), Box<dyn Error>> {
    let resources = Resources::from_crd(&yaml::from_str(include_str!("data/shop.crd.yaml"))?)?;
    let live: serde_json::Value = yaml::from_str(include_str!("data/shop.yaml"))?;
    let intent: serde_json::Value = yaml::from_str(include_str!("data/shop.intent.yaml"))?;
    let kind = GroupVersionKind::of(&intent).ok_or("the intent has no kind")?;
    let shops = resources.get(&kind).ok_or("the kind isn't served")?;

    let apply = Apply {
        manager: "platform",
        force: false,
        subresource: "",
        now: "2026-01-02T03:04:05Z".parse()?,
        release: Release::LATEST,
    };
    let arena = Arena::new();

    println!("Applied without force, a server says:\n");
    let refused = shops.predict(&arena, Some(&live), &intent, apply)?;
    println!("{}\n", refused.conflicts);

    println!("Applied with force:\n");
    let forced = shops.predict(&arena, Some(&live), &intent, Apply { force: true, ..apply })?;
    show(&arena, Value::from_json(&arena, &live)?, &forced);

    // Much cheaper than a prediction. If it is false, predict, or just apply.
    let (live, once_applied) = (Value::from_json(&arena, &live)?, forced.stored.to_json());
    let intent = Value::from_json(&arena, &intent)?;
    let is_noop = |live| shops.is_noop(live, intent, Apply { force: true, ..apply });
    println!("\nChanges nothing, so that it can be skipped? Now: {}.", is_noop(live));
    println!("Once it is applied: {}.", is_noop(Value::from_json(&arena, &once_applied)?));
    Ok(())
}

/// Prints each field that changes, or changes its owner.
fn show<'a>(arena: &'a Arena, live: Value<'a>, forced: &PredictedApply<'a>) {
    let comparison = forced.comparison;
    let taken = |path: &Path<'_>| forced.taken.iter().find(|taken| taken.path == *path);
    let changed = comparison.added.union(arena, comparison.modified).union(arena, comparison.removed);
    let paths = changed.union(arena, forced.released).leaves(arena).paths(arena);

    let rows = paths.iter().map(|path| {
        let (before, after) = (path.find(live), path.find(forced.stored.object));
        let what = match (taken(path), forced.released.contains(path), after) {
            (Some(taken), ..) => format!("taken from {}", taken.from),
            (None, true, None) => "released by its last owner, so it goes".to_owned(),
            (None, true, Some(_)) => format!("released, and stays for {}", owners(forced, path)),
            (None, false, None) => "no owner, removed with the struct around it".to_owned(),
            (None, false, Some(_)) => "set".to_owned(),
        };
        [path.to_string(), text(before), text(after), what]
    });
    table(["FIELD", "BEFORE", "AFTER", "WHAT HAPPENS"], &rows.collect::<Vec<_>>());
    println!("\ncertainty: {:?}", forced.certainty);
}

/// The owners of a path after the write.
fn owners(forced: &PredictedApply<'_>, path: &Path<'_>) -> String {
    let owners = forced.stored.managed_fields.iter().filter(|entry| entry.fields.contains(path));
    owners.map(|entry| entry.manager).collect::<Vec<_>>().join(", ")
}

fn text(value: Option<Value<'_>>) -> String {
    value.map_or("–".to_owned(), |value| value.to_json().to_string())
}

/// Prints rows in columns as wide as they need to be.
fn table(head: [&str; 4], rows: &[[String; 4]]) {
    let head = head.map(str::to_owned);
    let width = |column: usize| {
        rows.iter().chain([&head]).map(|row| row[column].chars().count()).max().unwrap_or_default()
    };
    let widths = [width(0), width(1), width(2)];
    for [field, before, after, what] in [&head].into_iter().chain(rows) {
        println!("{field:<0$}  {before:<1$}  {after:<2$}  {what}", widths[0], widths[1], widths[2]);
    }
}
