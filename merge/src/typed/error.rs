//! Schema violations.

use std::fmt;

use crate::fieldpath::PathElement;

/// All schema violations of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid(Vec<Violation>);

/// A schema violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The path as in conflict messages; empty for the value itself.
    pub path: String,
    /// The message.
    pub message: String,
}

impl Invalid {
    pub(super) fn whole(message: impl Into<String>) -> Self {
        Self(vec![Violation { path: String::new(), message: message.into() }])
    }

    /// The violations, at least one.
    pub fn violations(&self) -> &[Violation] {
        &self.0
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [violation] = self.0.as_slice() {
            return violation.fmt(f);
        }
        f.write_str("errors:")?;
        self.0.iter().try_for_each(|violation| write!(f, "\n  {violation}"))
    }
}

impl std::error::Error for Invalid {}

/// Collects violations during a walk; their paths are added on the way up.
#[derive(Default)]
pub(super) struct Violations(Vec<Violation>);

impl Violations {
    pub(super) fn add(&mut self, message: impl Into<String>) {
        self.0.push(Violation { path: String::new(), message: message.into() });
    }

    /// The count so far.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Adds an element to the paths of the violations since `before`.
    #[inline]
    pub(super) fn prefix(&mut self, before: usize, element: &PathElement<'_>) {
        if self.0.len() > before {
            prefix(&mut self.0[before..], element);
        }
    }

    /// Runs a part of the walk below an element.
    #[inline]
    pub(super) fn below(&mut self, element: &PathElement<'_>, walk: impl FnOnce(&mut Self)) {
        let before = self.0.len();
        walk(self);
        self.prefix(before, element);
    }

    pub(super) fn or<T>(self, value: T) -> Result<T, Invalid> {
        if self.0.is_empty() { Ok(value) } else { Err(Invalid(self.0)) }
    }
}

#[cold]
fn prefix(violations: &mut [Violation], element: &PathElement<'_>) {
    let prefix = element.to_string();
    for violation in violations {
        violation.path.insert_str(0, &prefix);
    }
}
