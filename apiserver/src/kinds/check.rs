//! The check of one object: what its kind's rules read and where they put what they find.

use super::{
    cursor::{Cursor, Errors},
    metadata,
    strategies::Kind,
};

/// An object that is checked, with the one that it replaces.
pub(super) struct Check<'a> {
    /// What there is to know of its kind.
    pub(super) kind: &'static Kind,
    /// The object.
    pub(super) new: Cursor<'a>,
    /// The stored object, where it is an update.
    pub(super) old: Option<Cursor<'a>>,
    /// What has been found so far.
    pub(super) errors: Errors,
}

impl<'a> Check<'a> {
    /// The spec of the object.
    pub(super) fn spec(&self) -> Cursor<'a> {
        self.new.child("spec")
    }

    /// The status of the object.
    pub(super) fn status(&self) -> Cursor<'a> {
        self.new.child("status")
    }

    /// A field of the stored object, without a value where there is none.
    pub(super) fn old_at(&self, names: &[&str]) -> Cursor<'a> {
        match &self.old {
            Some(old) => old.at(names),
            None => Cursor { value: None, path: self.new.at(names).path },
        }
    }

    /// The rules for the metadata by itself.
    pub(super) fn metadata(&mut self) {
        let meta = self.new.child("metadata");
        metadata::check(&meta, &mut self.errors, self.kind.name_rule, self.kind.namespaced);
        metadata::check_kube_finalizers(&meta, &mut self.errors);
    }

    /// The rules for how the metadata may change.
    pub(super) fn metadata_update(&mut self) {
        if let Some(old) = &self.old {
            let meta = self.new.child("metadata");
            metadata::check_update(&meta, &old.child("metadata"), &mut self.errors);
            metadata::check_kube_finalizers(&meta, &mut self.errors);
        }
    }

    /// The rules for the metadata as most kinds have them: by itself for a new object, how it changed for another.
    pub(super) fn metadata_or_update(&mut self) {
        if self.old.is_some() {
            self.metadata_update();
        } else {
            self.metadata();
        }
    }

    /// As [`metadata_or_update`](Self::metadata_or_update), for the kinds that check an update in both ways.
    pub(super) fn metadata_update_and_metadata(&mut self) {
        self.metadata_update();
        self.metadata();
    }

    /// The field at this path may not change.
    pub(super) fn immutable(&mut self, names: &[&str]) {
        if self.old.is_some() {
            let old = self.old_at(names);
            self.new.at(names).check_immutable(&mut self.errors, &old);
        }
    }
}
