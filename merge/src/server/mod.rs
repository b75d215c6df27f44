//! One write of an object on an API server, from the request to the store: the field manager chain, reset fields, and
//! whether anything is stored.
//!
//! Defaulting, admission, validation and conversion need a server, which passes them as [`Hooks`].

mod certainty;
mod chain;
mod convert;
mod entries;
mod last_applied;
mod objects;
mod resets;
mod resources;
mod scale;
mod service;
mod spelling;
mod stored;

use jiff::Timestamp;

pub use certainty::Certainty;
pub(crate) use certainty::HIDDEN_WHEN_EMPTY;
pub use entries::{Entry, EntryError, ManagerId, Operation};
pub(crate) use resets::Resets;
pub use resources::{Resource, Resources};
pub use service::{without_unused_affinity, without_what_the_type_lacks};
pub use spelling::{Order, Spelling};
pub use stored::Stored;

use self::{chain::Chain, convert::Versions, entries::Managed};
use crate::{
    Arena, Release,
    fieldpath::{FieldSet, Path, PathElement, Pattern, PatternElement},
    typed::{Context, Typed, ValueComparison},
    updater::{Conflict, Filter},
    value::{Map, Value},
};

/// A write: its manager, target and time.
#[derive(Clone, Copy, Debug)]
pub struct Write<'a> {
    /// The field manager's name.
    pub manager: &'a str,
    /// The subresource that is written; empty for the object itself.
    pub subresource: &'a str,
    /// The time of the write, to the second.
    pub now: Timestamp,
    /// The server's release.
    pub release: Release,
}

/// A stored object.
#[derive(Clone, Copy, Debug)]
pub struct Live<'a> {
    /// The object, with its `managedFields`.
    pub object: Value<'a>,
    /// The spelling of its stored field sets.
    pub spelling: Spelling,
}

/// A server's changes to an object between the field manager and the store, such as defaults. The result decides whether
/// anything is stored.
pub type Finish<'f, 'a> = &'f mut dyn FnMut(Value<'a>) -> Value<'a>;

/// Converts an object of a built-in kind from its `apiVersion` to another one.
pub type Convert<'f, 'a> = &'f dyn Fn(Value<'a>, &str) -> Value<'a>;

/// The parts of a write that need a server.
pub struct Hooks<'f, 'a> {
    /// Runs after the field manager.
    pub finish: Finish<'f, 'a>,
    /// Converts between versions; without it only `apiVersion` changes.
    pub convert: Option<Convert<'f, 'a>>,
}

/// The reason why a server refuses a write.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Refusal<'a> {
    /// Other managers own fields that an unforced apply would change. In the order of the managers.
    #[error("Apply failed with {} conflicts", .0.len())]
    Conflicts(Vec<Conflict<'a, ManagerId<'a>>>),
    /// The request is invalid.
    #[error("{0}")]
    BadRequest(String),
    /// The schema refuses an object.
    #[error("{0}")]
    Invalid(String),
    /// The subresource doesn't exist, or its object doesn't.
    #[error("{0}")]
    NotFound(String),
    /// The server fails.
    #[error("{0}")]
    Internal(String),
}

impl<'a> Resource<'a> {
    /// Applies an intent to the live object; `live` is `None` for a creation.
    ///
    /// # Errors
    /// When the server would refuse it.
    pub fn apply(
        &self,
        arena: &'a Arena,
        live: Option<Live<'a>>,
        intent: Value<'a>,
        write: Write<'a>,
        force: bool,
    ) -> Result<Stored<'a>, Refusal<'a>> {
        let hooks = Hooks { finish: &mut |object| object, convert: None };
        self.apply_with(arena, live, intent, write, force, hooks)
    }

    /// As [`apply`](Self::apply), for servers with their own defaults, admission and conversions.
    ///
    /// # Errors
    /// When the server would refuse it.
    pub fn apply_with(
        &self,
        arena: &'a Arena,
        live: Option<Live<'a>>,
        intent: Value<'a>,
        write: Write<'a>,
        force: bool,
        hooks: Hooks<'_, 'a>,
    ) -> Result<Stored<'a>, Refusal<'a>> {
        Request::new(*self, arena, live, intent, write, hooks).run(Verb::Apply { force })
    }

    /// Writes an object by any other verb: update, patch, create. `object` is the one after the write.
    ///
    /// # Errors
    /// When the server would refuse it.
    pub fn update(
        &self,
        arena: &'a Arena,
        live: Option<Live<'a>>,
        object: Value<'a>,
        write: Write<'a>,
    ) -> Result<Stored<'a>, Refusal<'a>> {
        let hooks = Hooks { finish: &mut |object| object, convert: None };
        self.update_with(arena, live, object, write, hooks)
    }

