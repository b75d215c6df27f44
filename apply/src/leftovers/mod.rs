//! Defaults that stay when the field that they were derived from is removed, and that contradict an apply.
//!
//! A default that the API server fills in has no owner, and server-side apply removes only fields that the applier owns. So a
//! default stays, even if it contradicts the next intent:
//!
//! | an object that was applied with | and then with | without this module |
//! | --- | --- | --- |
//! | `strategy: {type: RollingUpdate}`, or nothing | `strategy: {type: Recreate}` | is refused: the server had filled in `rollingUpdate` |
//! | `volumes: [{name: v}]` | a `configMap` in that volume | is refused: the server had filled in `emptyDir` |
//! | `serviceAccountName: a` | neither | keeps the account: the server had copied it to `serviceAccount`, and copies it back |
//! | `image: app` | `image: app:1` | still pulls it always: the server had filled in `imagePullPolicy: Always` |
//! | a `NetworkPolicy` with `ingress` alone | `egress` too | lets everything out: the server had filled in `policyTypes: [Ingress]` |
//! | a Secret with `stringData: {a: …, b: …}` | `stringData: {a: …}` | keeps `b`: the server had copied it to `data` |
//!
//! [`Schemas::prepare`](crate::Schemas::prepare) finds such fields in the object that it predicts: they have no owner, they are
//! the default of what the object was, and they aren't the default of what it will be. It then prepares another write than
//! the requested one: a patch of `managedFields` by which the manager comes to own these fields as they are
//! ([`PreparedWrite::clears`](crate::PreparedWrite)). Nothing else changes. The next apply leaves them out, so
//! the server removes them, and fills in its defaults again. [`Applier`](crate::Applier) sends both. Code that drives the
//! protocol itself prepares again after a [preparatory](crate::PreparedWrite::is_preparatory) write.
//!
//! An emptied struct needs another write too, such as a container's `securityContext: {}`: the server drops it, and
//! with the next apply of the same intent adds it again. In a pod template these would be two rollouts. A volume's
//! `downwardAPI: {}` would even become an `emptyDir`. So a first apply gives each field what the server fills in, or `null`.
//! The next writes change nothing but the owners: a patch of `managedFields` by which the manager releases the fields that have
//! a value, if there are any, and the apply.
//!
//! If the manager owns the field already, or the whole struct or list item is removed with it, the apply is enough, and nothing
//! is claimed. A field of another manager is left to its owner. A field that an admission webhook has set isn't
//! touched either: its value isn't the default.
//!
//! The rules for these fields are in the API server's code and not in its schemas, so they are kept here, by type: a rule for
//! the pod template of a Deployment applies to any kind that has a pod template. Defaults of custom resources are constants of
//! their schema and never contradict anything else.
//!
//! Not handled are fields that can't change (a Pod's spec, a Job's `completions`, a claim's `dataSource`), fields that the server
//! keeps on purpose (a Service's addresses, ports of nodes and IP families), labels that the server copies from the template of
//! a Job or a `ReplicationController`, and writes through a subresource.

mod rules;

use std::collections::BTreeMap;

use baton_merge::{
    Arena, Release,
    fieldpath::{FieldSet, Path, PathElement},
    schema::TypeId,
    server::{Entry, Resource, Stored},
    typed::{Duplicates, Struct, Typed},
    value::Value,
};
use kube::core::ApiResource;
use serde_json::{Map, Value as Json};

use self::rules::{EMPTY_STRUCTS, RULES, Rule, ServerDefault};
use crate::{
    Change, FieldPath, LiveObject, Request,
    find::Finder,
    object::entries,
    ownership::{applied_fields, reown},
};

/// The most writes before an apply: one claims fields, one empties structs, and one releases fields.
pub(crate) const MOST_BEFORE: usize = 3;

/// A preparatory write: a request that has to come before an apply, and the fields that it clears.
#[derive(Clone, Debug)]
pub(crate) struct Preparatory {
    pub(crate) request: Request,
    pub(crate) clears: Vec<FieldPath>,
}

/// An apply that changes the live object.
pub(crate) struct Changing<'a> {
    pub(crate) resource: Resource<'a>,
    pub(crate) release: Release,
    pub(crate) live: &'a LiveObject,
    /// The live object as a value.
    pub(crate) before: Value<'a>,
    /// The predicted object.
    pub(crate) after: &'a Stored<'a>,
    pub(crate) intent: Value<'a>,
}

