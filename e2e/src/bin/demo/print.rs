//! How the demo speaks, in a terminal of 100 columns: headings, sentences, code, tables. What it says is others' business.
//!
//! What is longer than a line has a blank line before it, and none after it. Colours are dropped where standard output is
//! no terminal or `NO_COLOR` is set; nothing is told by colour alone.

use std::time::Duration;

use anstream::println;
use anstyle::{AnsiColor, Style};

use baton_e2e::Table;

const WIDTH: usize = 100;
const INDENT: &str = "   ";

const STRONG: Style = Style::new().bold();
const FAINT: Style = Style::new().dimmed();
const CODE: Style = AnsiColor::Cyan.on_default();
const GOOD: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// The title of an act, with its number.
pub(crate) fn heading(number: usize, title: &str) {
    let rule = "─".repeat(WIDTH.saturating_sub(title.chars().count() + 4));
    println!("\n{STRONG}{number}  {title}{STRONG:#} {FAINT}{rule}{FAINT:#}");
}

/// A paragraph.
pub(crate) fn say(text: &str) {
    println!();
    for line in wrap(text, WIDTH - INDENT.len()) {
        println!("{INDENT}{line}");
    }
}

/// Something that is typed or read by machines, line by line.
pub(crate) fn code(text: &str) {
    println!();
    for line in text.lines() {
        println!("{INDENT}  {CODE}{line}{CODE:#}");
    }
}

/// A table, under a title if it has one.
pub(crate) fn table<const N: usize>(title: &str, table: &Table<N>) {
    let (header, rows) = table.lines();
    println!();
    if !title.is_empty() {
        println!("{INDENT}{STRONG}{title}{STRONG:#}");
    }
    println!("{INDENT}{FAINT}{header}{FAINT:#}");
    for row in rows {
        println!("{INDENT}{row}");
    }
}

/// Before the claims that follow from what was shown.
pub(crate) fn gap() {
    println!();
}

/// A claim that was checked and holds.
pub(crate) fn holds(claim: &str) {
    println!("{INDENT}{GOOD}✓{GOOD:#} {claim}");
}

/// A claim that was checked and doesn't hold.
pub(crate) fn broken(claim: &str, expected: &str, seen: &str) {
    println!("{INDENT}{BAD}✗{BAD:#} {STRONG}{claim}{STRONG:#}");
    println!("{INDENT}  expected: {expected}");
    println!("{INDENT}  seen:     {seen}");
}

/// What a program wrote, under a title.
pub(crate) fn log(title: &str, lines: &str) {
    println!("\n{INDENT}{STRONG}{title}{STRONG:#}");
    for line in lines.lines() {
        println!("{INDENT}{line}");
    }
}

/// A span of time for eyes: `2.4 s`.
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
