//! Scenarios of the first level: one schema, and requests about a few related values and sets.

use std::sync::Arc;

use baton_testbed::{Json, Random};

use super::{
    Scenario,
    schema::Releases,
    set,
    value::{Taste, Values, stray},
};

/// Requests about typed values of one schema.
pub struct TypedValues {
    random: Random,
    schema: Arc<Releases>,
    taste: Taste,
    density: u32,
    value: Json,
    /// Sets from responses, for requests with sets as a server writes them.
    known: Vec<Json>,
}

impl TypedValues {
    /// A scenario about values of a schema.
    pub fn new(mut random: Random, schema: Arc<Releases>) -> Self {
        let taste = Taste::any(&mut random);
        let density = [45, 65, 85][random.below(3)];
        let mut scenario = Self { random, schema, taste, density, value: Json::Null, known: Vec::new() };
        scenario.value = scenario.related();
        scenario
    }

    fn related(&mut self) -> Json {
        let Self { schema, taste, density, .. } = self;
        let values = Values { schema: &schema.schema, taste: *taste, density: *density, depth: 6 };
        if self.value == Json::Null || self.random.one_in(10) {
            values.root(&mut self.random)
        } else {
            values.mutated(&mut self.random, &self.value)
        }
    }

    fn set(&mut self) -> Json {
        let random = &mut self.random;
        let broken = self.taste.broken > 0;
        match random.weighted(&[4, 3, 2, 2]) {
            0 if !self.known.is_empty() => self.known[random.below(self.known.len())].clone(),
            1 if !self.known.is_empty() => {
                let known = self.known[random.below(self.known.len())].clone();
                set::mutated(random, &known)
            }
            2 => set::any(random, 3, broken),
            _ => set::of_value(random, &self.schema.schema, &self.schema.schema.root(), &self.value),
        }
    }

    fn request(&mut self, operation: &str) -> Json {
        let mut request = self.schema.name(Json::object().with("do", operation), None);
        if request.get("type").is_some() {
            // Requests about a missing type, or another type than the first.
            if self.random.one_in(300) {
                request.set("type", "absent");
            } else if self.random.one_in(60)
                && let Some((other, _)) = self.random.choose(&self.schema.schema.types)
            {
                request.set("type", other.as_str());
            }
        }
        request
    }
}

impl Scenario for TypedValues {
    fn next(&mut self) -> Json {
        if self.random.one_in(3) {
            self.value = self.related();
        }
        match self.random.weighted(&[10, 15, 30, 20, 15, 12, 12]) {
            0 => {
                let value = self.related();
                let request = self.request("validate").with("value", value);
                match self.random.below(3) {
                    0 => request,
                    other => request.with("duplicates", other == 1),
                }
            }
            1 => {
                let value = self.value.clone();
                self.request("to_set").with("value", value)
            }
            2 => {
                let (live, applied) = (self.value.clone(), self.related());
                self.request("merge").with("live", live).with("applied", applied)
            }
            3 => {
                let (old, new) = (self.value.clone(), self.related());
                self.request("compare").with("old", old).with("new", new)
            }
            4 => {
                let (value, set) = (self.value.clone(), self.set());
                self.request("remove").with("value", value).with("set", set)
            }
            5 => {
                let (value, set) = (self.value.clone(), self.set());
                self.request("extract").with("value", value).with("set", set)
            }
            _ => {
                let set = self.set();
                let changed = self.random.below(3).checked_sub(1);
                self.schema.name(Json::object().with("do", "reconcile").with("set", set), changed)
            }
        }
    }

    fn learn(&mut self, _request: &Json, answer: &Json) {
        for name in ["set", "added", "removed"] {
            if let Some(set @ Json::Object(members)) = answer.get(name)
                && !members.is_empty()
                && self.known.len() < 8
            {
                self.known.push(set.clone());
            }
        }
        if let Some(value) = answer.get("value")
            && self.random.one_in(4)
        {
            self.value = value.clone();
        }
    }
}

/// Valid and invalid verbs.
const OPERATIONS: &str = "validate to_set merge compare remove extract reconcile apply update nothing";
/// Valid and invalid members of requests.
const MEMBERS: &str = "value live applied old new set schema type profile id managers manager version object force gvk \
    unknown duplicates ignored crd openapi";

/// Invalid requests, which a driver must survive.
pub struct Odd {
    random: Random,
}

impl Odd {
    /// A scenario of odd requests.
    pub fn new(random: Random) -> Self {
        Self { random }
    }
}

impl Scenario for Odd {
    fn next(&mut self) -> Json {
        let random = &mut self.random;
        let operations: Vec<_> = OPERATIONS.split(' ').collect();
        let members: Vec<_> = MEMBERS.split(' ').collect();
        let mut request = Json::object().with("do", random.pick(&operations));
        for _ in 0..random.below(5) {
            let name = random.pick(&members);
            let value = match random.below(4) {
                0 => Json::string(random.pick(&["1.36", "t0", "v1", "", "nonsense"])),
                1 => Json::Bool(random.one_in(2)),
                _ => stray(random),
            };
            request.set(name, value);
        }
        if random.one_in(20) { stray(random) } else { request }
    }

    fn learn(&mut self, _request: &Json, _answer: &Json) {}
}
