//! Metadata that the server itself writes, after `pkg/registry/rest/{create,update,meta}.go` of apiserver.

use baton_merge::{Arena, value::Value};
use jiff::Timestamp;

use crate::{registry::Resource, server::RequestTarget, types};

/// The alphabet of generated names, without vowels, so that no words appear.
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
const GENERATED: usize = 5;
const MAX_BASE: usize = 58;

/// A name with this `generateName`.
pub(crate) fn generated_name(base: &str) -> String {
    let end =
        (0..=MAX_BASE.min(base.len())).rev().find(|end| base.is_char_boundary(*end)).unwrap_or_default();
    let letters = (0..GENERATED).map(|_| fastrand::choice(LETTERS).copied().map_or('x', char::from));
    base[..end].chars().chain(letters).collect()
}

/// A random UUID.
pub(crate) fn new_uid() -> String {
    let bits = (fastrand::u128(..) & !(0xf << 76) & !(0x3 << 62)) | (0x4 << 76) | (0x2 << 62);
    let hex = format!("{bits:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// Removes the fields of a new object that only the server sets.
pub(crate) fn without_server_fields<'a>(arena: &'a Arena, object: Value<'a>) -> Value<'a> {
    let names = ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"];
    names.into_iter().fold(object, |object, name| object.with(arena, &["metadata", name], None))
}

/// Sets the fields of a new object.
pub(crate) fn for_create<'a>(
    arena: &'a Arena,
    object: Value<'a>,
    target: &RequestTarget,
    now: Timestamp,
) -> Value<'a> {
    let text = |text: String| Some(Value::String(arena.copy_text(&text)));
    let own = [
        ("name", text(target.name.clone())),
        ("namespace", text(target.namespace.clone()).filter(|_| !target.namespace.is_empty())),
        ("uid", text(new_uid())),
        ("creationTimestamp", text(types::second_time(now))),
        ("selfLink", None),
        ("resourceVersion", None),
    ];
    own.into_iter().fold(object, |object, (name, value)| object.with(arena, &["metadata", name], value))
}

/// Resets the fields that updates can't change.
pub(crate) fn for_update<'a>(arena: &'a Arena, object: Value<'a>, old: Value<'a>) -> Value<'a> {
    let live = |name| old.at(&["metadata", name]);
    let own = |object: Value<'a>, name| object.at(&["metadata", name]);
    let mut object = object;
    for name in ["creationTimestamp", "generation", "resourceVersion", "selfLink"] {
        object = object.with(arena, &["metadata", name], live(name));
    }
    // Checked before; a cluster-scoped object may have named any.
    object = object.with(arena, &["metadata", "namespace"], live("namespace"));
    for name in ["name", "uid", "deletionGracePeriodSeconds"] {
        let is_unset = own(object, name).is_none_or(|value| value.as_str() == Some(""));
        if is_unset {
            object = object.with(arena, &["metadata", name], live(name));
        }
    }
    if live("deletionTimestamp").is_some() {
        object = object.with(arena, &["metadata", "deletionTimestamp"], live("deletionTimestamp"));
    }
    object
}

/// Whether a deleted object has no finalizers left. A namespace has more of them in its spec.
pub(crate) fn is_ready_to_remove(resource: &Resource, object: Value<'_>) -> bool {
    let of = |name| object.at(&["metadata", name]);
    let is_empty =
        |value: Option<Value<'_>>| value.and_then(|value| value.as_list()).is_none_or(<[_]>::is_empty);
    of("deletionTimestamp").is_some()
        && is_empty(of("finalizers"))
        && of("deletionGracePeriodSeconds").is_none_or(|seconds| seconds == Value::Int(0))
        && (!resource.is("", "Namespace") || is_empty(object.at(&["spec", "finalizers"])))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::{
        Api, ResourceExt as _,
        api::{ObjectMeta, PostParams},
    };

    use super::*;
    use crate::ApiServer;

    #[test]
    fn a_uid_is_a_random_uuid() {
        let uid = new_uid();
        assert_eq!(uid.len(), 36);
        assert_eq!(&uid[14..15], "4");
        assert!("89ab".contains(&uid[19..20]), "{uid}");
        assert_ne!(uid, new_uid());
    }

    #[test]
    fn a_generated_name_is_short_enough_for_a_label() {
        let name = generated_name(&"x".repeat(80));
        assert_eq!(name.len(), 63);
        assert_eq!(generated_name("web-").len(), 9);
    }

    #[tokio::test]
    async fn another_name_is_generated_where_one_is_taken() {
        let server = ApiServer::builder().start().unwrap();
        let configs: Api<ConfigMap> = Api::default_namespaced(server.client());
        let metadata = ObjectMeta { generate_name: Some("web-".to_owned()), ..ObjectMeta::default() };
        let config = ConfigMap { metadata, ..ConfigMap::default() };
        let create = async || {
            // The same names as before.
            fastrand::seed(7);
            configs.create(&PostParams::default(), &config).await.map(|made| made.name_any())
        };
        let (first, second) = (create().await.unwrap(), create().await.unwrap());
        assert_ne!(first, second);
    }
}
