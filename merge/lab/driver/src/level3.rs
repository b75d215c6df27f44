//! One write of an API server.

use std::collections::BTreeMap;

use baton_merge::{
    Arena, Release,
    predict::Apply,
    schema::kinds::GroupVersionKind,
    server::{Certainty, Live, Operation, Refusal as Refused, Spelling, Stored, Write},
    value::Value,
};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::{
    laws::Laws,
    refusal::Refusal,
    request::{Members, Request},
    response::{ResponseLine, push_json},
    sources::Sources,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Gvk {
    #[serde(default)]
    group: String,
    #[serde(default)]
    version: String,
    #[serde(default)]
    kind: String,
}

pub(crate) fn respond<'a>(
    sources: &'a mut Sources,
    arena: &'a Arena,
    release: Release,
    is_apply: bool,
    request: &'a Request<'a>,
    checks: bool,
) -> Result<ResponseLine, Refusal> {
    let Gvk { group, version, kind } = request.read("gvk")?;
    let gvk = GroupVersionKind::new(group, version, kind);
    let resources = sources.resources(request)?;
    let resource =
        resources.get(&gvk).ok_or_else(|| Refusal::not_found(format!("gvk: there is no {gvk}")))?;
    let write = Write {
        manager: arena.copy_text(&request.text("manager")?),
        subresource: if request.has("subresource") {
            arena.copy_text(&request.text("subresource")?)
        } else {
            ""
        },
        now: if request.has("now") { time(&request.text("now")?)? } else { Timestamp::now() },
        release,
    };
    let force = request.flag("force")?;
    let live = match object(arena, request, "live")? {
        Some(live) => {
            let live = resource.in_its_version(arena, live).map_err(|error| refused(&error))?;
            Some(Live { object: live, spelling: spelling(request)? })
        }
        None => None,
    };
    let object =
        object(arena, request, "object")?.ok_or_else(|| Refusal::bad_request("object: not an object"))?;
    let Write { manager, subresource, now, release } = write;
    let apply = Apply { manager, force, subresource, now, release };
    if checks && is_apply {
        let (tree, intent) = (live.map(|live| live.object.to_json()), object.to_json());
        let in_order = resource.is_custom() || live.is_none_or(|live| live.spelling.in_set_order);
        Laws { resources, resource, live: tree.as_ref(), in_order, intent: &intent, apply }.check();
    }
    let stored = if is_apply {
        resource.apply(arena, live, object, write, force)
    } else {
        resource.update(arena, live, object, write)
    };
    match stored {
        Ok(stored) => success(&stored, resource.api_version(), request),
        Err(Refused::Conflicts(conflicts)) => {
            let rows = conflicts.iter().map(|conflict| {
                let id = conflict.manager;
                let mut row = BTreeMap::from([
                    ("manager", id.manager.to_owned()),
                    ("operation", id.operation.as_str().to_owned()),
                    ("subresource", id.subresource.to_owned()),
                    ("field", conflict.path.to_string()),
                ]);
                if id.operation == Operation::Update {
                    row.insert("apiVersion", id.api_version.to_owned());
                }
                row
            });
            let mut rows: Vec<_> = rows.collect();
            rows.sort_by_cached_key(|row| {
                ["manager", "field", "operation", "subresource", "apiVersion"]
                    .map(|name| row.get(name).cloned())
            });
            // A refusal has no certainty, but a prediction has.
            let predicted = resource.predict_values(arena, live.map(|live| live.object), object, apply);
            let certainty = predicted.map_err(|error| Refusal::internal(&error))?.certainty;
            Ok(with_certainty(ResponseLine::new().with("conflicts", &rows), certainty))
        }
        Err(error) => Err(refused(&error)),
    }
}

fn refused(error: &Refused<'_>) -> Refusal {
    match error {
        Refused::BadRequest(message) => Refusal::bad_request(message),
        Refused::Invalid(message) => Refusal::invalid(message),
        Refused::NotFound(message) => Refusal::not_found(message),
        other => Refusal::internal(other),
    }
}

fn time(text: &str) -> Result<Timestamp, Refusal> {
    text.parse().map_err(|error| Refusal::bad_request(format!("now: {error}")))
}

/// A member that is an object or null.
fn object<'a>(arena: &'a Arena, request: &Request<'a>, member: &str) -> Result<Option<Value<'a>>, Refusal> {
    match request.value(arena, member)? {
        Value::Null => Ok(None),
        object @ Value::Map(_) => Ok(Some(object)),
        _ => Err(Refusal::bad_request(format!("{member}: not an object"))),
    }
}

/// The spelling of the live object's field sets; only the text shows their order.
fn spelling(request: &Request<'_>) -> Result<Spelling, Refusal> {
    #[derive(Deserialize)]
    struct Object<'a> {
        #[serde(borrow, default)]
        metadata: Option<&'a RawValue>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Metadata<'a> {
        #[serde(borrow, default)]
        managed_fields: Option<Vec<&'a RawValue>>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Entry<'a> {
        #[serde(borrow, default)]
        fields_v1: Option<&'a RawValue>,
    }
    let object: Object<'_> = request.read("live")?;
    // Invalid metadata or entries have no spelling; the core decides what they mean.
    let metadata =
        object.metadata.and_then(|metadata| serde_json::from_str::<Metadata<'_>>(metadata.get()).ok());
    let entries = metadata.and_then(|metadata| metadata.managed_fields).unwrap_or_default();
    Ok(entries
        .into_iter()
        .filter_map(|entry| serde_json::from_str::<Entry<'_>>(entry.get()).ok()?.fields_v1)
        .map(|fields| Spelling::of_fields_v1(fields.get()))
        .fold(Spelling::UNKNOWN, Spelling::and))
}

fn success(stored: &Stored<'_>, api_version: &str, request: &Request<'_>) -> Result<ResponseLine, Refusal> {
    let mut response = ResponseLine::new();
    if stored.changed {
        response = response.with("object", stored);
    } else {
        write_live(response.member("object"), api_version, request)?;
    }
    Ok(with_certainty(response.with("changed", &stored.changed), stored.certainty))
}

fn with_certainty(response: ResponseLine, certainty: Certainty) -> ResponseLine {
    match certainty {
        Certainty::Exact => response.with("certainty", "exact"),
        Certainty::ModuloDefaulting => response.with("certainty", "modulo-defaulting"),
        Certainty::Unknown(reason) | Certainty::Unseen(reason) => {
            response.with("certainty", "unknown").with("reason", reason)
        }
    }
}

/// Writes the live object as it came, in the requested version.
fn write_live(out: &mut String, api_version: &str, request: &Request<'_>) -> Result<(), Refusal> {
    let Members(live) = request.read("live")?;
    out.push('{');
    if live.iter().all(|(name, _)| name != "apiVersion") {
        out.push_str("\"apiVersion\":");
        push_json(out, api_version);
        out.push(',');
    }
    for (position, (name, value)) in live.iter().enumerate() {
        if position > 0 {
            out.push(',');
        }
        push_json(out, name);
        out.push(':');
        if name == "apiVersion" { push_json(out, api_version) } else { out.push_str(value.get()) }
    }
    out.push('}');
    Ok(())
}
