//! Sessions in a terminal, as pages: text, files, and commands with their output. A test runs the commands and compares the page with
//! what they print; or writes that.
//!
//! A file is a block of YAML that begins with its name in a comment. A command begins with `$ ` in a `console` block; behind `&`, the
//! next one runs while it goes on.

use std::{fmt::Write as _, time::Duration};

use baton_testbed::Error;

/// How long a command needs until its watch has begun.
const UNDER_WAY: Duration = Duration::from_secs(1);
/// The fences of blocks that mean something.
const CONSOLE: &str = "```console";
const YAML: &str = "```yaml";
const END: &str = "```";
/// The beginning of a command.
const PROMPT: &str = "$ ";
/// The beginning of a file's name.
const FILE: &str = "# ";

/// The world of the commands of a session.
pub trait World {
    /// Saves a file for the commands.
    fn save(&self, name: &str, text: &str) -> Result<(), Error>;

    /// The output of a command, see [`output`]. `old` is the page's, for a command that this world can't run.
    fn run(&self, command: &str, old: &str) -> impl Future<Output = Result<String, Error>>;

    /// Called between two commands.
    fn pause(&self) -> impl Future<Output = ()>;
}

/// The text of a page about a command: its output, and its exit code if that isn't 0.
pub fn output(mut text: String, code: i32) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    if code != 0 {
        let _ = writeln!(text, "(exit code {code})");
    }
    text
}

/// A part of a page.
#[derive(Clone, Debug)]
enum Part {
    /// Lines that stay as they are.
    Text(String),
    /// A file for the commands that follow, with its name.
    File(String, String),
    /// A command, and its output.
    Command(String, String),
}

/// A page, or a section of one.
#[derive(Clone, Debug)]
pub struct Page(Vec<Part>);

impl Page {
    /// Reads a page.
    pub fn parse(text: &str) -> Self {
        let mut parts = vec![Part::Text(String::new())];
        let (mut is_console, mut is_yaml) = (false, false);
        for line in text.lines() {
            let keep = |parts: &mut Vec<Part>| match parts.last_mut() {
                Some(Part::Text(text)) => add(text, line),
                _ => parts.push(Part::Text(format!("{line}\n"))),
            };
            match line {
                CONSOLE | YAML => {
                    (is_console, is_yaml) = (line == CONSOLE, line == YAML);
                    keep(&mut parts);
                }
                END => {
                    (is_console, is_yaml) = (false, false);
                    keep(&mut parts);
                }
                _ if is_console => match (line.strip_prefix(PROMPT), parts.last_mut()) {
                    (Some(command), _) => parts.push(Part::Command(command.to_owned(), String::new())),
                    (None, Some(Part::Command(_, output))) => add(output, line),
                    (None, _) => keep(&mut parts),
                },
                _ if is_yaml => match (line.strip_prefix(FILE), parts.last_mut()) {
                    (Some(name), Some(Part::Text(_))) if name.strip_suffix(".yaml").is_some() => {
                        parts.push(Part::File(name.to_owned(), String::new()));
                    }
                    (_, Some(Part::File(_, text))) => add(text, line),
                    _ => keep(&mut parts),
                },
                _ => keep(&mut parts),
            }
        }
        Self(parts)
    }

    /// The page with the output that its commands have in this world.
    ///
    /// # Errors
    /// When a command can't be run. That it fails is part of its output.
    pub async fn play(&self, world: &impl World) -> Result<String, Error> {
        let mut played = String::new();
        let mut parts = self.0.iter();
        while let Some(part) = parts.next() {
            match part {
                Part::Text(text) => played += text,
                Part::File(name, text) => {
                    world.save(name, text)?;
                    let _ = write!(played, "{FILE}{name}\n{text}");
                }
                Part::Command(command, old) => match (command.strip_suffix(" &"), parts.as_slice().first()) {
                    (Some(longer), Some(Part::Command(next, old_of_it))) => {
                        let later = async {
                            tokio::time::sleep(UNDER_WAY).await;
                            world.run(next, old_of_it).await
                        };
                        let (first, second) = tokio::join!(world.run(longer, old), later);
                        let _ = write!(played, "{PROMPT}{command}\n{}{PROMPT}{next}\n{}", first?, second?);
                        parts.next();
                    }
                    _ => {
                        let output = world.run(command, old).await?;
                        let _ = write!(played, "{PROMPT}{command}\n{output}");
                        world.pause().await;
                    }
                },
            }
        }
        Ok(played)
    }
}

fn add(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}
