//! Errors of schemas.

/// A schema that can't be used: the position, the problem, and its remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{at}: {problem}")]
pub struct SchemaError {
    /// The place in the document, as a JSON path from its root `$`.
    pub at: String,
    /// The problem.
    pub problem: Problem,
}

/// A problem of a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A value of another type.
    #[error("expected {expected}, found {found}")]
    WrongType {
        /// The expected type.
        expected: &'static str,
        /// The actual type.
        found: &'static str,
    },
    /// An unknown member.
    #[error("there is no member {name:?} here; the members are {}", known.join(", "))]
    UnknownMember {
        /// The member's name.
        name: String,
        /// The known members.
        known: &'static [&'static str],
    },
    /// A required member is missing.
    #[error("the member {0:?} is missing")]
    Missing(&'static str),
    /// Two types or fields with one name.
    #[error("there are two {what} called {name:?}; rename or remove one")]
    Duplicate {
        /// Their kind.
        what: &'static str,
        /// Their name.
        name: String,
    },
    /// An unknown word.
    #[error("{found} is no {what}; use one of {}", known.join(", "))]
    UnknownWord {
        /// Its kind.
        what: &'static str,
        /// The word, as JSON.
        found: String,
        /// The known words.
        known: &'static [&'static str],
    },
    /// A list of type `map` without the names of its keys.
    #[error("a list of type map needs x-kubernetes-list-map-keys: name the fields that identify its items")]
    MissingMapKeys,
    /// Invalid names of list keys.
    #[error("{member} must be {expected}, it is {found}")]
    UnreadableKeys {
        /// The member with the names.
        member: &'static str,
        /// The expected value.
        expected: &'static str,
        /// The actual value, as JSON.
        found: String,
    },
    /// An array without `items`.
    #[error("an array needs `items`: say what its items are")]
    MissingItems,
    /// An array with several or unreadable types of items.
    #[error("an array has exactly one type of items: make `items` one schema")]
    ItemsNotOne,
    /// The schema is nested too deep.
    #[error("nested deeper than {0} levels; move inner schemas to named types")]
    TooDeep(usize),
    /// Not an OpenAPI v3 document.
    #[error(
        "this is no OpenAPI v3 document: fetch one from /openapi/v3/apis/<group>/<version> (version 2 won't do)"
    )]
    NotOpenApiV3,
    /// Not a CRD of a known version.
    #[error(
        "expected {expected:?}, found {found:?}; ask the server for apiextensions.k8s.io/v1 CustomResourceDefinitions"
    )]
    NotACustomResourceDefinition {
        /// The expected value.
        expected: &'static str,
        /// The actual value.
        found: String,
    },
    /// A schema that isn't structural. The server deduces the types of such resources.
    #[error("not structural: {0}")]
    NotStructural(&'static str),
}
