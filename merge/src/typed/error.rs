//! What a schema refuses.

use std::fmt;

use crate::fieldpath::PathElement;

/// Everything that a schema refuses about a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid(Vec<Violation>);

/// One thing that a schema refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Where, as in conflict messages; empty for the value itself.
    pub path: String,
    /// What is wrong.
    pub message: String,
}

impl Invalid {
    pub(super) fn whole(message: impl Into<String>) -> Self {
        Self(vec![Violation { path: String::new(), message: message.into() }])
    }

    /// What is wrong, at least one thing.
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

/// Collects violations while a walk goes on, and knows nothing of where it is until one is found.
#[derive(Default)]
pub(super) struct Violations(Vec<Violation>);

impl Violations {
    pub(super) fn add(&mut self, message: impl Into<String>) {
        self.0.push(Violation { path: String::new(), message: message.into() });
    }

    /// How many there are so far.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Says that those found since there were `before` are below an element.
    #[inline]
    pub(super) fn prefix(&mut self, before: usize, element: &PathElement<'_>) {
        if self.0.len() > before {
            prefix(&mut self.0[before..], element);
        }
    }

    /// Runs a part of the walk that is one element deeper.
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
