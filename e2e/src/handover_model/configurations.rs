//! The spaces that are explored: their starts, the specs of users, and how often each disturbance may happen.

use super::{cluster::Spec, state::Budgets};

/// The size of an exploration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Some seconds.
    Quick,
    /// Some minutes.
    Thorough,
}

/// One space to explore to its end.
#[derive(Clone, Debug)]
pub struct Configuration {
    /// A short text.
    pub name: &'static str,
    /// The states to start from.
    pub starts: Vec<Start>,
    /// The specs that the Workload may have.
    pub specs: Vec<Spec>,
    /// How often each disturbance may happen.
    pub budgets: Budgets,
}

/// A state to start from.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// The Workload's spec.
    pub spec: Spec,
    /// Whether the operator has come to rest with it. If not, only the Workload exists.
    pub exists: bool,
    /// Whether the autoscaler has written.
    pub scaled: bool,
    /// Whether another autoscaler than Baton's exists.
    pub theirs: bool,
}

impl Start {
    const fn at_rest(spec: Spec) -> Self {
        Self { spec, exists: true, scaled: false, theirs: false }
    }

    const fn scaled(spec: Spec) -> Self {
        Self { scaled: true, ..Self::at_rest(spec) }
    }

    const fn with_theirs(self) -> Self {
        Self { theirs: true, ..self }
    }

    const fn nothing(spec: Spec) -> Self {
        Self { exists: false, ..Self::at_rest(spec) }
    }
}

const THREE: Spec = Spec::Number(3);
const NINE: Spec = Spec::Number(9);

/// All spaces, to this extent.
pub fn configurations(extent: Extent) -> Vec<Configuration> {
    let none = Budgets::default();
    let there_and_back = || vec![Start::at_rest(THREE), Start::scaled(Spec::Own)];
    let of = |name, starts, specs: &[Spec], quick, thorough| Configuration {
        name,
        starts,
        specs: specs.to_vec(),
        budgets: match extent {
            Extent::Quick => quick,
            Extent::Thorough => thorough,
        },
    };
    let suspended = || vec![Start::at_rest(Spec::Suspended), Start::scaled(Spec::Own)];
    vec![
        of(
            "to the autoscaler and back",
            there_and_back(),
            &[THREE, Spec::Own],
            Budgets { edits: 2, scalings: 2, ..none },
            Budgets { edits: 4, scalings: 3, losses: 1, crashes: 1, resyncs: 1, ..none },
        ),
        of(
            "created",
            vec![Start::nothing(Spec::Own), Start::nothing(THREE), Start::nothing(Spec::External)],
            &[THREE, Spec::Own, Spec::HandsOff],
            Budgets { edits: 1, scalings: 1, crashes: 1, ..none },
            Budgets { edits: 3, scalings: 1, losses: 1, crashes: 1, late: 1, ..none },
        ),
        of(
            "crashes and late writes",
            there_and_back(),
            &[THREE, Spec::Own],
            Budgets { edits: 2, scalings: 1, crashes: 1, late: 1, ..none },
            Budgets { edits: 3, scalings: 3, losses: 1, crashes: 2, late: 2, ..none },
        ),
        of(
            "lost requests and responses",
            there_and_back(),
            &[THREE, Spec::Own],
            Budgets { edits: 1, scalings: 1, losses: 2, late: 1, ..none },
            Budgets { edits: 3, scalings: 2, losses: 3, late: 2, ..none },
        ),
        of(
            "another owner's autoscaler",
            vec![Start::scaled(Spec::External).with_theirs(), Start::at_rest(NINE)],
            &[NINE, Spec::External, Spec::Own],
            Budgets { edits: 2, scalings: 1, others: 1, ..none },
            Budgets { edits: 3, scalings: 2, by_hand: 1, others: 2, crashes: 1, ..none },
        ),
        of(
            "kubectl scale",
            there_and_back(),
            &[THREE, NINE, Spec::Own, Spec::HandsOff],
            Budgets { edits: 1, scalings: 1, by_hand: 1, ..none },
            Budgets { edits: 3, scalings: 2, by_hand: 2, ..none },
        ),
        of(
            "a rogue",
            there_and_back(),
            &[THREE, Spec::Own],
            Budgets { edits: 1, scalings: 1, rogue: 1, ..none },
            Budgets { edits: 2, scalings: 2, by_hand: 1, rogue: 1, crashes: 1, late: 1, ..none },
        ),
        of(
            "suspended and resumed",
            suspended(),
            &[THREE, Spec::Own, Spec::HandsOff, Spec::Suspended],
            Budgets { edits: 2, scalings: 1, by_hand: 1, ..none },
            Budgets { edits: 3, scalings: 1, by_hand: 1, crashes: 1, ..none },
        ),
        of(
            "deleted",
            there_and_back(),
            &[THREE, Spec::Own, Spec::HandsOff],
            Budgets { edits: 1, scalings: 1, crashes: 1, late: 1, deletions: 1, ..none },
            Budgets { edits: 2, scalings: 1, losses: 1, crashes: 1, late: 1, deletions: 1, ..none },
        ),
    ]
}
