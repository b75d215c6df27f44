//! Generates the requests: schemas, values, field sets, and scenarios in which a response leads to the next request. It
//! doesn't know the right responses.

pub mod definition;
pub mod history;
pub mod level1;
pub mod level2;
pub mod level3;
pub mod openapi;
pub mod schema;
pub mod set;
pub mod value;

use std::sync::Arc;

use baton_testbed::{Json, Random};
use level1::{Odd, TypedValues};
use level2::Updates;
use level3::Writes;
use openapi::{Kind, defined, kinds};
use schema::Releases;

/// Related requests.
pub trait Scenario: Send {
    /// The next request.
    fn next(&mut self) -> Json;

    /// Records parts of a response.
    fn learn(&mut self, request: &Json, answer: &Json);
}

/// The weights of the protocol's levels. The higher the level, the longer the oracle takes.
const LEVELS: [u32; 3] = [5, 3, 2];

/// How many scenarios in a row share a schema, since a schema costs the oracle more than a request.
const SHARED: u64 = 8;

/// The scenarios of a run.
pub struct Scenarios {
    seed: u64,
    /// The schema of the current row.
    schema: Option<(u64, Arc<Releases>)>,
    /// The random kind of the current row, if there is one.
    defined: Option<(u64, Arc<Kind>)>,
}

impl Scenarios {
    /// The scenarios of a seed.
    pub fn new(seed: u64) -> Self {
        Self { seed, schema: None, defined: None }
    }

    /// The `number`-th scenario, which depends on the seed and the number only.
    pub fn scenario(&mut self, number: u64) -> Box<dyn Scenario> {
        let mut random = Random::new(self.seed, number);
        match random.weighted(&LEVELS) {
            _ if random.one_in(200) => Box::new(Odd::new(random)),
            1 => Box::new(Updates::new(random, self.schema(number))),
            2 => {
                let kind =
                    if random.one_in(5) { self.defined(number) } else { random.choose(kinds()).cloned() };
                Box::new(Writes::new(random, kind))
            }
            _ => Box::new(TypedValues::new(random, self.schema(number))),
        }
    }

    fn defined(&mut self, number: u64) -> Option<Arc<Kind>> {
        let row = number / SHARED;
        match &self.defined {
            Some((known, kind)) if *known == row => Some(Arc::clone(kind)),
            _ => {
                let definition = definition::definition(&mut Random::new(self.seed.rotate_left(32), row));
                let kind = defined(&definition)?.into();
                Some(Arc::clone(&self.defined.insert((row, kind)).1))
            }
        }
    }

    fn schema(&mut self, number: u64) -> Arc<Releases> {
        let row = number / SHARED;
        match &self.schema {
            Some((known, schema)) if *known == row => Arc::clone(schema),
            _ => {
                // Schemas have their own choices, so that a row has the same one from any start.
                let schema = Arc::new(Releases::any(&mut Random::new(!self.seed, row)));
                self.schema = Some((row, Arc::clone(&schema)));
                schema
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// The requests of some scenarios without feedback.
    fn requests(seed: u64) -> Vec<String> {
        let mut scenarios = Scenarios::new(seed);
        (0..300)
            .flat_map(|number| {
                let mut scenario = scenarios.scenario(number);
                (0..8).map(|_| scenario.next().to_string()).collect::<Vec<_>>()
            })
            .collect()
    }

    #[test]
    fn a_seed_determines_every_request() {
        assert_eq!(requests(7), requests(7));
        assert_ne!(requests(7), requests(8));
    }

    #[test]
    fn a_scenario_is_the_same_from_any_start_of_a_run() {
        let mut from_zero = Scenarios::new(3);
        for number in 0..40 {
            let expected = from_zero.scenario(number).next().to_string();
            let mut from_here = Scenarios::new(3);
            assert_eq!(from_here.scenario(number).next().to_string(), expected);
        }
    }

    #[test]
    fn every_operation_is_reached() {
        let mut reached = BTreeSet::new();
        for request in requests(1) {
            let request: Json = request.parse().unwrap();
            let Some(operation) = request.get("do").and_then(Json::as_str) else { continue };
            reached.insert(format!(
                "{operation}{}",
                if request.get("gvk").is_some() { " on a server" } else { "" }
            ));
        }
        let everywhere = ["validate", "to_set", "merge", "compare", "remove", "extract", "reconcile"];
        let on_a_server = ["apply", "update", "apply on a server", "update on a server"];
        for operation in everywhere.into_iter().chain(on_a_server) {
            assert!(reached.contains(operation), "{operation} is not in {reached:?}");
        }
    }
}
