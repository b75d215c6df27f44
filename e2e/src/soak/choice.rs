//! What users do next, by chance: pure, from a seed and from how things stand.

use std::{fmt, time::Duration};

use baton_testbed::Random;

use super::seen::{Limits, Scaling, Wish};

/// What one pod is meant to use, in millicores: loads are multiples of it. Far enough from each other for the autoscaler's
/// tolerance of a tenth, as long as numbers have one digit.
pub const PER_POD: u32 = 100;

/// What is switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// To an autoscaler of Baton's.
    On,
    /// To no autoscaler, with a number.
    OffWithNumber,
    /// To no autoscaler, without a number.
    OffWithoutNumber,
    /// To an autoscaler of somebody else's.
    External,
    /// Nothing but numbers: who decides stays the same.
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
            Self::OffWithNumber => "off, with a number",
            Self::OffWithoutNumber => "off, without a number",
            Self::External => "to an external autoscaler",
            Self::Edit => "edit of numbers",
        })
    }
}

/// A switch, and what goes on around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What is switched.
    pub kind: Kind,
    /// What the Workload then says.
    pub wish: Wish,
    /// The limits of somebody else's autoscaler, if there is to be one.
    pub external: Option<Limits>,
    /// Whether that autoscaler is made or deleted before the Workload is switched, rather than after it.
    pub external_first: bool,
    /// How long after one of the two the other follows.
    pub lag: Duration,
    /// What the load becomes before the switch, in pods; absent if it stays.
    pub load_before: Option<u32>,
    /// What the load becomes at half time until the next switch.
    pub load_after: Option<u32>,
    /// How long until the next switch.
    pub pause: Duration,
}

/// What there is at the beginning: a number in any case, or the Deployment would begin with the API server's default.
pub fn first(random: &mut Random) -> Wish {
    if random.percent(50) {
        Wish { replicas: Some(number(random)), scaling: Scaling::Nobody }
    } else {
        Wish { replicas: maybe_number(random), scaling: Scaling::Own(limits(random)) }
    }
}

/// The next choice, where the Workload says `wish`.
pub fn next(random: &mut Random, wish: &Wish) -> Choice {
    use Kind::{Edit, External, OffWithNumber, OffWithoutNumber, On};
    let kind = match wish.scaling {
        Scaling::Nobody if wish.replicas.is_some() => {
            pick(random, &[(On, 5), (External, 3), (OffWithoutNumber, 1), (Edit, 2)])
        }
        Scaling::Nobody => pick(random, &[(On, 4), (External, 2), (OffWithNumber, 3)]),
        Scaling::Own(_) => {
            pick(random, &[(OffWithNumber, 4), (OffWithoutNumber, 2), (External, 2), (Edit, 2)])
        }
        Scaling::External => pick(random, &[(OffWithNumber, 4), (OffWithoutNumber, 2), (On, 3), (Edit, 1)]),
    };
    let wish = match (kind, wish.scaling) {
        (On, _) | (Edit, Scaling::Own(_)) => {
            Wish { replicas: maybe_number(random), scaling: Scaling::Own(limits(random)) }
        }
        (External, _) | (Edit, Scaling::External) => {
            Wish { replicas: maybe_number(random), scaling: Scaling::External }
        }
        (OffWithNumber, _) | (Edit, Scaling::Nobody) => {
            Wish { replicas: Some(number(random)), scaling: Scaling::Nobody }
        }
        (OffWithoutNumber, _) => Wish { replicas: None, scaling: Scaling::Nobody },
    };
    // Whether the operator is caught in the middle, almost done or at rest is what the invariant has to survive.
    let pause = match random.weighted(&[2, 3, 5]) {
        0 => milliseconds(random, 0, 100),
        1 => milliseconds(random, 300, 1500),
        _ => milliseconds(random, 2500, 6000),
    };
    Choice {
        kind,
        wish,
        external: (wish.scaling == Scaling::External).then(|| limits(random)),
        external_first: random.percent(50),
        lag: milliseconds(random, 0, 600),
        load_before: random.percent(60).then(|| load(random)),
        load_after: random.percent(60).then(|| load(random)),
        pause,
    }
}

/// A load, in pods: less and more than any limits allow, too.
pub fn load(random: &mut Random) -> u32 {
    1 + u32::try_from(random.below(11)).unwrap_or_default()
}

/// Never 1, which is what the API server makes of a number that was dropped.
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
        let mut wish = first(&mut random);
        let choices = std::iter::repeat_with(|| {
            let choice = next(&mut random, &wish);
            wish = choice.wish;
            choice
        });
        choices.take(300).collect()
    }

    #[test]
    fn a_seed_tells_every_choice_and_every_kind_is_chosen() {
        assert_eq!(some(7), some(7));
        assert_ne!(some(7), some(8));
        for kind in Kind::ALL {
            assert!(some(7).iter().any(|choice| choice.kind == kind), "{kind}");
        }
    }

    #[test]
    fn nobody_ever_wants_one_pod_and_an_autoscaler_is_somebodys() {
        for choice in some(7) {
            let Wish { replicas, scaling } = choice.wish;
            assert_ne!(replicas, Some(1));
            assert_eq!(choice.external.is_some(), scaling == Scaling::External);
            if let Scaling::Own(limits) = scaling {
                assert!(limits.min > 1 && limits.min < limits.max, "{limits}");
            }
        }
    }
}
