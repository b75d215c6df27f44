//! Scenarios of the second level: several managers write one object, each step on the last one's result.

use std::sync::Arc;

use baton_testbed::{Json, Random};

use super::{
    Scenario,
    history::History,
    schema::{Releases, Schema},
    set,
    value::Taste,
};

/// Few, so that they conflict.
const MANAGERS: [&str; 4] = ["alice", "bob", "carol", "dave"];

/// Writes to one object.
pub struct Updates {
    history: History,
    schema: Arc<Releases>,
    /// The schema in use, if it isn't the first.
    changed: Option<usize>,
    managers: Json,
    ignored: Option<Json>,
}

impl Updates {
    /// A scenario about an object of a schema.
    pub fn new(mut random: Random, schema: Arc<Releases>) -> Self {
        let taste = Taste::any(&mut random);
        let density = [35, 50, 75][random.below(3)];
        let mut history = History::new(random, taste, density, 6);
        let ignored = history.random.one_in(10).then(|| {
            let object = history.fresh(&schema.schema);
            let random = &mut history.random;
            let set = set::of_value(random, &schema.schema, &schema.schema.root(), &object);
            Json::object().with(random.pick(&["v1", "v2"]), set)
        });
        Self { history, schema, changed: None, managers: Json::object(), ignored }
    }
}

/// The schema in use.
fn in_force(releases: &Releases, changed: Option<usize>) -> &Schema {
    changed.map_or(&releases.schema, |i| &releases.changed[i])
}

impl Scenario for Updates {
    fn next(&mut self) -> Json {
        let Self { history, schema, changed, managers, ignored } = self;
        if history.random.one_in(25) {
            *changed = [None, Some(0), Some(1)][history.random.below(3)];
        }
        let name = history.choose_writer(&MANAGERS);
        let version = ["v1", "v2", "v1beta1"][history.random.weighted(&[10, 2, 1])];
        let apply = history.random.percent(60);
        let of = in_force(schema, *changed);
        let object = if apply { history.intent(of) } else { history.replacement(of) };
        let random = &mut history.random;
        let mut managers = managers.clone();
        if random.one_in(40) {
            // An edit of owners.
            let name = random.pick(&MANAGERS);
            if let Some(set) = managers.get_mut(name).and_then(|manager| manager.get_mut("set")) {
                *set = set::mutated(random, set);
            } else {
                let set = set::any(random, 2, false);
                let applied = random.one_in(2);
                let manager = Json::object().with("set", set).with("version", "v1").with("applied", applied);
                managers.set(name, manager);
            }
        }
        // An updater and an applier with one name would be two managers on a server.
        let manager = if random.one_in(20) {
            name.to_owned()
        } else {
            format!("{name}{}", if apply { "" } else { "-updates" })
        };
        let request = Json::object()
            .with("do", if apply { "apply" } else { "update" })
            .with("live", history.live.clone())
            .with("managers", managers)
            .with("object", object)
            .with("version", version)
            .with("manager", manager);
        let mut request = schema.name(request, *changed);
        if apply && !random.one_in(3) {
            request.set("force", random.one_in(2));
        }
        if let Some(ignored) = ignored {
            request.set("ignored", ignored.clone());
        }
        request
    }

    fn learn(&mut self, request: &Json, answer: &Json) {
        let (Some(object), Some(managers)) = (answer.get("object"), answer.get("managers")) else { return };
        let applied = request.get("do").and_then(Json::as_str) == Some("apply");
        if applied {
            self.history.has_applied(request.get("object"));
        }
        // A no-op apply returns no object.
        if *object != Json::Null || !applied {
            self.history.live = object.clone();
        }
        self.managers = managers.clone();
    }
}
