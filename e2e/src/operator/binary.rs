//! The operator's binary: given by `BATON_BIN`, or built by cargo.

use std::{
    env,
    io::{IsTerminal as _, stderr},
    path::PathBuf,
    process::{Command, Stdio},
    sync::Mutex,
};

use baton_testbed::{Error, lock, process, workspace};
use serde::Deserialize;

/// The name of the binary and of its target.
const NAME: &str = "baton";

/// The needed part of a line of `cargo build --message-format=json`.
#[derive(Deserialize)]
struct Message {
    reason: String,
    target: Option<Target>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

/// The path of the binary. It is built once in this process. Blocks the thread.
pub(crate) fn find() -> Result<PathBuf, Error> {
    static BUILT: Mutex<Option<PathBuf>> = Mutex::new(None);
    if let Some(given) = env::var_os("BATON_BIN").filter(|value| !value.is_empty()) {
        return Ok(PathBuf::from(given));
    }
    let mut built = lock(&BUILT);
    if let Some(binary) = &*built {
        return Ok(binary.clone());
    }
    let binary = build()?;
    *built = Some(binary.clone());
    Ok(binary)
}

/// `cargo test` has built the operator's library, but not its binary: cargo does that only for tests of the same package.
/// `--workspace` makes cargo choose the same features as that build did, so that little is left to do.
fn build() -> Result<PathBuf, Error> {
    let root = workspace();
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(&cargo);
    command.current_dir(root).args(["build", "--workspace", "--bin", NAME, "--message-format=json"]);
    for (name, _) in env::vars_os().filter(|(name, _)| is_of_the_outer_package(&name.to_string_lossy())) {
        command.env_remove(name);
    }
    if stderr().is_terminal() {
        // For a user in a terminal, cargo shows what it compiles, or which lock it waits for.
        command.stderr(Stdio::inherit());
    } else {
        command.arg("--quiet");
    }
    if !cfg!(debug_assertions) {
        command.arg("--release");
    }
    let output = command.stdin(Stdio::null()).output().map_err(Error::spawn(cargo.to_string_lossy()))?;
    if !output.status.success() {
        return Err(Error::Failed {
            command: format!("cargo build --workspace --bin {NAME}"),
            folder: root.to_owned(),
            status: output.status,
            output: process::last_lines(&String::from_utf8_lossy(&output.stderr), 40),
        });
    }
    let messages = String::from_utf8_lossy(&output.stdout).into_owned();
    executable(&messages).ok_or_else(|| Error::parse("the messages of cargo build")("they name no binary"))
}

/// Whether cargo sets this variable for a program that it runs, to describe that program's package. A build script that reads
/// such a variable would run again, and much would be compiled again, each time a build follows one outside of cargo.
fn is_of_the_outer_package(variable: &str) -> bool {
    variable.starts_with("CARGO_PKG_") || variable.starts_with("CARGO_MANIFEST_")
}

fn executable(messages: &str) -> Option<PathBuf> {
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<Message>(line).ok())
        .filter(|message| message.reason == "compiler-artifact")
        .filter(|message| message.target.as_ref().is_some_and(|target| target.name == NAME))
        .find_map(|message| message.executable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_binary_is_the_one_that_cargo_names() {
        let messages = concat!(
            r#"{"reason":"compiler-artifact","target":{"name":"baton_controller"},"executable":null}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"name":"other"},"executable":"/target/debug/other"}"#,
            "\n",
            r#"{"reason":"compiler-artifact","target":{"name":"baton"},"executable":"/target/debug/baton"}"#,
            "\n",
            r#"{"reason":"build-finished","success":true}"#,
        );
        assert_eq!(executable(messages), Some(PathBuf::from("/target/debug/baton")));
        assert_eq!(executable(r#"{"reason":"build-finished","success":true}"#), None);
    }
}
