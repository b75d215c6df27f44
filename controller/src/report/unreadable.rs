//! Workloads whose spec Baton can't go by.

use std::collections::BTreeSet;

use baton_crd::WorkloadStatus;
use baton_runtime::text::{cut, few};

use crate::decide::lacking::Lacking;

const LOST: &str = "SpecLost";
/// How many lost fields and their managers a message names.
const NAMED: usize = 5;
/// How many bytes these take at most.
const LONGEST: usize = 1024;

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
    /// A spec has lost these fields.
    pub(crate) fn lost(fields: &[Lacking]) -> Self {
        let paths: BTreeSet<_> = fields.iter().map(|field| &field.path).collect();
        let managers: BTreeSet<_> = fields.iter().map(|field| &field.manager).collect();
        let paths = few(paths.iter(), NAMED, "").join(", ");
        let managers = few(managers.iter(), NAMED, "").join(", ");
        Self::Lost(cut(format!("{paths} (set by {managers})"), LONGEST))
    }

    /// Whether a status says of this field that the spec has lost it, or may, since it names only some.
    pub(crate) fn was_lost(status: &WorkloadStatus, field: &Lacking) -> bool {
        let mut known = status.conditions.iter().filter(|known| known.reason == LOST);
        known.any(|known| [field.path.as_str(), " more", "…"].iter().any(|text| known.message.contains(text)))
    }

    /// For conditions and Events.
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::Undecodable(_) => "Undecodable",
            Self::Lost(_) => LOST,
        }
    }
}
