//! How an object came to be what it is.

use anyhow::{Result, ensure};
use baton_merge::schema::kinds::GroupVersionKind;
use baton_merge_driver::{Session, corpus::RECORDED};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::{Subject, Types};

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
        let (source, path) = self.types.source();
        let (mut session, mut now) = (Session::new(), BEGIN);
        // The next write, a minute after the last.
        let mut write = |verb: &str, live: &Value, object: &Value, manager: &str, subresource: &str| {
            now += SignedDuration::from_mins(1);
            let request = json!({
                "do": verb, "gvk": {"group": gvk.group, "version": gvk.version, "kind": gvk.kind},
                "subresource": subresource, "live": live, "object": object, "manager": manager, "force": true,
                "now": now, "profile": RECORDED, source: {"file": path},
            });
            let mut response: Value = serde_json::from_str(&session.answer(&request.to_string()))?;
            ensure!(response["object"].is_object(), "{}: {response}", self.name);
            Ok(response["object"].take())
        };
        let mut live = write("apply", &Value::Null, &self.intent, self.applier, "")?;
        identify(&mut live);
        (self.defaults)(&mut live);
        for other in &self.others {
            live = match other {
                Other::Applies { manager, intent } => write("apply", &live, intent, manager, "")?,
                Other::Updates { manager, subresource, change } => {
                    let mut object = live.clone();
                    change(&mut object);
                    write("update", &live, &object, manager, subresource)?
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

/// Sets what a server sets when it creates an object.
fn identify(object: &mut Value) {
    let metadata = &mut object["metadata"];
    metadata["uid"] = json!("7c9e6679-7425-40de-944b-e07fc1f90ae7");
    metadata["resourceVersion"] = json!("48151623");
    metadata["generation"] = json!(1);
    metadata["creationTimestamp"] = json!(BEGIN);
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
