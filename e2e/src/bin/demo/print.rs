//! The demo's output in a terminal of 80 columns: headings, sentences, code, tables.
//!
//! A text of several lines has a blank line before it, and none after it. Colours are dropped if standard output isn't a
//! terminal or `NO_COLOR` is set; no colour carries information of its own.

use std::{
    fmt::Display,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::Duration,
};

use anstream::{adapter::strip_str, println};
use anstyle::{AnsiColor, Style};

use baton_e2e::Table;

const WIDTH: usize = 80;
const INDENT: &str = "   ";

const STRONG: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
const CODE: Style = AnsiColor::Cyan.on_default();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// How long a character takes to read, for slow printing.
const READING: Duration = Duration::from_millis(25);

static SLOW: AtomicBool = AtomicBool::new(false);

/// From now on prints at reading speed.
pub(crate) fn slowly() {
    SLOW.store(true, Ordering::Relaxed);
}

/// Prints a line. The pause doesn't use tokio's time, which may be paused.
fn put(line: impl Display) {
    println!("{line}");
    if SLOW.load(Ordering::Relaxed) {
        let characters = strip_str(&line.to_string()).to_string().chars().count();
        thread::sleep(READING * u32::try_from(characters).unwrap_or_default());
    }
}

/// The title of a chapter, with its number.
pub(crate) fn heading(number: usize, title: &str) {
    let title = format!("{number}  {title}");
    let rule = "─".repeat(WIDTH.saturating_sub(title.chars().count() + 1));
    put(format_args!("\n{STRONG}{title}{STRONG:#} {FAINT}{rule}{FAINT:#}"));
}

/// A paragraph.
pub(crate) fn text(text: &str) {
    put("");
    for line in wrap(text, WIDTH - INDENT.len()) {
        put(format_args!("{INDENT}{line}"));
    }
}

/// Commands, manifests or output, line by line.
pub(crate) fn code(text: &str) {
    put("");
    for line in text.lines() {
        put(format_args!("{INDENT}  {CODE}{line}{CODE:#}"));
    }
}

/// A table, under a title if it has one.
pub(crate) fn table<const N: usize>(title: &str, table: &Table<N>) {
    let (header, rows) = table.lines();
    put("");
    if !title.is_empty() {
        put(format_args!("{INDENT}{STRONG}{title}{STRONG:#}"));
    }
    put(format_args!("{INDENT}{FAINT}{header}{FAINT:#}"));
    for row in rows {
        put(format_args!("{INDENT}{row}"));
    }
}

/// A blank line before claims.
pub(crate) fn gap() {
    put("");
}

/// A claim that was checked and holds.
pub(crate) fn holds(claim: &str) {
    put(format_args!("{INDENT}{GOOD}✓{GOOD:#} {claim}"));
}

/// A claim that was checked and doesn't hold.
pub(crate) fn broken(claim: &str, expected: &str, seen: &str) {
    put(format_args!("{INDENT}{BAD}✗{BAD:#} {STRONG}{claim}{STRONG:#}"));
    put(format_args!("{INDENT}  expected: {expected}"));
    put(format_args!("{INDENT}  seen:     {seen}"));
}

/// The output of a program, under a title.
pub(crate) fn log(title: &str, lines: &str) {
    put(format_args!("\n{INDENT}{STRONG}{title}{STRONG:#}"));
    for line in lines.lines() {
        put(format_args!("{INDENT}{line}"));
    }
}

/// A time for people: `2.4 s`.
pub(crate) fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

/// The words of a text in lines of at most `width` characters; a longer word has a line of its own.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_fill_lines_up_to_the_width_and_are_never_cut() {
        assert_eq!(wrap("one two  three\nfour", 8), ["one two", "three", "four"]);
        assert_eq!(wrap("unbreakable ü ö", 3), ["unbreakable", "ü ö"]);
        assert_eq!(wrap("", 8), [""; 0]);
    }
}
