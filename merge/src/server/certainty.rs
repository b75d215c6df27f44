//! The certainty of computed writes.
//!
//! The server's work beyond the field manager can often be ruled out by the write; otherwise the reason is here. Most
//! reasons were found by comparing predictions with a real server's responses.

use super::{Request, Resource, Verb, entries::Managed};
use crate::{
    fieldpath::{Path, PathElement::Field},
    value::Value,
};

/// The certainty of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// The server does exactly this.
    Exact,
    /// The server does this, and then fills in defaults.
    ModuloDefaulting,
    /// A client sees no change. Whether the server stores anything that clients can't see, only the server knows: see the
    /// reason.
    Unseen(&'static str),
    /// The server knows more than this crate: see the reason.
    Unknown(&'static str),
}

impl Certainty {
    /// Why the server may do something else; none if it does just this, its defaults aside.
    pub fn doubt(self) -> Option<&'static str> {
        match self {
            Self::Exact | Self::ModuloDefaulting => None,
            Self::Unseen(reason) | Self::Unknown(reason) => Some(reason),
        }
    }
}

/// The parts of metadata that a server stores empty and doesn't show then.
pub(crate) const HIDDEN_WHEN_EMPTY: [Path<'static>; 4] = [
    Path::new(&[Field("metadata"), Field("annotations")]),
    Path::new(&[Field("metadata"), Field("labels")]),
    Path::new(&[Field("metadata"), Field("finalizers")]),
    Path::new(&[Field("metadata"), Field("ownerReferences")]),
];

/// A computed write, as far as its certainty depends on it.
pub(super) struct Computed<'c, 'a> {
    pub(super) verb: Verb,
    pub(super) before: &'c Managed<'a>,
    pub(super) after: &'c Managed<'a>,
    /// Whether the server stores other entries as well.
    pub(super) is_incomplete: bool,
    pub(super) live: Option<Value<'a>>,
    pub(super) object: Value<'a>,
    /// Whether the object is unchanged, apart from its `managedFields`.
    pub(super) same_object: bool,
    pub(super) changed: bool,
}

impl<'a> Request<'_, 'a> {
    pub(super) fn certainty(&self, computed: &Computed<'_, 'a>) -> Certainty {
        if let Some(reason) = self.unknowable(computed) {
            return Certainty::Unknown(reason);
        }
        if let Some(reason) = self.unseen(computed) {
            return Certainty::Unseen(reason);
        }
        // A stored object has its defaults already.
        let defaults = self.resource.has_defaults() && !computed.same_object;
        // Null values of labels and annotations become empty strings.
        let nulls = computed.object.get("metadata").is_some_and(|metadata| metadata.nulls() > 0);
        if defaults || nulls { Certainty::ModuloDefaulting } else { Certainty::Exact }
    }

    fn unknowable(&self, computed: &Computed<'_, 'a>) -> Option<&'static str> {
        let resource = self.resource;
        let owners =
            || computed.before.fields.iter().chain(computed.after.fields.iter()).map(|(_, owned)| owned);
        if let Some(reason) = of_versions(resource, owners().map(|owned| owned.version)) {
            return Some(reason);
        }
        if computed.is_incomplete {
            return Some(
                "the server keeps managedFields that it couldn't use, and they aren't as a server writes them",
            );
        }
        let nulls = |value: Option<Value<'_>>| value.map_or(0, |value| value.nulls());
        if resource.is_custom()
            && nulls(Some(computed.object)) > nulls(computed.live) + nulls(Some(self.object))
        {
            return Some(
                "a map or list loses all it had while another manager owns it; the schema may refuse the null",
            );
        }
        if matches!(computed.verb, Verb::Update)
            && resource.rewrites_quantities()
            && has_quantities(computed.object)
        {
            return Some("the server compares quantities in an atomic list by how they were spelled");
        }
        None
    }

    /// The reason why the server may store something although clients see no change.
    fn unseen(&self, computed: &Computed<'_, 'a>) -> Option<&'static str> {
        if computed.changed {
            return None;
        }
        let resource = self.resource;
        let owners =
            || computed.before.fields.iter().chain(computed.after.fields.iter()).map(|(_, owned)| owned);
        if !resource.is_stored_as_written() {
            return Some(
                "the object is stored in another version, which may hold fields that this one hasn't",
            );
        }
        let is_hidden = |path: &Path<'_>| {
            let fields = path.elements().iter().filter_map(|element| match element {
                Field(name) => Some(*name),
                _ => None,
            });
            let names: Vec<_> = fields.collect();
            let shown = computed.live.is_some_and(|live| live.at(&names).is_some());
            !shown && owners().any(|owned| owned.set.contains(path))
        };
        if resource.is_custom() && HIDDEN_WHEN_EMPTY.iter().any(is_hidden) {
            return Some(
                "an empty part of metadata may be stored that the server doesn't show, and is dropped now",
            );
        }
        let labels = &HIDDEN_WHEN_EMPTY[1];
        let owns_labels = || {
            owners().any(|owned| {
                !owned.set.below(&Field("metadata")).below(&Field("labels")).is_empty()
                    || owned.set.contains(labels)
            })
        };
        if resource.fills_in_labels() && !owns_labels() {
            return Some("the server may fill in labels when it reads the object, which aren't stored yet");
        }
        None
    }
}

/// The reason why the versions of owned fields make a write uncertain.
pub(super) fn of_versions<'a>(
    resource: Resource<'a>,
    versions: impl Iterator<Item = &'a str>,
) -> Option<&'static str> {
    let mut others = versions.filter(|version| *version != resource.api_version()).peekable();
    if resource.converts_by_webhook() && others.peek().is_some() {
        return Some("a manager owns fields in another version, and a webhook converts between the two");
    }
    let reason = |version| {
        if resource.is_custom() && resource.type_in(version).is_none() {
            "a manager owns fields in a version that isn't known; if it isn't served any more, the server refuses every apply"
        } else {
            "a manager owns fields in another version, and only the server can convert between the two"
        }
    };
    others.find(|version| resource.converts_in_server(version)).map(reason)
}

/// Whether an autoscaler's metrics hold a quantity with a binary suffix, such as `64Mi`: the server remembers its spelling
/// on one side of a comparison only.
fn has_quantities(object: Value<'_>) -> bool {
    fn in_value(value: Value<'_>) -> bool {
        match value {
            Value::Map(map) => map.members().iter().any(|(name, value)| {
                let is_binary = value.as_str().is_some_and(|text| text.ends_with('i'));
                (matches!(*name, "value" | "averageValue") && is_binary) || in_value(*value)
            }),
            Value::List(items) => items.iter().any(|item| in_value(*item)),
            _ => false,
        }
    }
    object.at(&["spec", "metrics"]).is_some_and(in_value)
}

impl Resource<'_> {
    /// Whether a kind has quantities in an atomic list of its Go type: there the server sees a change in a write that isn't
    /// an apply, depending on the quantity's spelling.
    fn rewrites_quantities(&self) -> bool {
        self.is_kind("autoscaling", "HorizontalPodAutoscaler")
    }

    /// Whether the server sets labels of a kind when it reads an object from the store.
    pub(crate) fn fills_in_labels(&self) -> bool {
        self.is_kind("batch", "Job")
    }
}
