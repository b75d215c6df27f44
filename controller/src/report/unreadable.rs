//! Workloads that Baton can't read reliably.

/// Why Baton can't read a Workload reliably.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// This version can't decode it: why.
    #[error(
        "this version of Baton can't read the Workload, so its children stay as they are: {0}. Compare the installed CRD with \
         the one that `baton crd` prints"
    )]
    Undecodable(String),
    /// The API server may have dropped fields from it: why, and what to do.
    #[error("the Workload's children stay as they are: {0}")]
    OutdatedCrd(String),
}

impl Unreadable {
    /// For conditions and Events.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Undecodable(_) => "Undecodable",
            Self::OutdatedCrd(_) => "OutdatedCRD",
        }
    }
}