    /// As [`update`](Self::update), for servers with their own defaults, admission and conversions.
    ///
    /// # Errors
    /// When the server would refuse it.
    pub fn update_with(
        &self,
        arena: &'a Arena,
        live: Option<Live<'a>>,
        object: Value<'a>,
        write: Write<'a>,
        hooks: Hooks<'_, 'a>,
    ) -> Result<Stored<'a>, Refusal<'a>> {
        Request::new(*self, arena, live, object, write, hooks).run(Verb::Update)
    }
}

impl<'a> Resource<'a> {
    /// A stored object in this version of its kind, as a server reads it first.
    ///
    /// # Errors
    /// When it is of another kind, or of an unknown version.
    pub fn in_its_version(&self, arena: &'a Arena, object: Value<'a>) -> Result<Value<'a>, Refusal<'a>> {
        let text = |name| object.get(name).and_then(|value| value.as_str()).unwrap_or_default();
        let (api_version, kind) = (text("apiVersion"), text("kind"));
        if (api_version, kind) == (self.api_version(), self.gvk.kind.as_str()) {
            return Ok(object);
        }
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let known = !self.is_custom() || self.type_in(api_version).is_some();
        if kind != self.gvk.kind || group != self.gvk.group || !known {
            return Err(Refusal::BadRequest(format!(
                "the live object is of {api_version}, Kind={kind}, not of {}",
                self.gvk
            )));
        }
        Ok(object.with(arena, &["apiVersion"], Some(Value::String(self.api_version()))))
    }
}

/// For predictions.
impl<'a> Resource<'a> {
    fn context(&self, arena: &'a Arena, release: Release) -> Context<'a> {
        Context { arena, schema: self.schema, rules: release.rules() }
    }

    /// The result of a refused write: the live object.
    pub(crate) fn unchanged(&self, arena: &'a Arena, live: Option<Live<'a>>, release: Release) -> Stored<'a> {
        let object = live.map_or(Value::Null, |live| objects::without_managed_fields(arena, live.object));
        let context = self.context(arena, release);
        let owners = live.and_then(|live| Managed::of_live(context, &live.object).ok()).unwrap_or_default();
        Stored::unchanged(*self, object, owners)
    }

    /// The changes of an object, without its `managedFields`.
    pub(crate) fn compare(
        &self,
        arena: &'a Arena,
        live: Option<Live<'a>>,
        stored: &Stored<'a>,
        release: Release,
    ) -> ValueComparison<'a> {
        let context = self.context(arena, release);
        let live = live.map_or(Value::Null, |live| objects::without_managed_fields(arena, live.object));
        // Both are valid: one is live, the other the result of a merge.
        let typed = |value| Typed::of_valid(context, self.type_id(), value);
        typed(live).compare(&typed(stored.object)).unwrap_or_default()
    }
}

#[derive(Clone, Copy)]
enum Verb {
    Apply { force: bool },
    Update,
}

/// A write to an object of a resource.
struct Request<'f, 'a> {
    resource: Resource<'a>,
    arena: &'a Arena,
    live: Option<Live<'a>>,
    object: Value<'a>,
    write: Write<'a>,
    hooks: Hooks<'f, 'a>,
}

impl<'f, 'a> Request<'f, 'a> {
    fn new(
        resource: Resource<'a>,
        arena: &'a Arena,
        live: Option<Live<'a>>,
        object: Value<'a>,
        write: Write<'a>,
        hooks: Hooks<'f, 'a>,
    ) -> Self {
        // Shares equal parts with the live object, so that later comparisons are by memory.
        let object = live.map_or(object, |live| object.shared_with(arena, &live.object));
        Self { resource, arena, live, object, write, hooks }
    }

    fn run(self, verb: Verb) -> Result<Stored<'a>, Refusal<'a>> {
        if self.write.subresource == "scale" {
            return self.scale(verb);
        }
        let Some(resets) = self.resource.resets(self.write.subresource) else {
            return Err(self.no_subresource());
        };
        if self.live.is_none() && !self.write.subresource.is_empty() {
            return Err(Refusal::NotFound(format!(
                "there is no object whose {} could be written",
                self.write.subresource
            )));
        }
        let context = self.context();
        let versions = Versions { resource: self.resource, context, convert: self.hooks.convert };
        let chain = Chain {
            context,
            converter: &versions,
            api_version: self.resource.api_version(),
            kind: &self.resource.gvk.kind,
            type_id: self.resource.type_id(),
            subresource: self.write.subresource,
            resets: self.reset_filters(resets),
            zero: self.zero()?,
            now: self.write.now,
        };
        let live = self.live.map(|live| live.object);
        let mut written = match verb {
            Verb::Apply { force } => {
                let live = live.unwrap_or_else(|| self.empty());
                chain.apply(live, self.object, self.write.manager, force)?
            }
            Verb::Update => {
                self.check_kind()?;
                let object = self.with_reset_by_empty_list();
                chain.update(live.unwrap_or(chain.zero), object, self.write.manager)
            }
        };
        let object = self.reset(resets, written.object);
        written.object = (self.hooks.finish)(object);
        Ok(self.stored(verb, written, if self.resource.is_custom() { Order::Names } else { Order::Set }))
    }

