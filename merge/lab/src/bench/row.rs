//! The measured operations.

use std::fmt;

/// A row of the table, for each object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// An apply that creates the object.
    Create,
    /// An apply that changes a field of the live object.
    Apply,
    /// An apply of the manager's last intent: nothing changes.
    ApplyAgain,
    /// An update by another manager that changes a few fields.
    Update,
    /// The difference between the live object and the one after the update.
    Compare,
    /// The field set of the live object.
    ToSet,
    /// Reading the field sets of all its managers.
    Read,
    /// Writing them.
    Write,
    /// The field set of the whole object united with that of the intent.
    Union,
    /// The field set of the whole object without that of the intent.
    Difference,
    /// Detecting that an apply is a no-op. The core has a check for that; in Go it is the apply again, the same as
    /// [`ApplyAgain`](Self::ApplyAgain).
    PredictNoop,
}

impl Row {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 11] = [
        Self::Create,
        Self::Apply,
        Self::ApplyAgain,
        Self::Update,
        Self::Compare,
        Self::ToSet,
        Self::Read,
        Self::Write,
        Self::Union,
        Self::Difference,
        Self::PredictNoop,
    ];

    /// The name of the row in the table and in the protocol.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Apply => "apply",
            Self::ApplyAgain => "apply again",
            Self::Update => "update",
            Self::Compare => "compare",
            Self::ToSet => "to_set",
            Self::Read => "field set read",
            Self::Write => "field set write",
            Self::Union => "union",
            Self::Difference => "difference",
            Self::PredictNoop => "predict no-op",
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
