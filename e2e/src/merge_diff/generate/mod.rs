//! Makes the questions: schemas, values, field sets, and scenarios of requests in which one answer leads to the next
//! question. Nothing here knows what the right answer is.

pub mod level1;
pub mod schema;
pub mod set;
pub mod value;

use super::{json::Json, random::Random};

/// A few requests that belong together.
pub trait Scenario: Send {
    /// The next request.
    fn next(&mut self) -> Json;

    /// Takes notice of what was answered to it.
    fn learn(&mut self, request: &Json, answer: &Json);
}

/// A level of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Typed values.
    Values,
    /// The updater.
    Updater,
    /// The field manager.
    FieldManager,
}

impl Level {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Values, Self::Updater, Self::FieldManager];

    /// The level of that number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }
}

/// The `number`-th scenario of the run with that seed.
pub fn scenario(seed: u64, number: u64, levels: &[Level]) -> Box<dyn Scenario> {
    let mut random = Random::new(seed, number);
    match random.choose(levels) {
        _ if random.one_in(200) => Box::new(level1::Odd::new(random)),
        _ => Box::new(level1::TypedValues::new(random)),
    }
}