    fn context(&self) -> Context<'a> {
        Context { arena: self.arena, schema: self.resource.schema, rules: self.write.release.rules() }
    }

    fn no_subresource(&self) -> Refusal<'a> {
        let (kind, subresource) = (&self.resource.gvk.kind, self.write.subresource);
        Refusal::NotFound(format!("{kind} has no subresource {subresource:?} that is known here"))
    }

    fn check_kind(&self) -> Result<(), Refusal<'a>> {
        let text = |name| self.object.get(name).and_then(|value| value.as_str());
        if (text("apiVersion"), text("kind"))
            == (Some(self.resource.api_version()), Some(&self.resource.gvk.kind))
        {
            Ok(())
        } else {
            Err(Refusal::BadRequest(format!("the object isn't of {}", self.resource.gvk)))
        }
    }

    /// An object with only `apiVersion` and `kind`.
    fn empty(&self) -> Value<'a> {
        let members = [
            ("apiVersion", Value::String(self.resource.api_version())),
            ("kind", Value::String(&self.resource.gvk.kind)),
        ];
        Value::Map(Map::of_sorted(self.arena.slice(&members)))
    }

    /// The zero value of the kind: of a built-in one with the structs of its Go type that aren't pointers, and null for
    /// required lists.
    fn zero(&self) -> Result<Value<'a>, Refusal<'a>> {
        let Value::Map(mut map) = self.empty() else { return Ok(Value::Null) };
        let zero = match self.resource.zero() {
            Some(zero) => {
                Value::from_json(self.arena, zero).map_err(|error| Refusal::Internal(error.to_string()))?
            }
            None => return Ok(Value::Map(map)),
        };
        let rules = self.write.release.rules();
        let zero = if rules.unset_times_are_null { objects::with_null_times(self.arena, zero) } else { zero };
        for (name, value) in zero.as_map().unwrap_or_default().members() {
            map = map.with(self.arena, name, Some(*value));
        }
        Ok(Value::Map(map))
    }

    /// The filters of the reset fields, by version: a writer doesn't own them.
    fn reset_filters(&self, resets: Resets) -> Vec<(&'a str, Filter<'a>)> {
        let filter = match resets {
            Resets::Fields([]) => return Vec::new(),
            Resets::Fields(fields) => {
                let mut paths = Vec::new();
                for fields in fields {
                    let mut elements = self.arena.vec();
                    elements.extend(fields.iter().copied().map(PathElement::Field));
                    paths.push(Path::new(elements.into_bump_slice()));
                }
                Filter::Exclude(FieldSet::of_paths(self.arena, paths))
            }
            Resets::AllBut(kept) => {
                let element = |name: &&'static str| match *name {
                    "*" => PatternElement::Any,
                    name => PatternElement::Exactly(PathElement::Field(name)),
                };
                let patterns = kept.iter().map(|path| Pattern::prefix(path.iter().map(element)));
                Filter::Include(patterns.reduce(Pattern::or).unwrap_or_default())
            }
        };
        let versions = self.resource.versions_reset(self.write.subresource);
        versions.map(|version| (version, filter.clone())).collect()
    }

    /// An empty `managedFields` of a built-in kind is a reset, as `[{}]`; in a custom resource it is absent.
    fn with_reset_by_empty_list(&self) -> Value<'a> {
        let list = entries::managed_fields_of(&self.object).and_then(|list| list.as_list());
        if self.resource.is_custom() || list.is_none_or(|list| !list.is_empty()) {
            return self.object;
        }
        let reset = self.arena.slice(&[Value::Map(Map::default())]);
        self.object.with(self.arena, &["metadata", "managedFields"], Some(Value::List(reset)))
    }

    /// The object with its reset fields as they are live.
    fn reset(&self, resets: Resets, object: Value<'a>) -> Value<'a> {
        let Resets::Fields(resets @ [_, ..]) = resets else { return object };
        let Some(live) = self.live.map(|live| objects::without_managed_fields(self.arena, live.object))
        else {
            // Only a node can be created with a status.
            let is_node = self.resource.gvk.group.is_empty() && self.resource.gvk.kind == "Node";
            return if is_node { object } else { object.with(self.arena, &["status"], None) };
        };
        if self.resource.is_custom() && self.write.subresource == "status" {
            return live.with(self.arena, &["status"], object.get("status"));
        }
        resets.iter().fold(object, |object, path| object.with(self.arena, path, live.at(path)))
    }
}
