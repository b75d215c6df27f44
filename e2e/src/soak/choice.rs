//! Chooses at random what users do next, from a seed and from the current spec. It has no I/O.

use std::{fmt, time::Duration};

use baton_testbed::Random;

use super::seen::{Asked, Limits, Scaling};

/// The target load of one pod, in millicores. Loads are multiples of it: with less than ten pods, they differ by more than the
/// autoscaler's tolerance of a tenth.
pub const PER_POD: u32 = 100;

/// A kind of switch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// To Baton's autoscaler.
    On,
    /// To no autoscaler, with a replica count.
    OffWithNumber,
    /// To no autoscaler, without a replica count.
    OffWithoutNumber,
    /// To an external autoscaler.
    External,
    /// Only replica counts or limits change.
    Edit,
}

impl Kind {
    /// In the order of the table.
    pub const ALL: [Self; 5] =
        [Self::On, Self::OffWithNumber, Self::OffWithoutNumber, Self::External, Self::Edit];
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::On => "on",
            Self::OffWithNumber => "off, with replicas",
            Self::OffWithoutNumber => "off, without replicas",
            Self::External => "to an external autoscaler",
            Self::Edit => "edit of replicas or limits",
        })
    }
}

/// A switch, and what happens around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// Its kind.
    pub kind: Kind,
    /// What the Workload asks for after it.
    pub asked: Asked,
    /// The limits of the external autoscaler, if there is to be one.
    pub external: Option<Limits>,
    /// Whether that autoscaler is created or deleted before the Workload is switched, or after it.
    pub external_first: bool,
    /// The time between the two.
    pub lag: Duration,
    /// The new load before the switch, in pods; absent if it stays the same.
    pub load_before: Option<u32>,
    /// The new load in the middle of the time until the next switch.
    pub load_after: Option<u32>,
    /// The time until the next switch.
    pub pause: Duration,
}

/// What a Workload asks for at the beginning: always with a replica count, or the Deployment would start with the API server's
/// default.
pub fn first(random: &mut Random) -> Asked {
    if random.percent(50) {
        Asked { replicas: Some(number(random)), scaling: Scaling::Absent }
    } else {
        Asked { replicas: maybe_number(random), scaling: Scaling::Own(limits(random)) }
    }
}

/// The next choice, when the Workload asks for `asked`.
pub fn next(random: &mut Random, asked: &Asked) -> Choice {
    use Kind::{Edit, External, OffWithNumber, OffWithoutNumber, On};
    let kind = match asked.scaling {
        Scaling::Absent if asked.replicas.is_some() => {
            pick(random, &[(On, 5), (External, 3), (OffWithoutNumber, 1), (Edit, 2)])
        }
        Scaling::Absent => pick(random, &[(On, 4), (External, 2), (OffWithNumber, 3)]),
        Scaling::Own(_) => {
            pick(random, &[(OffWithNumber, 4), (OffWithoutNumber, 2), (External, 2), (Edit, 2)])
        }
        Scaling::External => pick(random, &[(OffWithNumber, 4), (OffWithoutNumber, 2), (On, 3), (Edit, 1)]),
    };
    let asked = match (kind, asked.scaling) {
        (On, _) | (Edit, Scaling::Own(_)) => {
            Asked { replicas: maybe_number(random), scaling: Scaling::Own(limits(random)) }
        }
        (External, _) | (Edit, Scaling::External) => {
            Asked { replicas: maybe_number(random), scaling: Scaling::External }
        }
        (OffWithNumber, _) | (Edit, Scaling::Absent) => {
            Asked { replicas: Some(number(random)), scaling: Scaling::Absent }
        }
        (OffWithoutNumber, _) => Asked { replicas: None, scaling: Scaling::Absent },
    };
    // Until the next switch the operator is in the middle of its work, almost done, or at rest.
    let pause = match random.weighted(&[2, 3, 5]) {
        0 => milliseconds(random, 0, 100),
        1 => milliseconds(random, 300, 1500),
        _ => milliseconds(random, 2500, 6000),
    };
    Choice {
        kind,
        asked,
        external: (asked.scaling == Scaling::External).then(|| limits(random)),
        external_first: random.percent(50),
        lag: milliseconds(random, 0, 600),
        load_before: random.percent(60).then(|| load(random)),
        load_after: random.percent(60).then(|| load(random)),
        pause,
    }
}

/// A load, in pods: also below and above all limits.
pub fn load(random: &mut Random) -> u32 {
    1 + u32::try_from(random.below(11)).unwrap_or_default()
}

/// A replica count. Never 1, to which the API server resets a replica count without an owner.
fn number(random: &mut Random) -> i32 {
    between(random, 2, 9)
}

fn maybe_number(random: &mut Random) -> Option<i32> {
    random.percent(60).then(|| number(random))
}

fn limits(random: &mut Random) -> Limits {
    Limits { min: between(random, 2, 4), max: between(random, 5, 9) }
}

fn between(random: &mut Random, least: i32, most: i32) -> i32 {
    (least..=most).nth(random.below((most - least + 1).unsigned_abs() as usize)).unwrap_or(least)
}

fn milliseconds(random: &mut Random, least: u64, most: u64) -> Duration {
    let more = random.below(usize::try_from(most - least).unwrap_or_default());
    Duration::from_millis(least + more as u64)
}

fn pick(random: &mut Random, kinds: &[(Kind, u32)]) -> Kind {
    let weights: Vec<u32> = kinds.iter().map(|(_, weight)| *weight).collect();
    kinds[random.weighted(&weights)].0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(seed: u64) -> Vec<Choice> {
        let mut random = Random::new(seed, 0);
        let mut asked = first(&mut random);
        let choices = std::iter::repeat_with(|| {
            let choice = next(&mut random, &asked);
            asked = choice.asked;
            choice
        });
        choices.take(300).collect()
    }

    #[test]
    fn a_seed_determines_all_choices_and_every_kind_is_chosen() {
        assert_eq!(some(7), some(7));
        assert_ne!(some(7), some(8));
        for kind in Kind::ALL {
            assert!(some(7).iter().any(|choice| choice.kind == kind), "{kind}");
        }
    }

    #[test]
    fn no_choice_asks_for_one_pod_and_only_external_scaling_has_an_external_autoscaler() {
        for choice in some(7) {
            let Asked { replicas, scaling } = choice.asked;
            assert_ne!(replicas, Some(1));
            assert_eq!(choice.external.is_some(), scaling == Scaling::External);
            if let Scaling::Own(limits) = scaling {
                assert!(limits.min > 1 && limits.min < limits.max, "{limits}");
            }
        }
    }
}
