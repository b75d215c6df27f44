//! Baton's image, built from the repository's own Dockerfile as `docker build` builds it, but without a registry. An image with
//! nothing but mount points replaces the builder's base, and this machine's own toolchain, C compiler and downloaded crates are
//! mounted there. This module knows only one argument of the Dockerfile: the one that names the base.

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use baton_testbed::{
    Error,
    node::{Image, Store},
    workspace,
};

/// Replaces the builder that the Dockerfile names by digest, which only a registry has.
const BASE: &str = "docker.io/library/rust:1.95.0";
/// The recipe of the base: with the toolchain and the downloaded crates, without a network.
const BASE_RECIPE: &str = "FROM scratch\n\
    COPY . /\n\
    ENV PATH=/opt/toolchain/bin:/usr/bin CARGO_HOME=/opt/cargo CARGO_NET_OFFLINE=true\n";
/// Folders of this machine that are mounted over the base's own: a C compiler and a shell.
const HOST: [&str; 6] =
    ["/etc/alternatives", "/usr/bin", "/usr/include", "/usr/lib", "/usr/lib64", "/usr/libexec"];
/// Other folders of the base: mount points, or folders that just have to exist.
const FOLDERS: [&str; 5] = ["/opt/toolchain", "/opt/cargo/registry", "/root", "/tmp", "/usr/local"];
/// Links of a merged `/usr`.
const LINKS: [&str; 3] = ["bin", "lib", "lib64"];
/// The files that the image depends on: the operator's crates, and how they are built. Other files don't change the image.
const SOURCES: [&str; 12] = [
    ".dockerignore",
    "Cargo.lock",
    "Cargo.toml",
    "Dockerfile",
    "apply",
    "controller",
    "crd",
    "manifests/components/secure-metrics/clusterrole-metrics-auth.yaml",
    "manifests/deploy/role.yaml",
    "manifests/rbac/clusterrole.yaml",
    "merge",
    "release/build.sh",
];

/// The operator's image as the repository's Dockerfile makes it, labelled and tagged with this version, by the name that
/// the manifests have.
///
/// The first build takes minutes, later ones what has changed; cargo's target folder is kept beside the images.
///
/// # Errors
/// When it can't be built: the message shows the end of buildah's output. This blocks.
pub fn image(version: &str) -> Result<Image, Error> {
    let root = workspace();
    let mut content = vec![toolchain(root, &["-vV"])?.into_bytes()];
    for source in SOURCES {
        collect(root, Path::new(source), &mut content)?;
    }
    let store = Store::open()?;
    let name = format!("registry.invalid/baton:{version}");
    store.once(&name, &content, |store| {
        eprintln!("baton-e2e: building the image {name} from the Dockerfile");
        let began = Instant::now();
        make_base(store)?;
        build(store, root, &name, version)?;
        eprintln!("baton-e2e: built the image {name} in {} s", began.elapsed().as_secs());
        Ok(())
    })
}

fn build(store: &Store, root: &Path, name: &str, version: &str) -> Result<(), Error> {
    let mut command = store.buildah("build");
    let host = HOST.map(|folder| (PathBuf::from(folder), folder)).into_iter();
    let toolchain = (PathBuf::from(toolchain(root, &["--print", "sysroot"])?.trim()), "/opt/toolchain");
    let crates = (cargo_home().join("registry"), "/opt/cargo/registry");
    for (from, to) in host.filter(|(from, _)| from.is_dir()).chain([toolchain, crates]) {
        command.arg("--volume").arg(format!("{}:{to}:ro", from.display()));
    }
    for argument in [format!("RUST_IMAGE={BASE}"), format!("VERSION={version}")] {
        command.args(["--build-arg", &argument]);
    }
    command.args(["--tag", name]).arg(root);
    store.run(&command)
}

/// Builds the base from folders and links. The recipe is the only other file of its context.
fn make_base(store: &Store) -> Result<(), Error> {
    let context = tempfile::tempdir().map_err(Error::file("create a folder in", env::temp_dir()))?;
    for folder in HOST.iter().chain(&FOLDERS) {
        let folder = context.path().join(folder.trim_start_matches('/'));
        fs::create_dir_all(&folder).map_err(Error::file("create", &folder))?;
    }
    for link in LINKS {
        let path = context.path().join(link);
        symlink(format!("usr/{link}"), &path).map_err(Error::file("create", &path))?;
    }
    store.build(BASE, BASE_RECIPE, context.path())
}

/// The output of the compiler that the repository's toolchain file chooses.
fn toolchain(root: &Path, args: &[&str]) -> Result<String, Error> {
    let output = Command::new("rustc").args(args).current_dir(root).output();
    let output = output.map_err(Error::spawn("rustc"))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn cargo_home() -> PathBuf {
    let home = || PathBuf::from(env::var_os("HOME").unwrap_or_default()).join(".cargo");
    env::var_os("CARGO_HOME").filter(|value| !value.is_empty()).map_or_else(home, PathBuf::from)
}

/// Names and contents of all files at `path` below `root`, in the order of their names. A missing file adds only its name.
fn collect(root: &Path, path: &Path, content: &mut Vec<Vec<u8>>) -> Result<(), Error> {
    let whole = root.join(path);
    if whole.is_dir() {
        let entries = fs::read_dir(&whole).map_err(Error::file("read", &whole))?;
        let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        // Cargo's output, such as the fuzz targets, isn't a source, and the Dockerfile's context leaves it out too.
        names.retain(|name| name != "target");
        names.sort();
        return names.iter().try_for_each(|name| collect(root, &path.join(name), content));
    }
    content.push(path.as_os_str().as_encoded_bytes().to_vec());
    if whole.is_file() {
        content.push(fs::read(&whole).map_err(Error::file("read", whole))?);
    }
    Ok(())
}
