//! The content of Baton's image.

use std::process::Command;

use baton_testbed::node::Image;
use serde_json::Value;

use crate::shared::{SharedNode, VERSION};

/// The largest allowed size of the image, in bytes.
const LIMIT: u64 = 15_000_000;

#[tokio::test]
#[ignore = "on a real node"]
async fn the_image_is_small_and_has_one_file_that_runs_without_root() {
    let Some(shared) = SharedNode::enter("image").await else { return };
    let image = baton_e2e::image(VERSION).unwrap();
    let size = image.archive().metadata().unwrap().len();
    shared.report(&format!("the image has {size} bytes"));
    assert!(size < LIMIT, "{size} bytes");

    let manifest: Value = serde_json::from_slice(&member(&image, "manifest.json")).unwrap();
    let config: Value =
        serde_json::from_slice(&member(&image, manifest[0]["Config"].as_str().unwrap())).unwrap();
    let config = &config["config"];
    assert_eq!(config["User"], "65532:65532");
    assert_eq!(config["Entrypoint"], serde_json::json!(["/baton"]));
    assert_eq!(config["Cmd"], serde_json::json!(["run"]));
    assert_eq!(config["Labels"]["org.opencontainers.image.version"], VERSION);
    assert_eq!(config["Labels"]["org.opencontainers.image.licenses"], "Apache-2.0");

    let mut files = Vec::new();
    for layer in manifest[0]["Layers"].as_array().unwrap() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("layer.tar");
        std::fs::write(&path, member(&image, layer.as_str().unwrap())).unwrap();
        let list = Command::new("tar").arg("-tf").arg(path).output().unwrap();
        files.extend(String::from_utf8(list.stdout).unwrap().lines().map(str::to_owned));
    }
    // No shell, no C library, no packages.
    assert_eq!(files, ["baton"]);
}

/// A file in the archive.
fn member(image: &Image, name: &str) -> Vec<u8> {
    let output = Command::new("tar").arg("-xOf").arg(image.archive()).arg(name).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}
