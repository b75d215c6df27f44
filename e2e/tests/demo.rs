//! `cargo demo`, as a new user runs it, and its recording in the README.

use std::{
    fs,
    process::{Command, Stdio},
};

use anstream::adapter::strip_str;
use baton_e2e::pictures::terminal::{Recording, acts};
use baton_testbed::workspace;

/// The width of a terminal.
const COLUMNS: usize = 80;

#[test]
fn the_claims_of_the_demo_hold_and_its_lines_fit_a_terminal() {
    let output = Command::new(env!("CARGO_BIN_EXE_demo")).stdin(Stdio::null()).output().unwrap();
    let [shown, errors] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(output.status.success(), "{shown}{errors}");
    let too_wide: Vec<&str> = shown.lines().filter(|line| line.chars().count() > COLUMNS).collect();
    assert!(too_wide.is_empty(), "wider than {COLUMNS} columns:\n{}", too_wide.join("\n"));

    let recording = fs::read(workspace().join("docs/pictures/demo.json")).unwrap();
    let recording: Recording = serde_json::from_slice(&recording).unwrap();
    // Times differ in each run.
    let timeless = |text: &str| acts(&strip_str(text).to_string()).replace(|c: char| c.is_ascii_digit(), "0");
    assert_eq!(timeless(&recording.output), timeless(&shown), "record it again: cargo pictures demo");
}
