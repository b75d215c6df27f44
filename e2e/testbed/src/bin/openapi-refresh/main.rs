//! Writes what the API server says of its own kinds into the files that are made of it: for the CRD (`crd/openapi`), for
//! predictions without a cluster (`openapi/data`) and for the API server inside a process (`apiserver/data`).
//!
//! `--check` writes nothing, and fails when a file isn't what the control plane of this crate would make it.

mod apiserver;
mod crd;

use std::{collections::BTreeMap, fs, io::Read as _, path::Path};

use anyhow::{Context as _, bail};
use baton_testbed::{ControlPlane, workspace};
use clap::Parser;
use flate2::read::GzDecoder;
use kube::Client;
use serde_json::Value;

/// Refreshes what is made of the API server's schemas and lists of resources.
#[derive(Parser)]
struct Cli {
    /// Compare only, and fail when a file is stale.
    #[arg(long)]
    check: bool,
}

/// A document of the API server.
struct Document {
    text: String,
    parsed: Value,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let control_plane = ControlPlane::options().start().await?;
    let client = control_plane.admin().await?;
    let release = control_plane.version().await?;
    let documents = documents(&client).await?;
    let mut files = BTreeMap::from([(
        "crd/openapi/builtin.json".to_owned(),
        crd::file(&documents, &release)?.into_bytes(),
    )]);
    files.extend(apiserver::files(&client, &documents, &release).await?);
    let mut stale = Vec::new();
    for (name, content) in &files {
        let path = workspace().join(name);
        if read(&path) == unpacked(content) {
            continue;
        }
        stale.push(name.as_str());
        if !cli.check {
            fs::write(&path, content).with_context(|| format!("can't write {}", path.display()))?;
        }
    }
    match (stale.as_slice(), cli.check) {
        ([], _) => println!("{} files are those of {release}", files.len()),
        (stale, true) => bail!("stale: {}; run `cargo openapi-refresh` and `cargo crdgen`", stale.join(", ")),
        (stale, false) => println!("now those of {release}: {}; run `cargo crdgen`", stale.join(", ")),
    }
    Ok(())
}

/// What a file holds; nothing where there is none.
fn read(path: &Path) -> Vec<u8> {
    unpacked(&fs::read(path).unwrap_or_default())
}

/// The compressed bytes depend on the compressor.
fn unpacked(content: &[u8]) -> Vec<u8> {
    let mut unpacked = Vec::new();
    match GzDecoder::new(content).read_to_end(&mut unpacked) {
        Ok(_) => unpacked,
        Err(_) => content.to_vec(),
    }
}

/// The OpenAPI documents of all group versions, by their path.
async fn documents(client: &Client) -> anyhow::Result<BTreeMap<String, Document>> {
    let index: Value = serde_json::from_str(&get(client, "/openapi/v3").await?)?;
    let paths = index["paths"].as_object().context("the index of OpenAPI documents has no paths")?;
    let mut documents = BTreeMap::new();
    for path in paths.keys().filter(|path| *path == "api/v1" || path.matches('/').count() == 2) {
        if !path.starts_with("api") {
            continue;
        }
        let text = get(client, &format!("/openapi/v3/{path}")).await?;
        let parsed = serde_json::from_str(&text).with_context(|| format!("{path} is no JSON"))?;
        documents.insert(path.clone(), Document { text, parsed });
    }
    Ok(documents)
}

async fn get(client: &Client, path: &str) -> anyhow::Result<String> {
    let request = http::Request::get(path).header("accept", "application/json").body(Vec::new())?;
    client.request_text(request).await.with_context(|| format!("can't get {path}"))
}
