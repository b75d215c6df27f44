//! The output of `cargo demo` in a terminal of 80 columns, as a picture that scrolls.

use std::{
    env,
    process::{Command, Stdio},
};

use baton_testbed::Error;
use serde::{Deserialize, Serialize};
use styled_str::StyledString;
use term_transcript::{
    Transcript, UserInput,
    svg::{NamedPalette, ScrollOptions, Template, TemplateOptions},
};

/// Lines that are seen at once.
const LINES: usize = 24;
/// Of a line, in pixels, with a font of 14. The picture scrolls by whole lines, since all of its height is lines.
const HEIGHT: u8 = 18;
/// From this act on the demo is shown, up to but without the second.
const ACTS: [&str; 2] = ["4  ", "6  "];

/// A recording.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Recording {
    /// All that was written, with colours.
    pub output: String,
}

/// Runs the demo that was built beside this program.
///
/// # Errors
/// When it fails, or isn't there.
pub fn record() -> Result<Recording, Error> {
    let own = env::current_exe().map_err(Error::file("find", "this program"))?;
    let demo = own.with_file_name("demo");
    let output = Command::new(&demo)
        .env("CLICOLOR_FORCE", "1")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(Error::spawn("demo"))?;
    String::from_utf8(output.stdout)
        .map(|output| Recording { output })
        .map_err(Error::parse("what the demo wrote"))
}

/// Draws the two acts of a recording that show a handover and a takeover.
///
/// # Panics
/// When the recording isn't one of a terminal.
pub fn svg(recording: &Recording) -> String {
    let mut transcript = Transcript::new();
    let shown = format!("$ cargo demo\n\n{}", acts(&recording.output));
    let output = StyledString::from_ansi(&shown).expect("the demo writes ANSI escapes");
    // The template pads a command that it draws itself.
    transcript.add_interaction(UserInput::command("cargo demo").hide(), output);
    let options = TemplateOptions {
        palette: NamedPalette::PowerShell.into(),
        line_height: Some(f64::from(HEIGHT) / 14.0),
        scroll: Some(ScrollOptions {
            max_height: (LINES * usize::from(HEIGHT)).try_into().expect("it isn't zero"),
            pixels_per_scroll: usize::from(HEIGHT).try_into().expect("it isn't zero"),
            interval: 1.0,
            ..ScrollOptions::default()
        }),
        ..TemplateOptions::default()
    };
    let template = Template::pure_svg(options.validated().expect("the options are valid"));
    let mut svg = Vec::new();
    template.render(&transcript, &mut svg).expect("a Vec takes everything");
    // Some of the template's lines end as on Windows.
    String::from_utf8(svg).expect("an SVG is text").replace("\r\n", "\n")
}

/// The lines of the acts that are shown.
pub fn acts(output: &str) -> String {
    let plain = |line: &str| anstream::adapter::strip_str(line).to_string();
    let from = |line: &&str| !plain(line).starts_with(ACTS[0]);
    let lines = output.lines().skip_while(from).take_while(|line| !plain(line).starts_with(ACTS[1]));
    lines.collect::<Vec<_>>().join("\n")
}
