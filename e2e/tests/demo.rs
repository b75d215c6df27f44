//! `cargo demo`, as a newcomer runs it.

use std::process::{Command, Stdio};

/// How wide a terminal is.
const COLUMNS: usize = 80;

#[test]
fn the_demo_holds_what_it_claims_in_lines_that_fit_a_terminal() {
    let output = Command::new(env!("CARGO_BIN_EXE_demo"))
        .stdin(Stdio::null())
        .env_remove("NO_COLOR")
        .output()
        .unwrap();
    let [shown, errors] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(output.status.success(), "{shown}{errors}");
    let too_wide: Vec<&str> = shown.lines().filter(|line| line.chars().count() > COLUMNS).collect();
    assert!(too_wide.is_empty(), "wider than {COLUMNS} columns:\n{}", too_wide.join("\n"));
}
