//! The owner of the replica count that a Workload's spec names.

use baton_crd::Workload;

/// The owner of the replica count, by the spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Baton, to `spec.replicas`: there is no autoscaler in the spec.
    Fixed(i32),
    /// No manager that Baton knows: neither `spec.replicas` nor `spec.autoscaling` is set.
    HandsOff,
    /// Baton, to zero until the Workload is resumed.
    Suspended,
    /// An autoscaler, which starts from this count if Baton has to create the Deployment.
    Autoscaler {
        /// `spec.replicas`, else `minReplicas`, else 1.
        start: i32,
        /// Its creator.
        whose: Whose,
    },
}

/// The creator of the autoscaler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Baton, as a child.
    Own {
        /// The smallest count that it may choose.
        min_replicas: i32,
    },
    /// Another manager, with an autoscaler or without.
    External,
}

impl Wanted {
    /// The owner that this Workload's spec names.
    pub fn of(workload: &Workload) -> Self {
        if workload.spec.suspend == Some(true) { Self::Suspended } else { Self::when_resumed(workload) }
    }

    /// The owner that it names once the Workload isn't suspended any more.
    pub(super) fn when_resumed(workload: &Workload) -> Self {
        match (&workload.spec.autoscaling, workload.spec.replicas) {
            (Some(autoscaling), replicas) => Self::Autoscaler {
                start: replicas.or(autoscaling.min_replicas).unwrap_or(1),
                whose: match autoscaling.external {
                    Some(_) => Whose::External,
                    None => Whose::Own { min_replicas: autoscaling.min_replicas.unwrap_or(1) },
                },
            },
            (None, Some(replicas)) => Self::Fixed(replicas),
            (None, None) => Self::HandsOff,
        }
    }

    /// Whether Baton creates an autoscaler.
    pub fn has_own_autoscaler(self) -> bool {
        matches!(self, Self::Autoscaler { whose: Whose::Own { .. }, .. })
    }

    /// The count that a Deployment is created with, given the one that it had before; absent: the server's default.
    pub fn initial_count(self, before: Option<i32>) -> Option<i32> {
        match self {
            Self::Fixed(count) => Some(count),
            Self::HandsOff => before,
            Self::Autoscaler { start, .. } => before.or(Some(start)),
            Self::Suspended => Some(0),
        }
    }
}
