//! Workloads whose spec Baton can't go by.

use baton_crd::WorkloadStatus;

/// Why the children of a Workload stay as they are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// This version can't decode the Workload.
    #[error(
        "this version of Baton can't read the Workload, so its children stay as they are: {0}. Compare the installed CRD with the \
         one that `baton crd` prints"
    )]
    Undecodable(String),
    /// A write under an older CRD has stored the spec without fields that managers own.
    #[error(
        "the spec has lost {0}. managedFields still names it, so nobody has removed it, but a write while an older CRD was installed. \
         The children stay as they are. Apply the manifest again, as the same field manager"
    )]
    Lost(String),
}

impl Unreadable {
    /// Whether the last status says that the spec has lost fields.
    pub(crate) fn was_lost(status: &WorkloadStatus) -> bool {
        status.conditions.iter().any(|known| known.reason == Self::Lost(String::new()).reason())
    }

    /// For conditions and Events.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::Undecodable(_) => "Undecodable",
            Self::Lost(_) => "SpecLost",
        }
    }
}
