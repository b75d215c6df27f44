//! Workloads that Baton can't read.

/// For conditions and Events about a Workload that this version can't decode.
pub(super) const UNDECODABLE: &str = "Undecodable";

/// Why this version can't decode a Workload.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this version of Baton can't read the Workload, so its children stay as they are: {0}. Compare the installed CRD with the one \
     that `baton crd` prints"
)]
pub struct Undecodable(pub String);
