//! Random CRDs, with every schema member that affects merging, and now and then a schema that isn't structural. The two
//! sides decide how a server reads them.

use baton_testbed::{Json, Random};

use super::schema::{KEYS, NAMES};

/// The group of the random kinds.
pub const GROUP: &str = "chance.baton.rs";
/// The kind of the random CRDs.
pub const KIND: &str = "Thing";
/// The versions, which differ in atomic lists and maps.
pub const VERSIONS: [&str; 3] = ["v1", "v2", "v3"];

/// A CRD with three versions of a schema; the first one is stored.
pub fn definition(random: &mut Random) -> Json {
    let first = root(random);
    let mut schemas = [first.clone(), first.clone(), first];
    for schema in &mut schemas[1..] {
        change(random, schema);
    }
    if random.one_in(12) {
        let at = random.below(schemas.len());
        spoil(random, &mut schemas[at]);
    }
    let scaled = random.one_in(3);
    let versions = VERSIONS.iter().zip(schemas).map(|(name, schema)| {
        let mut version = Json::object()
            .with("name", *name)
            .with("served", true)
            .with("storage", *name == VERSIONS[0])
            .with("schema", Json::object().with("openAPIV3Schema", schema));
        if !random.one_in(3) {
            let mut subresources = Json::object().with("status", Json::object());
            if scaled {
                let paths = Json::object()
                    .with("specReplicasPath", ".spec.replicas")
                    .with("statusReplicasPath", ".status.replicas");
                subresources.set("scale", paths);
            }
            version.set("subresources", subresources);
        }
        version
    });
    let versions: Vec<_> = versions.collect();
    let mut spec = Json::object()
        .with("group", GROUP)
        .with("scope", "Namespaced")
        .with("names", Json::object().with("plural", "things").with("kind", KIND))
        .with("versions", versions);
    if random.one_in(15) {
        spec.set("preserveUnknownFields", true);
    }
    Json::object()
        .with("apiVersion", "apiextensions.k8s.io/v1")
        .with("kind", "CustomResourceDefinition")
        .with("metadata", Json::object().with("name", format!("things.{GROUP}")))
        .with("spec", spec)
}

/// The schema of an object with spec and status.
fn root(random: &mut Random) -> Json {
    let mut spec = structure(random, 4);
    spec.entry("properties").set("replicas", of_type("integer"));
    let mut status = structure(random, 1);
    status.entry("properties").set("replicas", of_type("integer"));
    let properties = Json::object().with("spec", spec).with("status", status);
    let mut root = of_type("object").with("properties", properties);
    if random.one_in(15) {
        root.set(PRESERVE, true);
    }
    root
}

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const LIST_TYPE: &str = "x-kubernetes-list-type";
const MAP_KEYS: &str = "x-kubernetes-list-map-keys";
const MAP_TYPE: &str = "x-kubernetes-map-type";

fn of_type(name: &str) -> Json {
    Json::object().with("type", name)
}

/// A schema of any type, nested up to `depth` levels.
fn schema(random: &mut Random, depth: usize) -> Json {
    let deep = u32::from(depth > 0);
    match random.weighted(&[8, 3, 3, 4, 2, 10 * deep, 4 * deep, 10 * deep, 3 * deep, 2, 2]) {
        0 => of_type("string"),
        1 => of_type("string").with("format", random.pick(&["byte", "date-time", "int-or-string", "uri"])),
        2 => of_type("boolean"),
        3 => of_type(random.pick(&["integer", "number"])),
        4 => either(random),
        5 => structure(random, depth),
        6 => {
            let members = schema(random, depth - 1);
            map_type(random, of_type("object").with("additionalProperties", members))
        }
        7 => list(random, depth),
        8 => embedded(random, depth),
        9 => Json::object().with(PRESERVE, true),
        // Any value is valid below it.
        _ => map_type(random, of_type("object")),
    }
}

/// An integer or a string, in each of the ways in which people write it.
fn either(random: &mut Random) -> Json {
    let types = || vec![of_type("integer"), of_type("string")];
    let either = Json::object().with("x-kubernetes-int-or-string", true);
    match random.below(3) {
        0 => either,
        1 => either.with("anyOf", types()),
        _ => either.with("allOf", vec![Json::object().with("anyOf", types())]),
    }
}

