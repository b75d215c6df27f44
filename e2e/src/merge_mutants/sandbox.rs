//! A copy of the merge core that may be broken: a workspace of its own in a temporary folder, with the merge core and its
//! driver. What is built there stays in the target folder, so that the dependencies are built once.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use baton_testbed::workspace;

use super::{Error, Mutation};

/// What the sandbox has of the workspace's packages.
const MEMBERS: &str = r#"members = ["merge", "merge/driver"]"#;
/// The profile of the programs that are built: fast, and built in a few seconds after a change.
const PROFILE: &str = "harness";

/// A copy of the merge core.
pub struct Sandbox {
    folder: tempfile::TempDir,
    target: PathBuf,
}

impl Sandbox {
    /// Copies the merge core as it is in the working tree now.
    pub fn new() -> Result<Self, Error> {
        let from = workspace();
        let folder = tempfile::tempdir().map_err(Error::file("make a folder in", env::temp_dir()))?;
        copy(&from.join("merge"), &folder.path().join("merge"))?;
        let manifest = from.join("Cargo.toml");
        write(&folder.path().join("Cargo.toml"), &with_members(&read(&manifest)?, &manifest)?)?;
        write(&folder.path().join("Cargo.lock"), &read(&from.join("Cargo.lock"))?)?;
        let target = env::var_os("CARGO_TARGET_DIR").map_or_else(|| from.join("target"), PathBuf::from);
        Ok(Self { folder, target: target.join("merge-mutants") })
    }

    /// Whether a mutation fits the source.
    pub fn check(&self, mutation: &Mutation) -> Result<(), Error> {
        mutation.applied_to(&read(&self.source(mutation))?).map(drop)
    }

    fn source(&self, mutation: &Mutation) -> PathBuf {
        self.folder.path().join("merge/src").join(mutation.file)
    }

    /// Builds the driver, broken by `mutation` if there is one, and hands it to `judge`. The copy is whole again
    /// afterwards.
    pub fn with<T>(
        &self,
        mutation: Option<&Mutation>,
        judge: impl FnOnce(&Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let Some(mutation) = mutation else {
            self.build("none")?;
            return judge(self);
        };
        let path = self.source(mutation);
        let whole = read(&path)?;
        write(&path, &mutation.applied_to(&whole)?)?;
        let judged = self.build(mutation.name).and_then(|()| judge(self));
        write(&path, &whole)?;
        judged
    }

    /// The program that was built last.
    pub fn driver(&self) -> PathBuf {
        self.target.join(PROFILE).join("examples").join("driver")
    }

    fn build(&self, name: &'static str) -> Result<(), Error> {
        let output = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
            .args(["build", "--quiet", "--package", "baton-merge", "--example", "driver"])
            // The lock file of the workspace names more than is needed here, and everything needed.
            .args(["--offline", "--profile", PROFILE])
            .current_dir(self.folder.path())
            .env("CARGO_TARGET_DIR", &self.target)
            .output()
            .map_err(Error::Cargo)?;
        if output.status.success() {
            return Ok(());
        }
        Err(Error::Build { name, output: String::from_utf8_lossy(&output.stderr).into_owned() })
    }
}

/// The manifest of the workspace with the members of the sandbox only.
fn with_members(manifest: &str, path: &Path) -> Result<String, Error> {
    let members = manifest.lines().find(|line| line.starts_with("members = ["));
    let members = members.ok_or_else(|| Error::NoMembers { path: path.to_owned() })?;
    Ok(manifest.replacen(members, MEMBERS, 1))
}

/// Copies a folder with all that is in it, except what was built there.
fn copy(from: &Path, to: &Path) -> Result<(), Error> {
    fs::create_dir_all(to).map_err(Error::file("create", to))?;
    for entry in fs::read_dir(from).map_err(Error::file("read", from))? {
        let entry = entry.map_err(Error::file("read", from))?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            if entry.file_name() != "target" {
                copy(&source, &target)?;
            }
        } else {
            fs::copy(&source, &target).map_err(Error::file("copy", &source))?;
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(Error::file("read", path))
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(Error::file("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sandbox_has_the_members_that_it_needs() {
        let manifest = "[workspace]\nmembers = [\"a\", \"b\"]\n[profile.x]\n";
        let own = with_members(manifest, Path::new("Cargo.toml")).unwrap();
        assert_eq!(own, format!("[workspace]\n{MEMBERS}\n[profile.x]\n"));
        with_members("[workspace]\n", Path::new("Cargo.toml")).unwrap_err();
    }
}
