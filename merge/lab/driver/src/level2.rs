//! One write of the updater, in which every version has the same type.

use std::collections::BTreeMap;

use baton_merge::{
    Arena, Release,
    fieldpath::FieldSet,
    typed::{Duplicates, Typed},
    updater::{Conflict, Filter, Managers, Outcome, SameVersion, UpdateError, Updater, VersionedSet},
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::{
    level1::Type,
    refusal::Refusal,
    request::{Request, field_set},
    response::{ResponseLine, writable},
    sources::Sources,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Manager<'a> {
    #[serde(borrow)]
    set: &'a RawValue,
    #[serde(default)]
    version: String,
    #[serde(default)]
    applied: bool,
}

#[derive(Serialize)]
struct Written<'a> {
    set: &'a FieldSet<'a>,
    version: &'a str,
    applied: bool,
}

pub(crate) fn respond<'a>(
    sources: &'a mut Sources,
    arena: &'a Arena,
    release: Release,
    is_apply: bool,
    request: &'a Request<'a>,
) -> Result<ResponseLine, Refusal> {
    let (schema, id) = sources.type_of(request)?;
    let of = Type { arena, release, schema, id };
    let live = of.member(request, "live", Duplicates::Allowed)?;
    let managers = managers(arena, request)?;
    let version = arena.copy_text(&request.text("version")?);
    let updater = Updater::new(arena, &SameVersion).with_filters(ignored(arena, request)?);
    let manager = request.text("manager")?;
    let force = request.flag("force")?;
    let outcome = if is_apply {
        let object = of.member(request, "object", Duplicates::Forbidden)?;
        updater.apply(live, object, version, managers, &manager, force)
    } else {
        let object = of.member(request, "object", Duplicates::Allowed)?;
        updater.update(live, object, version, managers, &manager)
    };
    match outcome {
        Ok(outcome) => success(&outcome),
        Err(UpdateError::Conflicts(conflicts)) => Ok(refused(&conflicts)),
        Err(error) => Err(Refusal::internal(error)),
    }
}

fn managers<'a>(arena: &'a Arena, request: &Request<'a>) -> Result<Managers<'a, String>, Refusal> {
    let release = request.release()?;
    let mut managers = Managers::default();
    for (name, manager) in request.read::<BTreeMap<String, Manager<'a>>>("managers")? {
        let set = field_set(release, arena, &format!("managers.{name}.set"), manager.set.get())?;
        let version = arena.copy_text(&manager.version);
        managers.insert(name, VersionedSet { set, version, applied: manager.applied });
    }
    Ok(managers)
}

fn ignored<'a>(arena: &'a Arena, request: &Request<'a>) -> Result<Vec<(&'a str, Filter<'a>)>, Refusal> {
    if !request.has("ignored") {
        return Ok(Vec::new());
    }
    let release = request.release()?;
    let ignored = request.read::<BTreeMap<String, &'a RawValue>>("ignored")?;
    ignored
        .into_iter()
        .map(|(version, set)| {
            let set = field_set(release, arena, &format!("ignored.{version}"), set.get())?;
            Ok((arena.copy_text(&version), Filter::Exclude(set)))
        })
        .collect()
}

fn success(outcome: &Outcome<'_, String>) -> Result<ResponseLine, Refusal> {
    let managers = outcome.managers.iter().map(|(name, owned)| {
        let VersionedSet { set, version, applied } = owned;
        writable(*set)?;
        Ok((name, Written { set, version, applied: *applied }))
    });
    let managers = managers.collect::<Result<BTreeMap<_, _>, Refusal>>()?;
    let object = outcome.object.as_ref().map(Typed::value);
    Ok(ResponseLine::new().with("object", &object).with("managers", &managers))
}

fn refused(conflicts: &[Conflict<'_, String>]) -> ResponseLine {
    let mut rows: Vec<_> =
        conflicts.iter().map(|conflict| (&conflict.manager, conflict.path.to_string())).collect();
    rows.sort();
    let rows: Vec<_> = rows
        .into_iter()
        .map(|(manager, path)| BTreeMap::from([("manager", manager.clone()), ("path", path)]))
        .collect();
    ResponseLine::new().with("conflicts", &rows)
}