impl<'a> Changing<'a> {
    /// The write that has to come first; `None` if the apply is enough.
    pub(crate) fn first(&self, arena: &'a Arena, request: &Request) -> Option<Preparatory> {
        let kind = &request.target.resource;
        let Change::Apply { manager, .. } = &request.change else { return None };
        if request.target.subresource.is_some() || is_core(kind, "Pod") || self.resource.is_custom() {
            return None;
        }
        let (schema, type_id) = (self.resource.schema(), self.resource.type_id());
        let typed = |object| {
            Typed::for_release(self.release, arena, schema, type_id, object, Duplicates::Allowed).ok()
        };
        let (before, after) = (typed(self.before)?, typed(self.after.object)?);
        let states =
            States { resource: self.resource, arena, before, after, owners: &self.after.managed_fields };
        let mut leftovers = states.leftovers();
        if is_core(kind, "Secret") {
            leftovers.extend(states.copies_of_string_data(manager));
        }
        let owned = applied_fields(arena, self.live, manager);
        let reown = |fields: FieldSet<'a>| {
            reown(&request.target, self.live, manager.clone(), &[&kind.api_version], fields)
        };
        let first = |request, paths: Vec<Path<'_>>| {
            Some(Preparatory { request, clears: paths.into_iter().map(FieldPath::from).collect() })
        };
        if !leftovers.is_empty() {
            let claimed = states.live_fields_at(&leftovers)?;
            return first(reown(owned.union(arena, claimed))?, leftovers);
        }
        let emptied = states.emptied(&typed(self.intent)?.structs());
        let paths: Vec<Path<'_>> = emptied.iter().map(|emptied| emptied.path).collect();
        if emptied.is_empty() {
            return None;
        }
        if emptied.iter().all(|emptied| emptied.is_reset) {
            let structs = FieldSet::of_paths(arena, paths.iter().copied());
            let owned = owned.recursive_difference(arena, structs).union(arena, structs);
            return first(reown(owned)?, paths);
        }
        let (mut request, intent) = (request.clone(), Finder::new(self.intent));
        if let Change::Apply { body, .. } = &mut request.change {
            for Emptied { path, reset, .. } in emptied {
                *body.pointer_mut(&intent.pointer(path)?)? = reset;
            }
        }
        first(request, paths)
    }
}

fn is_core(kind: &ApiResource, name: &str) -> bool {
    kind.group.is_empty() && kind.kind == name
}

/// A struct that is empty in an intent, and that the server would drop.
struct Emptied<'a> {
    path: Path<'a>,
    /// The value that has to be applied instead.
    reset: Json,
    /// Whether the live struct is equal to that already.
    is_reset: bool,
}

/// The fields that the server fills in, with `null` for the other fields of the live value.
fn reset(live: &Json, filled_in: Json) -> Json {
    match (live, filled_in) {
        (Json::Object(live), Json::Object(mut fields)) => {
            for (name, live) in live {
                let field = fields.remove(name).map_or(Json::Null, |field| reset(live, field));
                fields.insert(name.clone(), field);
            }
            fields.into()
        }
        (_, filled_in) => filled_in,
    }
}

struct States<'a> {
    resource: Resource<'a>,
    arena: &'a Arena,
    /// The live object.
    before: Typed<'a>,
    /// The predicted object.
    after: Typed<'a>,
    /// The owners of the predicted object's fields.
    owners: &'a [Entry<'a>],
}

