//! The documents that are made of scenarios: the [table] of all promises, and the [tutorial].

pub mod table;
pub mod tutorial;

use std::{env, fs, path::PathBuf};

use crate::{Error, merge_diff::workspace};

/// The environment variable that has documents written instead of compared.
pub const WRITE_DOCS: &str = "BATON_WRITE_DOCS";

/// A document in the folder `docs`.
#[derive(Clone, Debug)]
pub struct File {
    path: PathBuf,
    name: &'static str,
}

impl File {
    /// The one of this name, such as `seeds.md`.
    pub fn of(name: &'static str) -> Self {
        Self { path: workspace().join("docs").join(name), name }
    }

    /// What it says now; nothing where it isn't there yet.
    ///
    /// # Errors
    /// When it is there and can't be read.
    pub fn read(&self) -> Result<String, Error> {
        match fs::read_to_string(&self.path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
            outcome => outcome.map_err(Error::file("read", &self.path)),
        }
    }

    /// Whether it says this; with [`WRITE_DOCS`] set, it does afterwards.
    ///
    /// # Errors
    /// When it can't be read or written.
    pub fn is_up_to_date(&self, wanted: &str) -> Result<bool, Error> {
        if self.read()? == wanted {
            return Ok(true);
        }
        if env::var_os(WRITE_DOCS).is_none_or(|value| value.is_empty()) {
            return Ok(false);
        }
        fs::write(&self.path, wanted).map_err(Error::file("write", &self.path))?;
        Ok(true)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.name
    }
}
