//! Random writes to objects of many kinds: [`Kind`] has the objects and their possible contents, and [`Sequence`] chooses the writes to
//! one object from a seed. Nothing here sends a request or merges.

mod edit;
mod kinds;
mod sequence;

pub use self::{kinds::Kind, sequence::Sequence};

/// Managers that apply. One of them is kubectl, which the server treats in a special way.
pub const APPLIERS: [&str; 4] = ["baton", "kubectl", "handover-to-hpa", "argocd"];
/// Managers that update. One of them has the name of an applier, and is another manager all the same.
pub const UPDATERS: [&str; 4] =
    ["kubectl-client-side-apply", "kubectl-edit", "kube-controller-manager", "baton"];
/// The annotation in which `kubectl apply` keeps what it applied.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The members of metadata that a server sets.
pub const SERVERS_METADATA: [&str; 5] =
    ["managedFields", "uid", "creationTimestamp", "generation", "resourceVersion"];
