//! The class that a new claim or ingress gets if it names none. After `plugin/pkg/admission/storage/storageclass/setdefault` and
//! `plugin/pkg/admission/network/defaultingressclass`.

use std::cmp::Reverse;

use baton_merge::{Arena, value::Value};
use serde_json::Value as Json;

use crate::{registry::Resource, server::Server, store::Range};

/// How objects of a kind name their class.
struct Rule {
    group: &'static str,
    kind: &'static str,
    field: &'static str,
    /// The annotation that named the class before there was the field.
    annotation: &'static str,
    /// What the classes are stored under.
    classes: &'static str,
    /// The annotations that make a class the default one.
    marks: &'static [&'static str],
}

const RULES: [Rule; 2] = [
    Rule {
        group: "",
        kind: "PersistentVolumeClaim",
        field: "storageClassName",
        annotation: "volume.beta.kubernetes.io/storage-class",
        classes: "storageclasses.storage.k8s.io",
        marks: &[
            "storageclass.kubernetes.io/is-default-class",
            "storageclass.beta.kubernetes.io/is-default-class",
        ],
    },
    Rule {
        group: "networking.k8s.io",
        kind: "Ingress",
        field: "ingressClassName",
        annotation: "kubernetes.io/ingress.class",
        classes: "ingressclasses.networking.k8s.io",
        marks: &["ingressclass.kubernetes.io/is-default-class"],
    },
];

/// The object with the default class, where it needs one and there is one.
pub(crate) fn given<'a>(
    server: &Server,
    arena: &'a Arena,
    resource: &Resource,
    object: Value<'a>,
) -> Value<'a> {
    let Some(rule) = RULES.iter().find(|rule| resource.is(rule.group, rule.kind)) else { return object };
    let is_named = object.at(&["spec", rule.field]).is_some()
        || object.at(&["metadata", "annotations", rule.annotation]).is_some();
    match default_class(server, rule).filter(|_| !is_named) {
        Some(class) => {
            object.with(arena, &["spec", rule.field], Some(Value::String(arena.copy_text(&class))))
        }
        None => object,
    }
}

/// Of several, the newest.
fn default_class(server: &Server, rule: &Rule) -> Option<String> {
    let all = server.store.list(rule.classes, &Range::default()).ok()?;
    let classes = all.objects.iter().filter_map(|(_, record)| serde_json::from_str(record.text()).ok());
    let is_default =
        |class: &Json| rule.marks.iter().any(|mark| class["metadata"]["annotations"][*mark] == "true");
    let text = |class: &Json, name: &str| class["metadata"][name].as_str().unwrap_or_default().to_owned();
    let newest = classes
        .filter(is_default)
        .min_by_key(|class| (Reverse(text(class, "creationTimestamp")), text(class, "name")))?;
    Some(text(&newest, "name"))
}
