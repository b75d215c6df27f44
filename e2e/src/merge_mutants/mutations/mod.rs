//! The ways to break the merge core, by the part that they are in. Each is a small patch with a name, and one sentence on
//! what a person would see. They say nothing about how they are caught.

#![expect(
    clippy::needless_raw_string_hashes,
    reason = "pieces of code are quoted alike, whatever is in them"
)]

mod chain;
mod field_sets;
mod noop;
mod schema;
mod typed;
mod updater;
mod values;

use super::Error;

/// A known way to break the merge core.
#[derive(Clone, Copy, Debug)]
pub struct Mutation {
    /// What is broken, in a few words.
    pub name: &'static str,
    /// What a person would see of it.
    pub seen: &'static str,
    /// The file below `merge/src`.
    pub file: &'static str,
    /// A text that the file has exactly once.
    pub old: &'static str,
    /// What is there instead.
    pub new: &'static str,
}

impl Mutation {
    /// The source with the mutation.
    pub fn applied_to(&self, source: &str) -> Result<String, Error> {
        match source.matches(self.old).count() {
            1 => Ok(source.replacen(self.old, self.new, 1)),
            times => Err(Error::Stale { name: self.name, file: self.file, times }),
        }
    }
}

/// All of them.
pub fn all() -> impl Iterator<Item = &'static Mutation> {
    let parts: [&'static [Mutation]; 7] = [
        values::MUTATIONS,
        field_sets::MUTATIONS,
        schema::MUTATIONS,
        typed::MUTATIONS,
        updater::MUTATIONS,
        chain::MUTATIONS,
        noop::MUTATIONS,
    ];
    parts.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs};

    use super::*;
    use baton_testbed::workspace;

    #[test]
    fn every_mutation_has_a_name_of_its_own_and_fits_the_source() {
        let mut names = BTreeSet::new();
        let source = |mutation: &Mutation| {
            fs::read_to_string(workspace().join("merge/src").join(mutation.file)).unwrap()
        };
        let stale: Vec<_> = all()
            .filter_map(|mutation| {
                assert!(names.insert(mutation.name), "{} is there twice", mutation.name);
                assert_ne!(mutation.old, mutation.new, "{} changes nothing", mutation.name);
                mutation.applied_to(&source(mutation)).err().map(|error| error.to_string())
            })
            .collect();
        assert!(stale.is_empty(), "{}", stale.join("\n"));
    }
}
