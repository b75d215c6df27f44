//! The validation of one object: the input of its kind's rules, and their errors.

use super::{
    cursor::{Cursor, Errors},
    metadata,
    strategies::Kind,
};

/// An object to validate, with the stored one of an update.
pub(super) struct Check<'a> {
    pub(super) kind: &'static Kind,
    pub(super) new: Cursor<'a>,
    /// The stored object of an update.
    pub(super) old: Option<Cursor<'a>>,
    /// The errors so far.
    pub(super) errors: Errors,
}

impl<'a> Check<'a> {
    pub(super) fn spec(&self) -> Cursor<'a> {
        self.new.child("spec")
    }

    pub(super) fn status(&self) -> Cursor<'a> {
        self.new.child("status")
    }

    /// A field of the stored object, without a value for a creation.
    pub(super) fn old_at(&self, names: &[&str]) -> Cursor<'a> {
        match &self.old {
            Some(old) => old.at(names),
            None => Cursor { value: None, path: self.new.at(names).path },
        }
    }

    /// Validates the metadata.
    pub(super) fn metadata(&mut self) {
        let meta = self.new.child("metadata");
        metadata::check(&meta, &mut self.errors, self.kind.name_rule, self.kind.namespaced);
        metadata::check_kube_finalizers(&meta, &mut self.errors);
    }

    /// Validates the change of the metadata.
    pub(super) fn metadata_update(&mut self) {
        if let Some(old) = &self.old {
            let meta = self.new.child("metadata");
            metadata::check_update(&meta, &old.child("metadata"), &mut self.errors);
            metadata::check_kube_finalizers(&meta, &mut self.errors);
        }
    }

    /// Validates the metadata as most kinds do: all of a new object's, the change of another's.
    pub(super) fn metadata_or_update(&mut self) {
        if self.old.is_some() {
            self.metadata_update();
        } else {
            self.metadata();
        }
    }

    /// As [`metadata_or_update`](Self::metadata_or_update), for kinds that always validate all of it.
    pub(super) fn metadata_update_and_metadata(&mut self) {
        self.metadata_update();
        self.metadata();
    }

    /// The field at this path is immutable.
    pub(super) fn immutable(&mut self, names: &[&str]) {
        if self.old.is_some() {
            let old = self.old_at(names);
            self.new.at(names).check_immutable(&mut self.errors, &old);
        }
    }
}
