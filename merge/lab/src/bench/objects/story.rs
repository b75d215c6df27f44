//! How an object came to be what it is.

use anyhow::{Context as _, Result, anyhow};
use baton_merge::{
    Arena,
    schema::kinds::GroupVersionKind,
    server::{Live, Resource, Spelling, Write},
    value::Value as View,
};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Subject, Types};
use crate::bench::core::RELEASE;

/// Something that happens to an object.
pub(super) type Change = fn(&mut Value);

/// What an object goes through.
pub(super) struct Story {
    pub(super) name: &'static str,
    pub(super) types: Types,
    /// What `applier` applies first, complete with `apiVersion`, `kind` and name.
    pub(super) intent: Value,
    pub(super) applier: &'static str,
    /// What the server fills in.
    pub(super) defaults: Change,
    /// What others write then, in their order.
    pub(super) others: Vec<Other>,
    /// What `applier` changes in its intent.
    pub(super) next: Change,
    /// What `updater` changes in the object.
    pub(super) updater: &'static str,
    pub(super) update: Change,
}

/// A write by somebody else.
pub(super) enum Other {
    Applies { manager: &'static str, intent: Value },
    Updates { manager: &'static str, subresource: &'static str, change: Change },
}

impl Story {
    /// Plays it on the merge core.
    pub(super) fn played(self) -> Result<Subject> {
        let gvk = GroupVersionKind::of(&self.intent).unwrap_or_default();
        let resources = self.types.resources()?;
        let resource = resources
            .get(&gvk)
            .with_context(|| format!("{}: there is no {gvk} in {:?}", self.name, self.types))?;
        let mut server = Server { name: self.name, resource, now: BEGIN };
        let mut live = server.apply(None, &self.intent, self.applier)?;
        server.identify(&mut live);
        (self.defaults)(&mut live);
        for other in &self.others {
            live = match other {
                Other::Applies { manager, intent } => server.apply(Some(&live), intent, manager)?,
                Other::Updates { manager, subresource, change } => {
                    let mut object = live.clone();
                    change(&mut object);
                    server.update(&live, &object, manager, subresource)?
                }
            };
        }
        let (mut next, mut updated) = (self.intent.clone(), live.clone());
        (self.next)(&mut next);
        (self.update)(&mut updated);
        Ok(Subject {
            name: self.name,
            types: self.types,
            gvk,
            bare_live: bare(&live),
            live,
            applier: self.applier,
            intent: self.intent,
            next,
            updater: self.updater,
            bare_updated: bare(&updated),
            updated,
        })
    }
}

fn bare(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
    }
    object
}

/// 2026-01-05, a Monday morning.
const BEGIN: Timestamp = Timestamp::constant(1_767_600_000, 0);

/// As much of an API server as the story needs.
struct Server<'s> {
    name: &'static str,
    resource: Resource<'s>,
    now: Timestamp,
}

impl Server<'_> {
    fn apply(&mut self, live: Option<&Value>, intent: &Value, manager: &str) -> Result<Value> {
        let (arena, write) = (Arena::new(), self.write(manager, ""));
        let live = live.map(|live| self.live(&arena, live)).transpose()?;
        let intent = self.view(&arena, intent)?;
        let stored = self.resource.apply(&arena, live, intent, write, true);
        Ok(stored.map_err(|error| anyhow!("{}: {error}", self.name))?.to_json())
    }

    fn update(&mut self, live: &Value, object: &Value, manager: &str, subresource: &str) -> Result<Value> {
        let (arena, write) = (Arena::new(), self.write(manager, subresource));
        let (live, object) = (self.live(&arena, live)?, self.view(&arena, object)?);
        let stored = self.resource.update(&arena, Some(live), object, write);
        Ok(stored.map_err(|error| anyhow!("{}: {error}", self.name))?.to_json())
    }

    /// Sets what a server sets when it creates an object.
    fn identify(&self, object: &mut Value) {
        let metadata = &mut object["metadata"];
        metadata["uid"] = json!("7c9e6679-7425-40de-944b-e07fc1f90ae7");
        metadata["resourceVersion"] = json!("48151623");
        metadata["generation"] = json!(1);
        metadata["creationTimestamp"] = json!(self.now.to_string());
    }

    fn live<'a>(&self, arena: &'a Arena, object: &'a Value) -> Result<Live<'a>> {
        Ok(Live { object: self.view(arena, object)?, spelling: Spelling::UNKNOWN })
    }

    fn view<'a>(&self, arena: &'a Arena, object: &'a Value) -> Result<View<'a>> {
        View::from_json(arena, object).map_err(|error| anyhow!("{}: {error}", self.name))
    }

    /// The next write, a minute after the last.
    fn write<'a>(&mut self, manager: &'a str, subresource: &'a str) -> Write<'a> {
        self.now += SignedDuration::from_mins(1);
        Write { manager, subresource, now: self.now, release: RELEASE }
    }
}
