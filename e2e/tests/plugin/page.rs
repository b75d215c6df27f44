//! A page: text, files, and commands with their output.

use baton_testbed::Error;

use crate::world::World;

/// The fences of blocks that mean something.
const CONSOLE: &str = "```console";
const YAML: &str = "```yaml";
const END: &str = "```";
/// What begins a command.
const PROMPT: &str = "$ ";
/// What begins a file's text.
const FILE: &str = "# ";

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

#[derive(Debug)]
pub struct Page(Vec<Part>);

impl Page {
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
    pub async fn play(self, mut world: World) -> Result<String, Error> {
        let mut parts = self.0;
        let mut next = 0;
        while next < parts.len() {
            match &parts[next] {
                Part::Text(_) => {}
                Part::File(name, text) => world.save(name, text)?,
                Part::Command(command, old) => match command.strip_suffix(" &") {
                    None => {
                        let output = world.run(command, old).await?;
                        parts[next] = Part::Command(command.clone(), output);
                    }
                    // It goes on while the next one runs.
                    Some(longer) => {
                        let later =
                            (next + 1..parts.len()).find(|at| matches!(parts[*at], Part::Command(..)));
                        let Some(later) = later else { break };
                        let Part::Command(then, old_then) = &parts[later] else { break };
                        let (first, second) = world.run_both(longer, old, then, old_then).await?;
                        let (command, then) = (command.clone(), then.clone());
                        parts[next] = Part::Command(command, first);
                        parts[later] = Part::Command(then, second);
                        next = later;
                    }
                },
            }
            next += 1;
        }
        let text = parts.into_iter().map(|part| match part {
            Part::Text(text) => text,
            Part::File(name, text) => format!("{FILE}{name}\n{text}"),
            Part::Command(command, output) => format!("{PROMPT}{command}\n{output}"),
        });
        Ok(text.collect())
    }
}

fn add(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}