impl<'a> States<'a> {
    /// The paths of leftover defaults in the predicted object.
    fn leftovers(&self) -> Vec<Path<'a>> {
        let rules: Vec<(TypeId, &Rule)> = RULES
            .iter()
            .filter_map(|rule| Some((self.resource.schema().type_named(rule.of)?, rule)))
            .collect();
        if rules.is_empty() {
            return Vec::new();
        }
        let (owned, before) = (self.owned_by(|_| true).lookup(self.arena), Finder::new(self.before.value()));
        let mut leftovers = Vec::new();
        for found in self.after.structs() {
            for (_, rule) in rules.iter().filter(|(type_id, _)| *type_id == found.type_id) {
                let Some(was) = before.find(found.path) else { continue };
                let path = found.path.join(self.arena, PathElement::Field(rule.field));
                if !owned.has_within(path) && rule.is_left_over(was, &found) {
                    leftovers.push(path);
                }
            }
        }
        leftovers
    }

    /// The empty structs of the intent that the server would drop.
    fn emptied(&self, structs: &[Struct<'a>]) -> Vec<Emptied<'a>> {
        let (before, after) = (Finder::new(self.before.value()), Finder::new(self.after.value()));
        let types = structs.iter().map(|found| (found.path, found.type_id)).collect();
        let emptied = |found: &Struct<'a>| {
            let is_empty = found.value.as_map()?.is_empty();
            let is_dropped = is_empty && after.find(found.path)?.is_null();
            let live = before.find(found.path).filter(|_| is_dropped)?;
            let has_fields = live.as_map().is_some_and(|fields| !fields.is_empty());
            let live = has_fields.then(|| live.to_json())?;
            let reset = reset(&live, self.filled_in(found.path, &types, &live));
            Some(Emptied { path: found.path, is_reset: reset == live, reset })
        };
        structs.iter().filter_map(emptied).collect()
    }

    /// The defaults that the server fills into the struct at a path if it is empty.
    fn filled_in(&self, path: Path<'a>, types: &BTreeMap<Path<'a>, TypeId>, live: &Json) -> Json {
        let rule = || {
            let (PathElement::Field(field), around) = path.elements().split_last()? else { return None };
            let around = *types.get(&Path::new(around))?;
            let is_of = |name| self.resource.schema().type_named(name) == Some(around);
            EMPTY_STRUCTS.iter().find(|rule| rule.field == *field && is_of(rule.of))
        };
        rule().map_or_else(|| Json::Object(Map::new()), |rule| (rule.filled_in)(live))
    }

    /// The fields that the server copied from a Secret's `stringData`, which it never stores, and that the manager doesn't apply any
    /// more.
    fn copies_of_string_data(&self, manager: &str) -> Vec<Path<'a>> {
        let (live, predicted) = (self.before.value(), self.after.value());
        let stays = |path: &Path<'a>| {
            let [top, key] = path.elements() else { return false };
            let name = |element: &PathElement<'a>| match element {
                PathElement::Field(name) => *name,
                _ => "",
            };
            predicted.get(name(top)).and_then(|data| data.get(name(key))).is_some()
        };
        let string_data = PathElement::Field("stringData");
        let below = |owned: FieldSet<'a>| owned.below(&string_data);
        let own = entries(live)
            .iter()
            .filter(|entry| entry.get("manager").and_then(|name| name.as_str()) == Some(manager));
        let own = own.filter_map(|entry| FieldSet::from_value(self.arena, entry.get("fieldsV1")?).ok());
        let applied = below(FieldSet::union_all(self.arena, own));
        let kept = below(self.owned_by(|owner| owner == manager));
        let owned = self.owned_by(|_| true).lookup(self.arena);
        applied
            .difference(self.arena, kept)
            .paths(self.arena)
            .into_iter()
            .map(|key| {
                let data = Path::of_fields(self.arena, ["data"]);
                key.elements().iter().fold(data, |path, element| path.join(self.arena, *element))
            })
            .filter(|path| stays(path) && !owned.contains(*path))
            .collect()
    }

    /// The fields of the predicted object that these managers own.
    fn owned_by(&self, is_one: impl Fn(&str) -> bool) -> FieldSet<'a> {
        let owners = self.owners.iter().filter(|entry| is_one(entry.id().manager));
        FieldSet::union_all(self.arena, owners.map(|owner| owner.fields))
    }

    /// All fields of the live object at these paths, as an applier would own them.
    fn live_fields_at(&self, paths: &[Path<'a>]) -> Option<FieldSet<'a>> {
        let all = self.before.to_set().ok()?;
        let tops = FieldSet::of_paths(self.arena, paths.iter().copied());
        Some(all.difference(self.arena, all.recursive_difference(self.arena, tops)))
    }
}

impl Rule {
    /// Whether the value of the field is the default of what the struct was, and not of what it will be.
    fn is_left_over(&self, before: Value<'_>, after: &Struct<'_>) -> bool {
        if after.value.get(self.field).is_none() || before == after.value {
            return false;
        }
        let (before, after) = (before.to_json(), after.value.to_json());
        let value = after.get(self.field);
        value.is_some()
            && before.get(self.field) == value
            && (self.default)(&before).allows(value)
            && !(self.default)(&after).allows(value)
    }
}

impl ServerDefault {
    fn allows(&self, value: Option<&Json>) -> bool {
        match self {
            Self::Absent => value.is_none(),
            Self::Anything => true,
            Self::Value(default) => value == Some(default),
        }
    }
}
