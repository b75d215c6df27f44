//! Default classes of claims and ingresses, and the growth of claims. After
//! `plugin/pkg/admission/storage/storageclass/setdefault`, `plugin/pkg/admission/network/defaultingressclass` and
//! `plugin/pkg/admission/storage/persistentvolume/resize`.

use std::cmp::Reverse;

use baton_merge::{Arena, value::Value};
use serde_json::Value as Json;

use crate::{
    kinds::Quantity,
    registry::Resource,
    server::{RequestTarget, Server},
    status::Failure,
    store::{Key, Range},
};

/// The class reference of a kind.
struct Rule {
    group: &'static str,
    kind: &'static str,
    field: &'static str,
    /// The annotation that was used before the field.
    annotation: &'static str,
    /// The storage of the classes.
    classes: &'static str,
    /// The annotations of the default class.
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

/// The object with the default class, if it needs one and one exists.
pub(crate) fn with_default_class<'a>(
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

/// Refuses growth of a claim, unless it is bound and its class allows expansion.
pub(crate) fn check_growth(
    server: &Server,
    target: &RequestTarget,
    new: Value<'_>,
    old: Value<'_>,
) -> Result<(), Failure> {
    if !target.resource.is("", "PersistentVolumeClaim") || !target.subresource.is_empty() {
        return Ok(());
    }
    let size = |claim: Value<'_>| Quantity::of(claim.at(&["spec", "resources", "requests", "storage"]));
    if size(new) <= size(old) {
        return Ok(());
    }
    let refused = |why| Err(Failure::forbidden(&target.resource, &target.name, why));
    if old.at(&["status", "phase"]).and_then(|phase| phase.as_str()) != Some("Bound") {
        return refused("Only bound persistent volume claims can be expanded");
    }
    let [claims, _] = &RULES;
    let class_of = |claim: Value<'_>| {
        let named = claim.at(&["metadata", "annotations", claims.annotation]);
        named
            .or_else(|| claim.at(&["spec", claims.field]))
            .and_then(|class| class.as_str().map(str::to_owned))
    };
    let class = class_of(new).filter(|class| class_of(old).as_ref() == Some(class));
    let expands = class.is_some_and(|name| {
        let class = server.store.get(claims.classes, &Key { namespace: String::new(), name });
        let class = class.and_then(|record| serde_json::from_str::<Json>(record.text()).ok());
        class.is_some_and(|class| class["allowVolumeExpansion"] == true)
    });
    if expands {
        return Ok(());
    }
    refused(
        "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize",
    )
}

/// The newest of several.
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
