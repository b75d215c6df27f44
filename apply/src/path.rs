//! A field's path as a value that outlives the objects it was found in.

use std::{fmt, sync::Arc};

use baton_merge::fieldpath::Path;

/// A field's path, spelled as the API server spells it in a conflict: `.spec.containers[name="app"].image`.
///
/// Two paths are equal if they are spelled alike. The spelling can't be read back into the elements of the path, since the
/// name of a map key may contain dots; if you need the elements, use [`Path`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath(Arc<str>);

impl FieldPath {
    /// The path with this spelling, such as one from a status.
    pub fn spelled(text: &str) -> Self {
        Self(text.into())
    }

    /// Its spelling.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<Path<'_>> for FieldPath {
    fn from(path: Path<'_>) -> Self {
        Self(path.to_string().into())
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