fn structure(random: &mut Random, depth: usize) -> Json {
    let mut properties = Json::object();
    for _ in 0..=random.below(5) {
        let mut property = schema(random, depth.saturating_sub(1));
        if random.one_in(8)
            && let Some(default) = default(random, &property)
        {
            property.set("default", default);
        }
        properties.set(random.pick(&NAMES), property);
    }
    let mut structure = map_type(random, of_type("object").with("properties", properties));
    match random.below(12) {
        0 | 1 => structure.set(PRESERVE, true),
        2 => structure.set("additionalProperties", random.one_in(2)),
        _ => {}
    }
    structure
}

/// A default for a scalar, or none.
fn default(random: &mut Random, schema: &Json) -> Option<Json> {
    Some(match schema.get("type").and_then(Json::as_str)? {
        "string" => Json::string(random.pick(&["TCP", "a", ""])),
        "integer" | "number" => Json::from([0, 1, 80][random.below(3)]),
        "boolean" => Json::Bool(random.one_in(2)),
        _ => return None,
    })
}

fn map_type(random: &mut Random, schema: Json) -> Json {
    match random.below(9) {
        0 | 1 => schema.with(MAP_TYPE, "atomic"),
        2 => schema.with(MAP_TYPE, "granular"),
        _ => schema,
    }
}

fn list(random: &mut Random, depth: usize) -> Json {
    let list = of_type("array");
    match random.weighted(&[3, 1, 3, 6]) {
        0 => list.with("items", schema(random, depth - 1)),
        1 => list.with("items", schema(random, depth - 1)).with(LIST_TYPE, "atomic"),
        2 => {
            let items = if random.one_in(5) { either(random) } else { of_type("string") };
            list.with("items", items).with(LIST_TYPE, "set")
        }
        _ => {
            let mut names = KEYS;
            random.shuffle(&mut names);
            let keys = &names[..=random.weighted(&[6, 3, 1])];
            let mut item = structure(random, depth - 1);
            item.take(MAP_TYPE);
            for key in keys {
                let mut property = of_type(random.pick(&["string", "string", "integer", "boolean"]));
                if random.one_in(4)
                    && let Some(default) = default(random, &property)
                {
                    property.set("default", default);
                }
                item.entry("properties").set(key, property);
            }
            let keys: Vec<_> = keys.iter().copied().map(Json::string).collect();
            list.with("items", item).with(LIST_TYPE, "map").with(MAP_KEYS, keys)
        }
    }
}

/// An embedded object with metadata.
fn embedded(random: &mut Random, depth: usize) -> Json {
    let mut embedded = structure(random, depth);
    embedded.take("additionalProperties");
    embedded.set("x-kubernetes-embedded-resource", true);
    if random.one_in(2) {
        embedded.set(PRESERVE, true);
    }
    embedded
}

/// Changes the types of some lists and maps, and drops a property.
fn change(random: &mut Random, schema: &mut Json) {
    let Json::Object(members) = schema else { return };
    let is_map = members.iter().any(|(_, value)| value.as_str() == Some("object"));
    for (name, value) in members.iter_mut() {
        match name.as_str() {
            "properties" => {
                let Json::Object(properties) = value else { continue };
                if properties.len() > 1 && random.one_in(10) {
                    properties.remove(random.below(properties.len()));
                }
                for (_, property) in properties {
                    change(random, property);
                }
            }
            "items" | "additionalProperties" => change(random, value),
            LIST_TYPE if random.one_in(4) => *value = Json::string("atomic"),
            // A version with fewer list map keys.
            MAP_KEYS if random.one_in(6) => {
                if let Json::List(keys) = value
                    && keys.len() > 1
                {
                    keys.pop();
                }
            }
            MAP_TYPE if random.one_in(4) => {
                *value = Json::string(if value.as_str() == Some("atomic") { "granular" } else { "atomic" });
            }
            _ => {}
        }
    }
    if is_map && random.one_in(10) {
        schema.set(MAP_TYPE, "atomic");
    }
}

/// Makes a schema that isn't structural, so that a server ignores it.
fn spoil(random: &mut Random, schema: &mut Json) {
    let properties = schema.entry("properties").entry("spec").entry("properties");
    let (name, property) = match random.below(6) {
        0 => ("a", Json::object()),
        1 => ("b", Json::object().with("$ref", "#/elsewhere")),
        2 => ("c", of_type("string").with("anyOf", vec![of_type("string")])),
        3 => ("a", of_type("object").with(PRESERVE, false)),
        4 => ("b", of_type("object").with("x-kubernetes-embedded-resource", true)),
        _ => ("c", Json::object().with("x-kubernetes-int-or-string", true).with(PRESERVE, true)),
    };
    properties.set(name, property);
}
