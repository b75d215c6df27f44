//! Expectations of the subject, as it was last read.

use baton_testbed::Json;

use super::{Subject, body, owners, owners::Owner, path, show};

impl Subject {
    /// The value at a path of the subject, spelled as in conflicts.
    pub fn at(&self, path: &str) -> Option<&Json> {
        self.live.as_ref().and_then(|live| path::at(live, path))
    }

    /// Expects this value, written in YAML, at a path.
    #[track_caller]
    pub fn expect(&self, path: &str, value: &str) {
        let wanted = body::parse_value(value);
        let found = self.at(path);
        self.assert(found.is_some_and(|found| found.same_value(&wanted)), || {
            format!(
                "expected {wanted} at {path}, found {}",
                found.map_or("nothing".to_owned(), Json::to_string)
            )
        });
    }

    /// Expects nothing at a path; at the empty path, no object.
    #[track_caller]
    pub fn expect_absent(&self, path: &str) {
        let found = self.at(path);
        self.assert(found.is_none(), || {
            format!("expected nothing at {path}, found {}", found.map_or(String::new(), Json::to_string))
        });
    }

    /// Expects that only this manager owns a path: `kubectl (Apply)`, `hpa (Update scale)`.
    #[track_caller]
    pub fn expect_owner(&self, path: &str, manager: &str) {
        self.expect_owners(path, &[manager]);
    }

    /// Expects that no manager owns a path.
    #[track_caller]
    pub fn expect_no_owner(&self, path: &str) {
        self.expect_owners(path, &[]);
    }

    /// Expects that exactly these managers own a path, in any order: that of `managedFields` depends on the times.
    #[track_caller]
    pub fn expect_owners(&self, path: &str, managers: &[&str]) {
        let owners = owners::owners(self.live.as_ref());
        let owning = owners.iter().filter(|owner| owner.owns(path));
        let found = sorted(owning.map(|owner| owner.name.as_str()));
        let wanted = sorted(managers.iter().copied());
        self.assert(found == wanted, || {
            format!("expected {path} to be owned by {wanted:?}, found {found:?}")
        });
    }

    /// Expects exactly these field managers, in any order.
    #[track_caller]
    pub fn expect_managers(&self, managers: &[&str]) {
        let owners = self.managers();
        let (found, wanted) = (sorted(owners.iter().map(String::as_str)), sorted(managers.iter().copied()));
        self.assert(found == wanted, || format!("expected the field managers {wanted:?}, found {found:?}"));
    }

    /// Expects exactly these field managers, in the order of `managedFields`.
    #[track_caller]
    pub fn expect_managers_in_order(&self, managers: &[&str]) {
        let found = self.managers();
        self.assert(found == managers, || {
            format!("expected the field managers {managers:?}, found {found:?}")
        });
    }

    /// Expects that a manager owns exactly these paths, in any order.
    #[track_caller]
    pub fn expect_fields(&self, manager: &str, paths: &[&str]) {
        let owners = owners::owners(self.live.as_ref());
        let owner = owners.iter().find(|owner| owner.name == manager);
        let found = sorted(owner.iter().flat_map(|owner| &owner.paths).map(String::as_str));
        let wanted = sorted(paths.iter().copied());
        self.assert(found == wanted, || format!("expected {manager} to own {wanted:?}, found {found:?}"));
    }

    #[track_caller]
    fn assert(&self, holds: bool, problem: impl FnOnce() -> String) {
        assert!(holds, "{}: {}\n{}", self.title(), problem(), self.shown());
    }

    /// The field managers of the subject, in the order of its `managedFields`.
    pub fn managers(&self) -> Vec<String> {
        owners::owners(self.live.as_ref()).into_iter().map(|owner| owner.name).collect()
    }

    /// The subject and its owners.
    fn shown(&self) -> String {
        let owners: Vec<_> = owners::owners(self.live.as_ref()).iter().map(Owner::to_string).collect();
        let mut object = self.live.clone().unwrap_or(Json::Null);
        if let Some(metadata) = object.get_mut("metadata") {
            metadata.take("managedFields");
        }
        format!("{}\n{}", show::yaml(&object), owners.concat())
    }
}

fn sorted<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<&'t str> {
    let mut texts: Vec<_> = texts.collect();
    texts.sort_unstable();
    texts
}
