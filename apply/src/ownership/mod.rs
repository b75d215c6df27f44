//! Who owns a field, and how ownership passes from one manager to another.
//!
//! Server-side apply has no request for it. What there is, each as a [`Request`] that is guarded by the object it was made for:
//!
//! | to | send |
//! | --- | --- |
//! | let another program take a field over without its value changing | [`hand_over`]: the live value alone, applied by a temporary manager, never forced; then apply your intent without the field |
//! | take a field back | your intent with the live value, forced, under [`Guard::Unchanged`] |
//! | end a temporary manager | [`release_all`]: an apply of nothing |
//! | take a name out of an entry that isn't yours | [`Release`]: a JSON patch of `managedFields` |
//! | make what retired managers own yours | [`Migration`]: the same for whole entries, and for client-side apply |

mod migrate;
mod release;

use std::borrow::Cow;

use baton_merge::{
    Arena,
    fieldpath::{FieldSet, Path, PathElement},
    server::Operation,
};
use serde_json::{Value, json};

pub use migrate::{LAST_APPLIED, Migration, is_client_side_apply};
pub use release::Release;

use crate::{Guard, LiveObject, Request, Target, object::text};

/// An entry of an object's `managedFields` that owns a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The manager's name.
    pub manager: String,
    /// How it wrote.
    pub operation: Operation,
    /// The subresource that it wrote through, such as `scale`; absent for the object itself.
    pub subresource: Option<String>,
    /// Where the entry stands in `managedFields`.
    position: usize,
}

/// Who owns a field, in the order of `managedFields`. An entry that can't be read owns nothing.
///
/// ```
/// use baton_apply::{LiveObject, ownership::holders};
/// use baton_merge::fieldpath::{Path, PathElement::Field};
/// use serde_json::json;
///
/// let live = LiveObject::from_json(json!({"metadata": {"managedFields": [{
///     "manager": "kube-controller-manager", "operation": "Update", "subresource": "scale",
///     "fieldsV1": {"f:spec": {"f:replicas": {}}},
/// }]}}))?;
/// let replicas = holders(&live, Path::new(&[Field("spec"), Field("replicas")]));
/// assert_eq!(replicas[0].manager, "kube-controller-manager");
/// assert_eq!(replicas[0].subresource.as_deref(), Some("scale"));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn holders(live: &LiveObject, path: Path<'_>) -> Vec<Holder> {
    let arena = Arena::new();
    let holder = |(position, entry): (usize, &Value)| {
        let fields = FieldSet::from_fields_v1(&arena, entry.get("fieldsV1")?).ok()?;
        fields.contains(&path).then(|| Holder {
            manager: text(entry, "manager").unwrap_or_default().to_owned(),
            operation: match text(entry, "operation") {
                Some("Apply") => Operation::Apply,
                _ => Operation::Update,
            },
            subresource: text(entry, "subresource").filter(|name| !name.is_empty()).map(str::to_owned),
            position,
        })
    };
    live.managed_fields().iter().enumerate().filter_map(holder).collect()
}

/// Hands a field over: applies its live value alone, as a temporary manager.
///
/// Never forced: force would take the field from whoever has just written it. Afterwards two managers own the field, so the
/// first may leave it out of its intent without the server resetting it; and whoever writes the field next with another value
/// takes it from both. `None` where the object has no value there, or where the path leads through a list, whose items only a
/// whole intent can name.
pub fn hand_over(
    target: Target,
    live: &LiveObject,
    path: Path<'_>,
    temporary: impl Into<Cow<'static, str>>,
) -> Option<Request> {
    let fields: Option<Vec<&str>> = path
        .elements()
        .iter()
        .map(|element| match element {
            PathElement::Field(name) => Some(*name),
            _ => None,
        })
        .collect();
    let fields = fields?;
    let value = live.get(&fields)?.clone();
    let mut intent = nothing_of(&target);
    fields.iter().fold(&mut intent, |member, field| &mut member[*field]).clone_from(&value);
    Some(Request::apply(target, intent, temporary, false, &Guard::Unchanged(live.revision())))
}

/// An apply of nothing: the manager gives up all that it owns of the object by server-side apply. What nobody else owns goes
/// with it, or falls back to its default.
pub fn release_all(target: Target, live: &LiveObject, manager: impl Into<Cow<'static, str>>) -> Request {
    let intent = nothing_of(&target);
    Request::apply(target, intent, manager, false, &Guard::Unchanged(live.revision()))
}

/// The least object that can be applied.
fn nothing_of(target: &Target) -> Value {
    json!({
        "apiVersion": target.resource.api_version,
        "kind": target.resource.kind,
        "metadata": {"name": target.name},
    })
}
