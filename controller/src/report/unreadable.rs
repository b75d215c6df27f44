//! Workloads whose spec Baton can't go by.

use baton_crd::Workload;

/// Why the children of a Workload stay as they are.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// This version can't decode the Workload.
    #[error(
        "this version of Baton can't read the Workload, so its children stay as they are: {0}. Compare the installed CRD with the \
         one that `baton crd` prints"
    )]
    Undecodable(String),
    /// A write under an older CRD has stored the spec without what that CRD lacks.
    #[error(
        "the spec has lost fields although nobody edited it, as happens under an older CRD; so its children stay as they are. Apply \
         the manifest again, or edit the spec to confirm it"
    )]
    Lost,
}

impl Unreadable {
    /// For conditions and Events.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::Undecodable(_) => "Undecodable",
            Self::Lost => "SpecLost",
        }
    }
}

/// Whether the status says of this spec that it has lost fields.
pub fn is_lost(workload: &Workload) -> bool {
    let conditions = workload.status.iter().flat_map(|status| &status.conditions);
    conditions.into_iter().any(|condition| {
        condition.reason == Unreadable::Lost.reason()
            && condition.observed_generation == workload.metadata.generation
    })
}
