//! Built-in kinds with several versions: their stored version and its conversions.
//!
//! Each object is stored in one version. Requests are converted to it, and responses from it.

mod autoscaler;
mod event;
mod metrics;
#[cfg(test)]
mod tests;

use baton_merge::{Arena, schema::kinds::GroupVersionKind, value::Value};

pub(super) use self::autoscaler::without_annotations;

/// A kind with two versions.
#[derive(Clone, Copy)]
enum Pair {
    /// Events of `events.k8s.io`, stored in the core group.
    Event,
    /// Autoscalers of v1, stored as v2.
    Autoscaler,
}

impl Pair {
    /// The pair with this other version; none for a stored version.
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

/// The stored version of a kind.
pub(crate) fn stored_as(gvk: &GroupVersionKind) -> GroupVersionKind {
    Pair::of(gvk).map_or_else(|| gvk.clone(), Pair::stored)
}

/// Converts to the stored version, without its defaults.
pub(crate) fn to_stored<'a>(arena: &'a Arena, gvk: &GroupVersionKind, object: Value<'a>) -> Value<'a> {
    let Some(pair) = Pair::of(gvk) else { return object };
    let converted = match pair {
        Pair::Event => event::to_core(arena, object),
        Pair::Autoscaler => autoscaler::to_v2(arena, object),
    };
    of_version(arena, converted, &pair.stored())
}

/// Converts from the stored version.
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
