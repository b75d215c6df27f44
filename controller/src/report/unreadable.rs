//! Workloads whose spec Baton can't go by.

/// Why the children of a Workload stay as they are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// This version can't decode the Workload.
    #[error(
        "this version of Baton can't read the Workload, so its children stay as they are: {0}. Compare the installed CRD with the \
         one that `baton crd` prints"
    )]
    Undecodable(String),
    /// Its spec lacks fields that managers own: a write under an older CRD has stored it without them.
    #[error(
        "the spec has lost {0}. Nobody has removed that; a write while an older CRD was installed has. So the children stay as they \
         are. Apply the manifest again, as the same field manager"
    )]
    Lost(String),
}

impl Unreadable {
    /// For conditions and Events.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::Undecodable(_) => "Undecodable",
            Self::Lost(_) => "SpecLost",
        }
    }
}
