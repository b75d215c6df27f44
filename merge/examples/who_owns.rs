//! Shows who owns what of an object, field by field.
//!
//! ```text
//! cargo run -p baton-merge --example who_owns
//! kubectl get deployment web -o yaml --show-managed-fields | cargo run -p baton-merge --example who_owns -- -
//! ```

use std::{env, error::Error, fs, io};

use baton_merge::{
    Arena,
    fieldpath::{FieldSet, Path, PathElement},
    value::Value,
};

/// What nobody owns, ever.
const AT_THE_ROOT: [&str; 2] = ["apiVersion", "kind"];
const IN_METADATA: [&str; 7] =
    ["name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"];

fn main() -> Result<(), Box<dyn Error>> {
    let text = match env::args().nth(1).as_deref() {
        None => include_str!("data/shop.yaml").to_owned(),
        Some("-") => io::read_to_string(io::stdin())?,
        Some(path) => fs::read_to_string(path)?,
    };
    let object: serde_json::Value = serde_norway::from_str(&text)?;
    let arena = Arena::new();
    let owners = owners(&arena, &object)?;
    let ownable = ownable(object.clone());

    let mut lines = vec![(title(&object), String::new())];
    branches(&arena, Value::from_json(&arena, &ownable)?, &owners, "", &mut lines);
    let width = lines.iter().map(|(tree, _)| tree.chars().count()).max().unwrap_or_default();
    for (tree, who) in lines {
        println!("{}", format!("{tree:<width$}   {who}").trim_end());
    }
    Ok(())
}

fn title(object: &serde_json::Value) -> String {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or("?").to_owned();
    format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]))
}

/// The object without what nobody owns.
fn ownable(mut object: serde_json::Value) -> serde_json::Value {
    if let Some(root) = object.as_object_mut() {
        root.retain(|name, _| !AT_THE_ROOT.contains(&name.as_str()));
    }
    if let Some(metadata) = object.get_mut("metadata").and_then(|metadata| metadata.as_object_mut()) {
        metadata.retain(|name, _| !IN_METADATA.contains(&name.as_str()));
    }
    object
}

/// A manager, and what it owns below a place in the object.
type Owner<'a> = (String, FieldSet<'a>);

fn owners<'a>(arena: &'a Arena, object: &'a serde_json::Value) -> Result<Vec<Owner<'a>>, Box<dyn Error>> {
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

/// One line for each member or named item, with what is below it; beside it who owns the path itself.
fn branches<'a>(
    arena: &'a Arena,
    value: Value<'a>,
    owners: &[Owner<'a>],
    indent: &str,
    lines: &mut Vec<(String, String)>,
) {
    let children = children(arena, value, owners);
    for (position, (element, value)) in children.iter().enumerate() {
        let is_last = position + 1 == children.len();
        let (twig, deeper) = if is_last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
        let here: Vec<_> = owners
            .iter()
            .filter(|(_, set)| set.contains(&Path::new(&[*element])))
            .map(|(who, _)| who.as_str())
            .collect();
        let below: Vec<_> = owners.iter().map(|(who, set)| (who.clone(), set.below(element))).collect();
        let is_branch = below.iter().any(|(_, set)| !set.is_empty());

        let label = match element {
            PathElement::Field(name) if is_branch => (*name).to_owned(),
            PathElement::Field(name) => format!("{name}: {}", shortened(&value.to_json().to_string())),
            item => item.to_string(),
        };
        let who = match (here.as_slice(), is_branch) {
            // What is there because of what is in it needs no owner.
            ([], true) => String::new(),
            ([], false) => "nobody".to_owned(),
            _ => here.join(", "),
        };
        lines.push((format!("{indent}{twig}{label}"), who));
        if is_branch {
            branches(arena, *value, &below, &format!("{indent}{deeper}"), lines);
        }
    }
}

/// The members of a map, or the items of a list that somebody owns one by one.
fn children<'a>(
    arena: &'a Arena,
    value: Value<'a>,
    owners: &[Owner<'a>],
) -> Vec<(PathElement<'a>, Value<'a>)> {
    if let Some(map) = value.as_map() {
        return map.members().iter().map(|(name, value)| (PathElement::Field(name), *value)).collect();
    }
    let named: Vec<_> = owners
        .iter()
        .flat_map(|(_, set)| set.paths(arena))
        .filter_map(|path| path.elements().first().copied())
        .collect();
    let name_of = |item: &Value<'a>| {
        named.iter().copied().find(|element| match element {
            PathElement::Key(keys) => keys.iter().all(|(name, key)| item.get(name) == Some(*key)),
            PathElement::Value(value) => value == item,
            _ => false,
        })
    };
    let items = value.as_list().unwrap_or_default();
    items.iter().filter_map(|item| Some((name_of(item)?, *item))).collect()
}

/// A text that leaves room for the owners beside it.
fn shortened(text: &str) -> String {
    const LONGEST: usize = 32;
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST - 1).chain(['…']).collect()
}
