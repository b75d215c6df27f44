//! Writes through the `scale` subresource, after `scalehandler.go` and the storages that use it.
//!
//! During the write the scale is an object of its own: the owners of the parent's replicas become owners of its replicas,
//! and afterwards the other way round.

use super::{
    Order, Refusal, Request, Stored, Verb,
    chain::{Chain, Written},
    entries::{Managed, Operation},
    objects,
    resources::{SCALE_KIND, SCALE_VERSION, Scale},
};
use crate::{
    fieldpath::{FieldSet, Path, PathElement},
    updater::{SameVersion, VersionedSet},
    value::{Map, Value},
};

const REPLICAS: Path<'static> = Path::new(&[PathElement::Field("spec"), PathElement::Field("replicas")]);

/// The storage of custom resources takes absent replicas for this value, so that any written count differs from it.
const UNSET: i32 = i32::MIN;

impl<'a> Request<'_, 'a> {
    pub(super) fn scale(self, verb: Verb) -> Result<Stored<'a>, Refusal<'a>> {
        let Some((scale, scale_type)) = self.resource.scale() else { return Err(self.no_subresource()) };
        let Some(live) = self.live else {
            return Err(Refusal::NotFound("there is no object that can be scaled".to_owned()));
        };
        let parent = Managed::of_live(self.context(), &live.object)
            .map_err(|error| Refusal::Internal(format!("can't read the live object's {error}")))?;
        let before = self.scale_of(scale, live.object)?;
        let chain = Chain {
            context: self.context(),
            converter: &SameVersion,
            api_version: SCALE_VERSION,
            kind: SCALE_KIND,
            type_id: scale_type,
            subresource: "scale",
            resets: Vec::new(),
            zero: self.scale_object(&[("spec", Value::Map(Map::default())), ("status", self.status(0))]),
            now: self.write.now,
        };
        let owners = self.to_scale(scale, &parent);
        let written = self.write_scale(&chain, verb, before, owners)?;
        let replicas = replicas_in(written.object)?;
        if replicas == UNSET {
            return Err(Refusal::BadRequest("spec.replicas can't be empty".to_owned()));
        }
        if replicas < 0 {
            return Err(Refusal::Invalid(format!("spec.replicas is {replicas}, it must not be negative")));
        }
        let object = objects::without_managed_fields(self.arena, live.object);
        let path: &'a [String] = &scale.replicas;
        let object = object.with(self.arena, path, Some(Value::Int(replicas.into())));
        if object.at(path).is_none() {
            return Err(no_place(path));
        }
        let object = (self.hooks.finish)(object);
        let managed = self.to_parent(scale, &parent, &written.owners);
        let written = Written { object, owners: managed, before: parent, is_incomplete: false };
        Ok(self.stored(verb, written, Order::Names))
    }

    fn write_scale(
        &self,
        chain: &Chain<'_, 'a>,
        verb: Verb,
        before: Value<'a>,
        owners: Managed<'a>,
    ) -> Result<Written<'a>, Refusal<'a>> {
        match verb {
            Verb::Update => {
                let after = self.decoded()?;
                Ok(chain.update_owned(before, after, owners, self.write.manager))
            }
            Verb::Apply { force } => {
                // The server can't convert the scale of a custom resource: neither to add an owner, nor to store another
                // replica count.
                let failure = |doing: &str, of: Option<Value<'_>>| {
                    let named = |name| of?.at(&["metadata", name])?.as_str();
                    let (namespace, name) = (named("namespace"), named("name"));
                    Refusal::Internal(format!(
                        "{doing} object ({}/{}; autoscaling/v1, Kind=Scale) to proper version: request to convert CR to an \
                         invalid group/version: autoscaling/v1",
                        namespace.unwrap_or_default(),
                        name.unwrap_or_default(),
                    ))
                };
                chain.check_kind(&self.object)?;
                if self.resource.is_custom() && owners.fields.is_empty() {
                    let doing = "failed to create manager for existing fields: failed to convert live";
                    return Err(failure(doing, None));
                }
                let written = chain.apply_owned(before, self.object, owners, self.write.manager, force)?;
                if self.resource.is_custom() && written.object != before {
                    return Err(failure("failed to convert new", Some(self.object)));
                }
                Ok(written)
            }
        }
    }

    /// The scale of the parent, as the Go type has it: zero replicas are omitted.
    fn scale_of(&self, scale: &'a Scale, parent: Value<'a>) -> Result<Value<'a>, Refusal<'a>> {
        let number = |path: &[String]| match parent.at(path) {
            None if !has_place(parent, path) => Err(no_place(path)),
            None => Ok(None),
            Some(Value::Int(number)) => Ok(Some(number)),
            Some(other) => Err(Refusal::Internal(format!("{} is no integer: {other}", path.join(".")))),
        };
        let absent = if self.resource.is_custom() { i64::from(UNSET) } else { 0 };
        let replicas = number(&scale.replicas)?.unwrap_or(absent);
        let status = number(&scale.status_replicas)?.unwrap_or(0);
        let mut metadata = self.arena.vec();
        for name in ["creationTimestamp", "name", "namespace", "resourceVersion", "uid"] {
            let value = parent.at(&["metadata", name]);
            metadata.extend(
                value
                    .filter(|value| value.as_str().is_some_and(|text| !text.is_empty()))
                    .map(|value| (name, value)),
            );
        }
        Ok(self.scale_object(&[
            ("metadata", Value::Map(Map::of_sorted(metadata.into_bump_slice()))),
            ("spec", self.spec(truncated(replicas))),
            ("status", self.status(truncated(status))),
        ]))
    }

    fn scale_object(&self, members: &[(&'a str, Value<'a>)]) -> Value<'a> {
        let mut all = self.arena.vec();
        all.extend([("apiVersion", Value::String(SCALE_VERSION)), ("kind", Value::String(SCALE_KIND))]);
        if members.iter().all(|(name, _)| *name != "metadata") {
            all.push(("metadata", Value::Map(Map::default())));
        }
        all.extend_from_slice_copy(members);
        Value::Map(Map::of_sorted(all.into_bump_slice()))
    }

    fn spec(&self, replicas: i32) -> Value<'a> {
        let members: &[_] = if replicas == 0 { &[] } else { &[("replicas", Value::Int(replicas.into()))] };
        Value::Map(Map::of_sorted(self.arena.slice(members)))
    }

    fn status(&self, replicas: i32) -> Value<'a> {
        Value::Map(Map::of_sorted(self.arena.slice(&[("replicas", Value::Int(replicas.into()))])))
    }

    /// The scale in an update, as the Go type decodes it.
    fn decoded(&self) -> Result<Value<'a>, Refusal<'a>> {
        let object = self.object;
        let text = |name| object.get(name).and_then(|value| value.as_str());
        if (text("apiVersion"), text("kind")) != (Some(SCALE_VERSION), Some(SCALE_KIND)) {
            return Err(Refusal::BadRequest(format!(
                "the object isn't of {SCALE_VERSION}, Kind={SCALE_KIND}"
            )));
        }
        let number = |path: &[&str]| match object.at(path) {
            None | Some(Value::Null) => Ok(0),
            Some(Value::Int(number)) => i32::try_from(number)
                .map_err(|_| Refusal::BadRequest(format!("{} is too large", path.join(".")))),
            Some(other) => Err(Refusal::BadRequest(format!("{} is no integer: {other}", path.join(".")))),
        };
        let (replicas, status) = (number(&["spec", "replicas"])?, number(&["status", "replicas"])?);
        let metadata = object.get("metadata").filter(|metadata| metadata.as_map().is_some());
        let mut members = vec![("spec", self.spec(replicas)), ("status", self.status(status))];
        members.splice(0..0, metadata.map(|metadata| ("metadata", metadata)));
        Ok(objects::without_managed_fields(self.arena, self.scale_object(&members)))
    }

    /// The owners of the parent's replicas, as owners of the scale's.
    fn to_scale(&self, scale: &'a Scale, parent: &Managed<'a>) -> Managed<'a> {
        let mut managed = Managed::default();
        for (id, owned) in &parent.fields {
            let Some(path) =
                self.replicas_in(scale, owned.version).filter(|path| !path.elements().is_empty())
            else {
                continue;
            };
            if !owned.set.contains(&path) {
                continue;
            }
            let set = FieldSet::of_paths(self.arena, [REPLICAS]);
            // The entry is written and read again, and an updater's identity has the version of the entry.
            let mut scale_id = *id;
            if id.operation == Operation::Update {
                scale_id.api_version = SCALE_VERSION;
            }
            managed
                .fields
                .insert(scale_id, VersionedSet { set, version: SCALE_VERSION, applied: owned.applied });
            managed.set_time(scale_id, parent.time(id));
        }
        managed
    }

    /// The owners of the parent after a write of its scale: managers that lost the replicas there lose them here.
    fn to_parent(&self, scale: &'a Scale, parent: &Managed<'a>, written: &Managed<'a>) -> Managed<'a> {
        let mut written = written.fields.clone();
        let mut managed = Managed::default();
        for (id, owned) in &parent.fields {
            let Some(path) = self.replicas_in(scale, owned.version) else { continue };
            let mut owned = *owned;
            if !path.elements().is_empty() && owned.set.contains(&path) && written.remove(id).is_none() {
                owned.set = owned.set.difference(self.arena, FieldSet::of_paths(self.arena, [path]));
                if owned.set.is_empty() {
                    continue;
                }
            }
            managed.fields.insert(*id, owned);
            managed.set_time(*id, parent.time(id));
        }
        let version = self.resource.api_version();
        let path = self.replicas_in(scale, version).unwrap_or_default();
        for (id, owned) in written {
            if owned.set.contains(&REPLICAS) {
                let set = FieldSet::of_paths(self.arena, [path]);
                managed.fields.insert(id, VersionedSet { set, version, applied: owned.applied });
                // The time is looked up under the parent's identity, where an updater of the scale isn't found.
                managed.set_time(id, parent.time(&id));
            }
        }
        managed
    }

    /// The path of the replicas in a version; empty for one without a `scale` subresource, none for an unknown one.
    fn replicas_in(&self, scale: &'a Scale, version: &str) -> Option<Path<'a>> {
        let (_, fields) = scale.replicas_by_version.iter().find(|(own, _)| own == version)?;
        Some(Path::of_fields(self.arena, fields.iter().map(String::as_str)))
    }
}

/// Whether all parents of a path are absent, null or maps.
fn has_place(object: Value<'_>, path: &[String]) -> bool {
    let mut above = (0..path.len()).filter_map(|end| object.at(&path[..end]));
    above.all(|value| value.is_null() || value.as_map().is_some())
}

fn no_place<'a>(path: &[String]) -> Refusal<'a> {
    Refusal::Internal(format!("there is no place for .{} in the live object", path.join(".")))
}

/// The replicas of a written scale. Its Go type accepts a float that is an integer, and no other; also in the status.
fn replicas_in(scale: Value<'_>) -> Result<i32, Refusal<'_>> {
    let number = |path: [&str; 2]| match scale.at(&path) {
        Some(Value::Int(number)) => Ok(truncated(number)),
        Some(Value::Float(number)) if number.fract() == 0.0 => Ok(truncated(integer(number))),
        Some(Value::Float(number)) => {
            Err(Refusal::Internal(format!("{} is no integer: {number}", path.join("."))))
        }
        _ => Ok(0),
    };
    number(["status", "replicas"])?;
    number(["spec", "replicas"])
}

/// A float that is an integer; one out of bounds becomes what processors make of it.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "what is out of bounds is handled separately"
)]
fn integer(number: f64) -> i64 {
    if number.abs() < i64::MAX as f64 { number as i64 } else { i64::MIN }
}

/// A number as the Go type has it, cut to 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "the server cuts it, too")]
fn truncated(number: i64) -> i32 {
    number as i32
}
