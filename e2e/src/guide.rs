//! The commands of a page of `docs/`, so that tests type the same commands as readers.

use std::{env, fs, path::Path, process::Stdio};

use baton_testbed::{
    Error,
    assets::{self, Assets, Program},
    blocking, workspace,
};
use tokio::process::Command;

/// The fence of a block, and the kind of blocks with commands.
const FENCE: &str = "```";
const COMMANDS: &str = "sh";

/// A fenced block of a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The heading that it is below.
    pub heading: String,
    /// The word after the fence, such as `sh` or `console`.
    pub kind: String,
    /// Its lines.
    pub text: String,
}

/// All blocks of a page, given by its path in the repository.
///
/// # Errors
/// When the page can't be read.
pub fn page(page: &str) -> Result<Vec<Block>, Error> {
    let path = workspace().join(page);
    Ok(blocks(&fs::read_to_string(&path).map_err(Error::file("read", &path))?))
}

/// The blocks of commands below this heading of a page, up to the next heading.
///
/// # Errors
/// When the page can't be read, or has no such heading with commands.
pub fn commands(name: &str, heading: &str) -> Result<Vec<String>, Error> {
    let is_wanted = |block: &Block| block.heading == heading && block.kind == COMMANDS;
    let found: Vec<String> = page(name)?.into_iter().filter(is_wanted).map(|block| block.text).collect();
    if found.is_empty() {
        return Err(Error::parse(name)(format!("it has no commands below the heading {heading}")));
    }
    Ok(found)
}

fn blocks(text: &str) -> Vec<Block> {
    let (mut found, mut heading) = (Vec::new(), String::new());
    let mut inside: Option<Block> = None;
    for line in text.lines() {
        match (&mut inside, line.strip_prefix(FENCE)) {
            (Some(_), Some("")) => found.extend(inside.take()),
            // A comment in a block isn't a heading.
            (Some(block), _) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            (None, Some(kind)) => {
                let (heading, kind) = (heading.clone(), kind.to_owned());
                inside = Some(Block { heading, kind, text: String::new() });
            }
            (None, None) if line.starts_with('#') => {
                line.trim_start_matches('#').trim().clone_into(&mut heading);
            }
            (None, None) => {}
        }
    }
    found
}

/// Runs commands in the root of the repository, with kubectl and Helm of this crate, for the cluster of the kubeconfig. It stops at
/// the first one that fails, and returns what they printed.
///
/// # Errors
/// When a command fails, with all that was printed before.
pub async fn run(kubeconfig: &Path, commands: &str) -> Result<String, Error> {
    run_in(workspace(), kubeconfig, commands).await
}

/// Like [`run`], in the folder of another version of this repository.
pub async fn run_in(folder: &Path, kubeconfig: &Path, commands: &str) -> Result<String, Error> {
    let path = blocking(path).await?;
    let output = Command::new("/bin/sh")
        .args(["-eu", "-c", commands])
        .current_dir(folder)
        .env("PATH", path)
        .env("KUBECONFIG", kubeconfig)
        .env("KUBERC", "off")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(Error::spawn("/bin/sh"))?;
    let [printed, errors] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    if output.status.success() {
        return Ok(printed.into_owned());
    }
    Err(Error::Failed {
        command: commands.to_owned(),
        folder: folder.to_owned(),
        status: output.status,
        output: format!("{printed}{errors}"),
    })
}

/// The `PATH` for commands, with kubectl and Helm of this crate first.
///
/// # Errors
/// When one of them can't be built.
pub fn path() -> Result<std::ffi::OsString, Error> {
    let programs = [Assets::locate(&[Program::Kubectl])?.path(Program::Kubectl), assets::helm()?];
    let ours = programs.iter().filter_map(|program| program.parent().map(Path::to_owned));
    let others = env::var_os("PATH").unwrap_or_default();
    env::join_paths(ours.chain(env::split_paths(&others))).map_err(Error::parse("the PATH"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# Page

```sh
first
```

## Two blocks

Words.

```sh
# Not a heading.
second
```

```yaml
no: command
```

```sh
third
```

### Below

```sh
fourth
```
";

    #[test]
    fn a_block_belongs_to_the_last_heading_before_it() {
        let found = blocks(PAGE);
        let found: Vec<[&str; 3]> =
            found.iter().map(|block| [&*block.heading, &*block.kind, &*block.text]).collect();
        assert_eq!(
            found,
            [
                ["Page", "sh", "first\n"],
                ["Two blocks", "sh", "# Not a heading.\nsecond\n"],
                ["Two blocks", "yaml", "no: command\n"],
                ["Two blocks", "sh", "third\n"],
                ["Below", "sh", "fourth\n"],
            ]
        );
    }

    #[test]
    fn a_missing_heading_is_an_error() {
        let error = commands("docs/install.md", "No such thing").unwrap_err().report();
        assert!(error.contains("No such thing"), "{error}");
    }
}
