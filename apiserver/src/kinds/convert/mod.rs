//! Built-in kinds that are served in more than one version: in which one their objects are stored, and how these look in another.
//!
//! The store has one version of each object. What a request brings becomes that first, and a response is made from it.

mod autoscaler;
mod event;
mod metrics;
#[cfg(test)]
mod tests;

use baton_merge::{Arena, schema::kinds::GroupVersionKind, value::Value};

pub(super) use self::autoscaler::without_annotations;

/// A kind in two versions.
#[derive(Clone, Copy)]
enum Pair {
    /// Events of `events.k8s.io`, which are stored as those of the core group.
    Event,
    /// Autoscalers of version 1, which are stored in version 2.
    Autoscaler,
}

impl Pair {
    /// The pair whose other version this is; none for a version that is stored as it is.
    fn of(gvk: &GroupVersionKind) -> Option<Self> {
        match (gvk.group.as_str(), gvk.version.as_str(), gvk.kind.as_str()) {
            ("events.k8s.io", "v1", "Event") => Some(Self::Event),
            ("autoscaling", "v1", "HorizontalPodAutoscaler") => Some(Self::Autoscaler),
            _ => None,
        }
    }

    fn stored(self) -> GroupVersionKind {
        match self {
            Self::Event => GroupVersionKind::new("", "v1", "Event"),
            Self::Autoscaler => GroupVersionKind::new("autoscaling", "v2", "HorizontalPodAutoscaler"),
        }
    }
}

/// The version in which the objects of a version are stored.
pub(crate) fn stored_as(gvk: &GroupVersionKind) -> GroupVersionKind {
    Pair::of(gvk).map_or_else(|| gvk.clone(), Pair::stored)
}

/// An object of a version as it is stored, but for the defaults of the stored version.
pub(crate) fn to_stored<'a>(arena: &'a Arena, gvk: &GroupVersionKind, object: Value<'a>) -> Value<'a> {
    let Some(pair) = Pair::of(gvk) else { return object };
    let converted = match pair {
        Pair::Event => event::to_core(arena, object),
        Pair::Autoscaler => autoscaler::to_v2(arena, object),
    };
    of_version(arena, converted, &pair.stored())
}

/// A stored object in the version that is asked for.
pub(crate) fn from_stored<'a>(arena: &'a Arena, gvk: &GroupVersionKind, object: Value<'a>) -> Value<'a> {
    let Some(pair) = Pair::of(gvk) else { return object };
    let converted = match pair {
        Pair::Event => event::from_core(arena, object),
        Pair::Autoscaler => autoscaler::to_v1(arena, object),
    };
    of_version(arena, converted, gvk)
}

fn of_version<'a>(arena: &'a Arena, object: Value<'a>, gvk: &GroupVersionKind) -> Value<'a> {
    let api_version = arena.copy_text(&gvk.api_version());
    object.with(arena, &["apiVersion"], Some(Value::String(api_version)))
}
