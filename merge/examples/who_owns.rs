//! Shows the owners of an object, field by field.
//!
//! ```text
//! cargo run -p baton-merge --example who_owns
//! kubectl get deployment web -o yaml --show-managed-fields | cargo run -p baton-merge --example who_owns -- -
//! ```

use std::{env, error::Error, fs, io};

use baton_merge::{Arena, fieldpath::FieldSet, value::Value, yaml};

fn main() -> Result<(), Box<dyn Error>> {
    let text = match env::args().nth(1).as_deref() {
        None => include_str!("data/shop.yaml").to_owned(),
        Some("-") => io::read_to_string(io::stdin())?,
        Some(path) => fs::read_to_string(path)?,
    };
    let object: serde_json::Value = yaml::from_str(&text)?;
    let arena = Arena::new();
    let owners = owners(&arena, &object)?;
    let value = Value::from_json(&arena, &object)?;

    let owned = owners.iter().fold(FieldSet::default(), |all, (_, set)| all.union(&arena, *set));
    let paths = owned.paths(&arena);
    let width = paths.iter().map(|path| path.to_string().chars().count()).max().unwrap_or_default();
    for path in &paths {
        let who = owners.iter().filter(|(_, set)| set.contains(path)).map(|(who, _)| who.as_str());
        let who: Vec<_> = who.collect();
        let value =
            path.find(value).map_or_else(String::new, |value| shortened(&value.to_json().to_string()));
        println!("{:<width$}  {value:<LONGEST$}  {}", path.to_string(), who.join(", "));
    }
    Ok(())
}

/// The managers and their fields.
fn owners<'a>(
    arena: &'a Arena,
    object: &'a serde_json::Value,
) -> Result<Vec<(String, FieldSet<'a>)>, Box<dyn Error>> {
    let entries = object["metadata"]["managedFields"].as_array().map(Vec::as_slice).unwrap_or_default();
    let owner = |entry: &'a serde_json::Value| {
        let text = |name: &str| entry[name].as_str().unwrap_or_default();
        let how = match (text("operation"), text("subresource")) {
            (operation, "") => operation.to_owned(),
            (operation, subresource) => format!("{operation} of {subresource}"),
        };
        let set = FieldSet::from_fields_v1(arena, &entry["fieldsV1"])?;
        Ok((format!("{} ({how})", text("manager")), set))
    };
    entries.iter().map(owner).collect()
}

/// The most characters of a value that are shown.
const LONGEST: usize = 32;

fn shortened(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST - 1).chain(['…']).collect()
}
