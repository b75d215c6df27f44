//! What can be wrong with a schema that is read.

/// A schema that can't be used: where it is wrong, why, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {problem}")]
pub struct SchemaError {
    /// The place in the document, as a JSON path from its root `$`.
    pub at: String,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong with a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A value of another type than the format says.
    #[error("expected {expected}, found {found}")]
    WrongType {
        /// What should be there.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
    /// A member that the format doesn't have.
    #[error("there is no member {name:?} here; the members are {}", known.join(", "))]
    UnknownMember {
        /// The member's name.
        name: String,
        /// The members that may be here.
        known: &'static [&'static str],
    },
    /// A member that must be there and isn't.
    #[error("the member {0:?} is missing")]
    Missing(&'static str),
    /// Two things of one name.
    #[error("there are two {what} called {name:?}; rename or remove one")]
    Duplicate {
        /// What they are.
        what: &'static str,
        /// Their name.
        name: String,
    },
    /// A word that isn't one of those with a meaning.
    #[error("{found} is no {what}; use one of {}", known.join(", "))]
    UnknownWord {
        /// What the word should be.
        what: &'static str,
        /// The word, as JSON.
        found: String,
        /// The values that are allowed.
        known: &'static [&'static str],
    },
    /// A list of type `map` without the names of its keys.
    #[error("a list of type map needs x-kubernetes-list-map-keys: name the fields that identify its items")]
    MissingMapKeys,
    /// The names of a list's keys are no names.
    #[error("{member} must be {expected}, it is {found}")]
    UnreadableKeys {
        /// The member that should name them.
        member: &'static str,
        /// What it should be.
        expected: &'static str,
        /// What it is, as JSON.
        found: String,
    },
    /// An array that doesn't name the type of its items.
    #[error("an array needs `items`: say what its items are")]
    MissingItems,
    /// An array with several types of items, or none that can be read.
    #[error("an array has exactly one type of items: make `items` one schema")]
    ItemsNotOne,
    /// More levels than any real schema has.
    #[error("nested deeper than {0} levels; move inner schemas to named types")]
    TooDeep(usize),
    /// No OpenAPI v3 document.
    #[error(
        "this is no OpenAPI v3 document: fetch one from /openapi/v3/apis/<group>/<version> (version 2 won't do)"
    )]
    NotOpenApiV3,
    /// No CustomResourceDefinition of a version that can be read.
    #[error(
        "expected {expected:?}, found {found:?}; ask the server for apiextensions.k8s.io/v1 CustomResourceDefinitions"
    )]
    NotACustomResourceDefinition {
        /// What the member must be.
        expected: &'static str,
        /// What it is.
        found: String,
    },
    /// A schema of a custom resource that isn't structural. The server merges such resources by deduction.
    #[error("not structural: {0}")]
    NotStructural(&'static str),
}
