//! The data of the API server inside a process: the lists of resources, the OpenAPI documents as they are served, and what of
//! them the merge core needs, which is a tenth and read much faster.

use std::{collections::BTreeMap, io::Write as _};

use flate2::{Compression, write::GzEncoder};
use kube::Client;
use serde_json::{Map, Value, json};

use crate::{Document, get};

/// The parts of a schema that don't matter to merging and patching.
const PROSE: [&str; 5] = ["description", "required", "enum", "example", "externalDocs"];

const KIND: &str = "x-kubernetes-group-version-kind";

/// The files, by their path from the root of the repository.
pub(crate) async fn files(
    client: &Client,
    documents: &BTreeMap<String, Document>,
    release: &str,
) -> anyhow::Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    let mut lists = Map::new();
    for (path, document) in documents {
        lists.insert(path.clone(), serde_json::from_str(&get(client, &format!("/{path}")).await?)?);
        let name = path.replace('/', "_");
        files.insert(format!("openapi/data/documents/{name}.json.gz"), packed(document.text.as_bytes())?);
        let schemas = serde_json::to_vec(&for_merging(&document.parsed))?;
        files.insert(format!("openapi/data/schemas/{name}.json.gz"), packed(&schemas)?);
    }
    files.insert(
        "apiserver/data/others.json.gz".to_owned(),
        packed(&serde_json::to_vec(&others(client).await?)?)?,
    );
    let groups: Value = serde_json::from_str(&get(client, "/apis").await?)?;
    let discovery = json!({"release": release, "groups": groups["groups"], "resources": lists});
    files.insert(
        "apiserver/data/discovery.json".to_owned(),
        (serde_json::to_string_pretty(&discovery)? + "\n").into_bytes(),
    );
    Ok(files)
}

/// The OpenAPI documents of groups, of the lists of groups and versions, and of the release.
async fn others(client: &Client) -> anyhow::Result<BTreeMap<String, Value>> {
    let index: Value = serde_json::from_str(&get(client, "/openapi/v3").await?)?;
    let mut others = BTreeMap::new();
    for path in index["paths"].as_object().into_iter().flat_map(Map::keys) {
        let is_group = path.strip_prefix("apis/").is_some_and(|rest| !rest.contains('/'));
        if is_group || ["api", "apis", "version"].contains(&path.as_str()) {
            others.insert(
                path.clone(),
                serde_json::from_str(&get(client, &format!("/openapi/v3/{path}")).await?)?,
            );
        }
    }
    Ok(others)
}

fn packed(content: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content)?;
    Ok(encoder.finish()?)
}

/// The schemas without prose, and of the paths only that they are there.
fn for_merging(document: &Value) -> Value {
    let mut schemas = document["components"]["schemas"].clone();
    if let Some(schemas) = schemas.as_object_mut() {
        schemas.values_mut().for_each(strip);
    }
    json!({"openapi": "3.0.0", "paths": paths(&document["paths"]), "components": {"schemas": schemas}})
}

fn strip(schema: &mut Value) {
    let Value::Object(members) = schema else { return };
    for name in PROSE {
        members.remove(name);
    }
    for name in ["items", "additionalProperties"] {
        members.get_mut(name).into_iter().for_each(strip);
    }
    members.get_mut("allOf").and_then(Value::as_array_mut).into_iter().flatten().for_each(strip);
    members
        .get_mut("properties")
        .and_then(Value::as_object_mut)
        .into_iter()
        .flatten()
        .for_each(|(_, of)| strip(of));
}

/// The paths that show which kinds have a status and a scale, with their kinds.
fn paths(paths: &Value) -> Map<String, Value> {
    let is_of_one =
        |path: &str| ["", "/status", "/scale"].iter().any(|end| path.ends_with(&format!("/{{name}}{end}")));
    let paths = paths.as_object().into_iter().flatten();
    let paths = paths.filter(|(path, _)| is_of_one(path) && !path.contains("/watch/"));
    let kind = |path: &Value| json!({"get": {KIND: path["get"][KIND]}});
    paths.map(|(name, path)| (name.clone(), kind(path))).collect()
}
