//! Reconciled objects and their inputs, so that a controller reconciles only what has changed.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use serde_json::Value;
use tokio::time::Instant;

use super::{
    Pass,
    object::{controller, namespace, selects, text, uid},
    view::Object,
};

/// Reconciled objects, by UID.
#[derive(Default)]
pub(super) struct Settled(HashMap<String, Known>);

struct Known {
    /// The object and its dependents.
    of: Vec<Object>,
    /// When it is due again.
    until: Option<Instant>,
}

impl Settled {
    /// Forgets deleted objects.
    pub(super) fn keep(&mut self, uids: &HashSet<&str>) {
        self.0.retain(|known, _| uids.contains(known.as_str()));
    }

    /// Makes an object due again.
    pub(super) fn forget(&mut self, object: &Object) {
        self.0.remove(uid(object));
    }

    /// Reconciles an object, unless it and its dependents are unchanged and it isn't due yet.
    pub(super) fn reconcile(
        &mut self,
        pass: &mut Pass<'_>,
        object: &Object,
        own: &[Object],
        act: impl FnOnce(&mut Pass<'_>),
    ) {
        let of: Vec<Object> = [object].into_iter().chain(own).cloned().collect();
        let uid = uid(object);
        let is_settled = |known: &&Known| {
            known.until.is_none_or(|until| until > pass.now)
                && known.of.len() == of.len()
                && known.of.iter().zip(&of).all(|(known, now)| Arc::ptr_eq(known, now))
        };
        let until = if let Some(known) = self.0.get(uid).filter(is_settled) {
            known.until
        } else {
            let wake = pass.inputs.wake.take();
            act(pass);
            let until = std::mem::replace(&mut pass.inputs.wake, wake);
            self.0.insert(uid.to_owned(), Known { of, until });
            until
        };
        if let Some(until) = until {
            pass.wake_at(until);
        }
    }
}

/// The UIDs of objects.
pub(super) fn uids(objects: &[Object]) -> HashSet<&str> {
    objects.iter().map(|object| uid(object)).collect()
}

/// Records when each of these objects was first seen, by UID, and forgets deleted ones.
pub(super) fn note(since: &mut HashMap<String, Instant>, objects: &[Object], now: Instant) {
    let known = uids(objects);
    since.retain(|uid, _| known.contains(uid.as_str()));
    for uid in known {
        if !since.contains_key(uid) {
            since.insert(uid.to_owned(), now);
        }
    }
}

/// Objects by their controller.
#[derive(Default)]
pub(super) struct Controlled {
    by: HashMap<String, Vec<Object>>,
    by_nobody: Vec<Object>,
}

impl Controlled {
    pub(super) fn of(objects: impl IntoIterator<Item = Object>) -> Self {
        let mut controlled = Self::default();
        for object in objects {
            match controller(&object).map(|owner| text(owner, "/uid").to_owned()) {
                Some(uid) => controlled.by.entry(uid).or_default().push(object),
                None => controlled.by_nobody.push(object),
            }
        }
        controlled
    }

    /// The objects that an owner controls, and orphans that its selector matches.
    pub(super) fn candidates(&self, owner: &Value) -> Vec<Object> {
        let selector = owner.pointer("/spec/selector");
        let is_picked = |object: &&Object| {
            namespace(object) == namespace(owner) && selects(selector, object.pointer("/metadata/labels"))
        };
        let own = self.by.get(uid(owner)).into_iter().flatten();
        own.chain(self.by_nobody.iter().filter(is_picked)).cloned().collect()
    }
}
