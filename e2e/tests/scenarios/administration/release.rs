//! The files of a release install what the repository installs, with the image of the release.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Output},
};

use baton_e2e::guide;
use baton_merge::yaml;
use serde_json::{Value, json};

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

/// Programs that stand for those that need a registry or a network: scripts, which come before others in `PATH`.
struct Programs(tempfile::TempDir);

impl Programs {
    fn new(scripts: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, script) in scripts {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, format!("#!/usr/bin/env bash\nset -euo pipefail\n{script}")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self(folder)
    }

    fn release(&self, script: &str, args: &[&str]) -> Output {
        let mut folders = vec![self.0.path().to_owned()];
        folders.extend(env::split_paths(&env::var_os("PATH").unwrap()));
        let mut command = Command::new(repository("release").join(script));
        command.env("PATH", env::join_paths(folders).unwrap()).env("BATON_CACHE_DIR", self.0.path());
        command.env("LOG", self.0.path().join("log")).args(args).output().unwrap()
    }

    /// The log of the programs.
    fn log(&self) -> String {
        fs::read_to_string(self.0.path().join("log")).unwrap_or_default()
    }
}

/// A Docker whose registry responds to a look at the tag with `tag`.
fn docker(tag: &str) -> Programs {
    let script = r#"
echo "$1 $2" >>"$LOG"
case "$*" in
    "buildx imagetools inspect --raw "*)
        echo '{"manifests": [{"digest": "sha256:a", "platform": {"architecture": "amd64"}}, {"digest": "sha256:b", "platform": {"architecture": "arm64"}}]}' ;;
    "buildx imagetools inspect "*) TAG ;;
    "buildx create") echo builder ;;
    "buildx rm "*) ;;
    "buildx build "*)
        echo "SOURCE_DATE_EPOCH=$SOURCE_DATE_EPOCH" >>"$LOG"
        while [[ $1 != --metadata-file ]]; do shift; done
        echo '{"containerimage.digest": "sha256:new"}' >"$2" ;;
    "create "*) echo "${*: -1}" >>"$LOG"; echo "container-$3" ;;
    "cp "*) echo "$3" >"${*: -1}" ;;
    "rm "*) ;;
    *) echo "unexpected: $*" >&2; exit 9 ;;
esac
"#;
    Programs::new(&[("docker", &script.replace("TAG", tag))])
}

fn git(args: &[&str]) -> String {
    let output = Command::new("git").current_dir(repository("")).args(args).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn texts(output: &Output) -> [String; 2] {
    [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text).into_owned())
}

#[test]
fn an_image_is_pushed_once_for_each_version() {
    let folder = tempfile::tempdir().unwrap();
    let args = ["0.1.0", IMAGE, folder.path().to_str().unwrap()];
    let digests = |digest: &str| format!("digest={digest}\namd64=sha256:a\narm64=sha256:b\n");

    let first = docker("echo 'ERROR: not found' >&2; exit 1");
    let [printed, error] = texts(&first.release("image.sh", &args));
    assert_eq!(printed, digests("sha256:new"), "{error}");
    let log = first.log();
    assert!(log.contains(&format!("{IMAGE}@sha256:new\n")), "the binaries are those of the digest: {log}");
    let time = git(&["log", "-1", "--format=%ct"]);
    assert!(log.contains(&format!("SOURCE_DATE_EPOCH={time}\n")), "{log}");
    assert_eq!(
        fs::read_to_string(folder.path().join("baton-linux-arm64")).unwrap(),
        "container-linux/arm64:/baton\n"
    );

    // The same commit again, and another one.
    let of = |revision: &str| {
        docker(&format!("case $* in *Digest*) echo sha256:old ;; *) echo {revision} ;; esac"))
    };
    let again = of(&git(&["rev-parse", "HEAD"]));
    let [printed, error] = texts(&again.release("image.sh", &args));
    assert_eq!(printed, digests("sha256:old"), "{error}");
    assert!(!again.log().contains("buildx build"), "{}", again.log());
    let other = of("0000");
    let refused = other.release("image.sh", &args);
    let [_, error] = texts(&refused);
    assert!(!refused.status.success() && error.contains("from the commit 0000"), "{error}");
    assert!(!other.log().contains("buildx build"), "{}", other.log());

    // A registry that doesn't respond isn't one without the tag.
    let down = docker("echo 'ERROR: 503' >&2; exit 1");
    assert!(!down.release("image.sh", &args).status.success());
    assert!(!down.log().contains("buildx build"), "{}", down.log());
}

/// Packs a chart `baton` of version 0.1.0 with this default.
fn package(folder: &Path, repository: &str) -> String {
    let chart = folder.join("baton");
    fs::create_dir_all(&chart).unwrap();
    fs::write(chart.join("Chart.yaml"), "name: baton\nversion: 0.1.0\n").unwrap();
    fs::write(chart.join("values.yaml"), format!("repository: {repository}\n")).unwrap();
    let file = folder.join("baton-0.1.0.tgz").display().to_string();
    let packed = Command::new("tar").args(["-czf", &file, "-C"]).arg(folder).arg("baton").status().unwrap();
    assert!(packed.success());
    file
}

