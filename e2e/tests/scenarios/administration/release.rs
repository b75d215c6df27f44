//! The files of a release install what the repository installs, with the image of the release.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use baton_e2e::guide;
use serde_json::Value;

use super::objects::{INSTALLATIONS, Id, Objects, helm, parse, rendered, repository};

const IMAGE: &str = "registry.example:5000/team/baton";
const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Runs a script of `release/`, with the kubectl of the tests.
fn release(script: &str, args: &[&str]) -> Output {
    let mut command = Command::new(repository("release").join(script));
    command.args(args).env("PATH", guide::path().unwrap()).output().unwrap()
}

fn released(script: &str, args: &[&str]) {
    let output = release(script, args);
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Sets the image of the operator's Deployment.
fn with_image(mut objects: Objects, image: &str) -> Objects {
    let id = Id { kind: "Deployment".into(), namespace: Some("baton-system".into()), name: "baton".into() };
    let containers = &mut objects.get_mut(&id).unwrap()["spec"]["template"]["spec"]["containers"];
    containers[0]["image"] = Value::from(image);
    objects
}

#[test]
#[ignore = "by kubectl"]
fn the_install_file_of_a_release_has_the_objects_that_kustomize_installs() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("install.yaml");
    for image in [format!("{IMAGE}@{DIGEST}"), format!("{IMAGE}:0.1.0")] {
        released("install-yaml.sh", &[&image, file.to_str().unwrap()]);
        let objects = parse(&fs::read_to_string(&file).unwrap());
        assert_eq!(objects, with_image(INSTALLATIONS[0].by_kustomize(), &image));
    }
}

#[test]
#[ignore = "by kubectl"]
fn an_install_file_is_not_written_for_an_image_without_digest_and_tag() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("install.yaml");
    // Neither has a digest or a tag; the colon is that of a port.
    for image in ["baton", IMAGE] {
        let output = release("install-yaml.sh", &[image, file.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(2), "{image}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(!file.exists());
    }
}

#[test]
#[ignore = "by Helm"]
fn the_chart_of_a_release_finds_the_image_of_the_release() {
    let folder = tempfile::tempdir().unwrap();
    released("chart.sh", &["0.1.0", IMAGE, folder.path().to_str().unwrap()]);
    let package = folder.path().join("baton-0.1.0.tgz");
    let repository = ["--set".to_owned(), format!("image.repository={IMAGE}")];
    assert_eq!(templated(&package), rendered("baton-system", &repository).unwrap());
}

fn templated(package: &Path) -> Objects {
    let output =
        helm().args(["template", "baton", "--namespace", "baton-system"]).arg(package).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    parse(&String::from_utf8(output.stdout).unwrap())
}
