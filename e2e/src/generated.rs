//! Files that tests make: compared with what is checked in, or written.

use std::{env, fs};

use baton_testbed::{Error, workspace};

/// Environment variable with which such files are written instead of compared.
const WRITE: &str = "BATON_WRITE_DOCS";

/// The text of a file of the repository.
pub fn read(path: &str) -> Result<String, Error> {
    let file = workspace().join(path);
    fs::read_to_string(&file).map_err(Error::file("read", file))
}

/// Compares a file of the repository with the text that `cargo ARGS` makes of it, or writes that.
///
/// # Errors
/// With the difference and the command that writes the file, if it is stale.
pub fn up_to_date(path: &str, wanted: &str, args: &str) -> Result<(), Error> {
    let file = workspace().join(path);
    let found = fs::read_to_string(&file).unwrap_or_default();
    if found == wanted {
        return Ok(());
    }
    if env::var_os(WRITE).is_some_and(|value| !value.is_empty()) {
        return fs::write(&file, wanted).map_err(Error::file("write", file));
    }
    let diff = similar::TextDiff::from_lines(&*found, wanted);
    let diff = diff.unified_diff().header(path, "as it is made").to_string();
    Err(Error::parse(path)(format!("it is stale, run {WRITE}=1 cargo {args}\n{diff}")))
}

/// The text with another part between the end of `begin` and `end`.
///
/// # Panics
/// When the text doesn't have both.
pub fn with_part(text: &str, begin: &str, part: &str, end: &str) -> String {
    let (before, rest) = text.split_once(begin).unwrap_or_else(|| panic!("there is no {begin}"));
    let (_, after) = rest.split_once(end).unwrap_or_else(|| panic!("there is no {end}"));
    format!("{before}{begin}{part}{end}{after}")
}
