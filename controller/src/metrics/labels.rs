//! The labels of the metrics and their values, as types, so that there are no values outside of the documented table.

use std::borrow::Cow;

use crate::decide::child::ChildKind;

/// A label with its value.
pub(super) type Label = (&'static str, Cow<'static, str>);

/// The label of a kind of child.
pub(super) fn kind(kind: ChildKind) -> Label {
    ("kind", kind.name().into())
}

/// The label of an outcome: the text of one of the enums below.
pub(super) fn outcome(text: &'static str) -> Label {
    ("outcome", text.into())
}

/// The label of a field manager.
pub(super) fn manager(name: impl Into<Cow<'static, str>>) -> Label {
    ("manager", name.into())
}

/// An enum whose variants are the values of a label, each with its text.
macro_rules! label_values {
    ($(#[$about:meta])* $name:ident { $($(#[$variant_about:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_about])* $variant,)+
        }

        impl $name {
            /// All values.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The value's text.
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }
    };
}

label_values! {
    /// How a pass for a Workload ended.
    ReconcileOutcome {
        /// Nothing is left to do until something changes.
        Settled = "settled",
        /// Something is left to do, so another pass follows after a pause.
        Unsettled = "unsettled",
        /// It ended early, or the Workload can't be read.
        Failed = "failed",
    }
}

label_values! {
    /// The result of an apply that was due.
    WriteOutcome {
        /// It was sent, and the server accepted it.
        Sent = "sent",
        /// It was skipped, because it would have changed nothing.
        Skipped = "skipped",
        /// The server refused it, and would refuse it again.
        Rejected = "rejected",
        /// It got no response, or one that isn't about the apply itself.
        Failed = "failed",
        /// The live object had changed since the apply was planned.
        Stale = "stale",
    }
}

label_values! {
    /// How the prediction of an apply compares with the server's response.
    PredictionOutcome {
        /// They are equal.
        Match = "match",
        /// They differ only in fields that the server fills in.
        ModuloDefaulting = "modulo-defaulting",
        /// They differ.
        Mismatch = "mismatch",
        /// The prediction was uncertain: only the server can know.
        Unknown = "unknown",
        /// There was no usable schema to predict with.
        None = "none",
    }
}

label_values! {
    /// The result of a check for newer schemas.
    RefreshOutcome {
        /// There were newer ones.
        Changed = "changed",
        /// There were none.
        Unchanged = "unchanged",
        /// They could not be read.
        Failed = "failed",
    }
}
