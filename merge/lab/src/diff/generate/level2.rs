//! Scenarios of the second level: several managers write one object after the other, each step on what the last one
//! left.

use std::sync::Arc;

use baton_testbed::{Json, Random};

use super::{
    Scenario,
    schema::Releases,
    set,
    value::{Taste, Values},
};

/// Few, so that they meet.
const MANAGERS: [&str; 4] = ["alice", "bob", "carol", "dave"];

/// Writes to one object.
pub struct Updates {
    random: Random,
    schema: Arc<Releases>,
    /// Which of the changed schemas is in force.
    changed: Option<usize>,
    taste: Taste,
    density: u32,
    live: Json,
    managers: Json,
    /// What each manager applied last, at its index in `MANAGERS`.
    applied: [Option<Json>; 4],
    /// The manager of the step that is under way.
    writer: usize,
    ignored: Option<Json>,
}

impl Updates {
    /// A scenario about an object of a schema.
    pub fn new(mut random: Random, schema: Arc<Releases>) -> Self {
        let taste = Taste::any(&mut random);
        let density = [35, 50, 75][random.below(3)];
        let mut scenario = Self {
            random,
            schema,
            changed: None,
            taste,
            density,
            live: Json::Null,
            managers: Json::object(),
            applied: [const { None }; 4],
            writer: 0,
            ignored: None,
        };
        if scenario.random.one_in(10) {
            let object = scenario.fresh();
            let schema = &scenario.schema.schema;
            let set = set::of_value(&mut scenario.random, schema, &schema.root(), &object);
            scenario.ignored = Some(Json::object().with(scenario.random.pick(&["v1", "v2"]), set));
        }
        scenario
    }

    fn values(&self) -> Values<'_> {
        let schema = self.changed.map_or(&self.schema.schema, |i| &self.schema.changed[i]);
        Values { schema, taste: self.taste, density: self.density, depth: 6 }
    }

    fn fresh(&mut self) -> Json {
        let mut random = self.random.clone();
        let value = self.values().root(&mut random);
        self.random = random;
        value
    }

    fn mutated(&mut self, value: &Json) -> Json {
        let mut random = self.random.clone();
        let mutated = self.values().mutated(&mut random, value);
        self.random = random;
        mutated
    }

    /// What a manager applies: the same again, a little else, part of what is there, or something new.
    fn intent(&mut self) -> Json {
        let last = self.applied[self.writer].clone();
        match (self.random.weighted(&[2, 6, 3, 3, 1]), last) {
            (0, Some(last)) => last,
            (1, Some(last)) => self.mutated(&last),
            (2, Some(last)) => part(&mut self.random, &last),
            (3, _) if self.live != Json::Null => {
                let live = self.live.clone();
                part(&mut self.random, &live)
            }
            (4, _) => self.live.clone(),
            _ => self.fresh(),
        }
    }
}

/// A value with some of its members and items left out.
pub fn part(random: &mut Random, value: &Json) -> Json {
    match value {
        Json::Object(members) => {
            let mut kept = Vec::new();
            for (name, value) in members {
                if !random.one_in(4) {
                    kept.push((name.clone(), part(random, value)));
                }
            }
            Json::Object(kept)
        }
        Json::List(items) => {
            // Members of items stay, since some of them are keys.
            Json::List(items.iter().filter(|_| !random.one_in(4)).cloned().collect())
        }
        _ => value.clone(),
    }
}

/// Everything that is in `old`, with what `new` says about it: where only one is an object, `new`.
pub fn overlaid(old: &Json, new: &Json) -> Json {
    match (old, new) {
        (Json::Object(_), Json::Object(members)) => {
            let mut all = old.clone();
            for (name, value) in members {
                let below = old.get(name).map_or_else(|| value.clone(), |old| overlaid(old, value));
                all.set(name, below);
            }
            all
        }
        _ => new.clone(),
    }
}

impl Scenario for Updates {
    fn next(&mut self) -> Json {
        if self.random.one_in(25) {
            self.changed = [None, Some(0), Some(1)][self.random.below(3)];
        }
        self.writer = self.random.below(MANAGERS.len());
        let version = self.random.weighted(&[10, 2, 1]);
        let version = ["v1", "v2", "v1beta1"][version];
        let apply = self.random.percent(60);
        let object = if apply {
            self.intent()
        } else if self.live == Json::Null {
            self.fresh()
        } else {
            let live = self.live.clone();
            match self.random.below(6) {
                0 => live,
                1 => part(&mut self.random, &live),
                2 => {
                    let more = self.fresh();
                    overlaid(&live, &more)
                }
                _ => self.mutated(&live),
            }
        };
        let mut managers = self.managers.clone();
        if self.random.one_in(40) {
            // Somebody edited what is owned.
            let name = self.random.pick(&MANAGERS);
            if let Some(set) = managers.get_mut(name).and_then(|manager| manager.get_mut("set")) {
                *set = set::mutated(&mut self.random, set);
            } else {
                let set = set::any(&mut self.random, 2, false);
                let applied = self.random.one_in(2);
                let manager = Json::object().with("set", set).with("version", "v1").with("applied", applied);
                managers.set(name, manager);
            }
        }
        // An updater and an applier of one name would be two managers of a server, which tells them apart by name.
        let name = MANAGERS[self.writer];
        let manager = if self.random.one_in(20) {
            name.to_owned()
        } else {
            format!("{name}{}", if apply { "" } else { "-updates" })
        };
        let request = Json::object()
            .with("do", if apply { "apply" } else { "update" })
            .with("live", self.live.clone())
            .with("managers", managers)
            .with("object", object)
            .with("version", version)
            .with("manager", manager);
        let mut request = self.schema.name(request, self.changed);
        if apply && !self.random.one_in(3) {
            request.set("force", self.random.one_in(2));
        }
        if let Some(ignored) = &self.ignored {
            request.set("ignored", ignored.clone());
        }
        request
    }

    fn learn(&mut self, request: &Json, answer: &Json) {
        let (Some(object), Some(managers)) = (answer.get("object"), answer.get("managers")) else { return };
        let applied = request.get("do").and_then(Json::as_str) == Some("apply");
        if applied {
            self.applied[self.writer] = request.get("object").cloned();
        }
        // An apply that changes nothing answers no object.
        if *object != Json::Null || !applied {
            self.live = object.clone();
        }
        self.managers = managers.clone();
    }
}