#[test]
fn a_chart_is_pushed_once_for_each_version() {
    let [new, published, other] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    let file = package(new.path(), "a");
    let digest = format!("Digest: {DIGEST}");
    let helm = |pull: &str| {
        let script = format!(
            r#"
echo "$5" >>"$LOG"
case $5 in
    pull) while [[ $1 != --destination ]]; do shift; done; {pull} ;;
    push) echo "{digest}" >&2 ;;
esac
"#
        );
        Programs::new(&[("go", &script)])
    };
    let push = |programs: &Programs| {
        let output = programs.release("push-chart.sh", &[&file, "registry.example/charts"]);
        (output.status.success(), texts(&output)[0].trim().to_owned(), programs.log())
    };
    let first = helm("echo 'Error: not found' >&2; exit 1");
    assert_eq!(push(&first), (true, DIGEST.to_owned(), "pull\npush\n".to_owned()));
    let same = package(published.path(), "a");
    let again = helm(&format!("cp {same} \"$2\"; echo '{digest}'"));
    assert_eq!(push(&again), (true, DIGEST.to_owned(), "pull\n".to_owned()));
    let different = package(other.path(), "b");
    assert_eq!(
        push(&helm(&format!("cp {different} \"$2\"; echo '{digest}'"))),
        (false, String::new(), "pull\n".to_owned())
    );
    assert_eq!(push(&helm("echo 'Error: 503' >&2; exit 1")), (false, String::new(), "pull\n".to_owned()));
}

#[test]
fn the_sbom_has_the_c_library_and_the_standard_library() {
    let folder = tempfile::tempdir().unwrap();
    let [section, binary, sbom] =
        ["section", "binary", "sbom.json"].map(|name| folder.path().join(name).display().to_string());
    fs::write(&section, "glibc 2.41 libc6-dev 2.41-12+deb13u1").unwrap();
    let added = format!(".libc={section}");
    let added = Command::new("objcopy")
        .args(["--add-section", &added])
        .arg(env::current_exe().unwrap())
        .arg(&binary)
        .status();
    assert!(added.unwrap().success());
    let made = r#"echo '{"components": [{"name": "serde"}]}' >controller/baton.sbom.json"#;
    let programs = Programs::new(&[("tools/cargo-cyclonedx-0.5.9/bin/cargo-cyclonedx", made)]);
    let components = |args: &[&str]| -> Vec<[Value; 3]> {
        let output = programs.release("sbom.sh", args);
        assert!(output.status.success(), "{:?}", texts(&output));
        let document: Value = serde_json::from_str(&fs::read_to_string(&sbom).unwrap()).unwrap();
        let parts = |one: &Value| ["name", "version", "purl"].map(|field| one[field].clone());
        document["components"].as_array().unwrap().iter().map(parts).collect()
    };
    let found = components(&[&sbom, "amd64", &binary]);
    let names: Vec<&Value> = found.iter().map(|[name, ..]| name).collect();
    assert_eq!(names, ["serde", "rust-std", "glibc"]);
    assert_eq!(found[2][1], "2.41");
    assert_eq!(found[2][2], "pkg:deb/debian/libc6-dev@2.41-12%2Bdeb13u1");
    assert_eq!(components(&[&sbom]).len(), 2, "without the binary, only it is left out");
    let without =
        programs.release("sbom.sh", &[&sbom, "amd64", env::current_exe().unwrap().to_str().unwrap()]);
    assert!(
        !without.status.success() && texts(&without)[1].contains("no section .libc"),
        "{:?}",
        texts(&without)
    );
}

/// A job that signs or publishes runs no build script of a dependency, and takes no file of another job on trust.
#[test]
fn what_is_signed_is_out_of_reach_for_build_scripts() {
    let text = fs::read_to_string(repository(".github/workflows/release.yml")).unwrap();
    let workflow: Value = yaml::from_str(&text).unwrap();
    for (name, job) in workflow["jobs"].as_object().unwrap() {
        let writes = job["permissions"].as_object().unwrap().values().any(|permission| permission == "write");
        let steps = job["steps"].as_array().cloned().unwrap_or_default();
        let commands: String = steps.iter().filter_map(|step| step["run"].as_str()).collect();
        for compiles in ["crates.sh --dry-run", "plugin.sh", "sbom.sh", "cargo ", "pip"] {
            assert!(!writes || !commands.contains(compiles), "the job {name} runs {compiles}");
        }
    }
    let steps = workflow["jobs"]["draft"]["steps"].as_array().unwrap();
    let text = |step: &Value| {
        [&step["run"], &step["with"]["name"]].map(|one| one.as_str().unwrap_or_default().to_owned()).concat()
    };
    let draft: Vec<String> = steps.iter().map(text).collect();
    let at =
        |what: &str| draft.iter().position(|step| step.contains(what)).unwrap_or_else(|| panic!("no {what}"));
    let [binaries, sums] =
        [r#"binaries.sh "$IMAGE@$DIGEST" assets"#, r#"sha256sum --check --strict <<<"$SUMS""#].map(at);
    assert!(at("plugin") < sums && sums < at("release/assets.sh") && binaries < at("cosign sign-blob"));
    assert_eq!(workflow["jobs"]["plugin"]["outputs"], json!({"sums": "${{ steps.archives.outputs.sums }}"}));
}
