//! Workloads that can't be taken for what their authors wrote.

/// Why a Workload can't be taken for what its author wrote.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It isn't what this version knows: why.
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
    /// In a word, for programs.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Undecodable(_) => "Undecodable",
            Self::OutdatedCrd(_) => "OutdatedCRD",
        }
    }
}
