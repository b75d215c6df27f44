//! The zero values that are the same as absence to the API server, and the defaults that it fills in for them.

use std::{collections::HashMap, sync::LazyLock};

use baton_merge::{
    Arena,
    fieldpath::{FieldSet, PathElement},
    typed::Typed,
};
use serde_json::{Map, Value};

/// By type, the fields whose Go type isn't a pointer and that aren't written when they are zero: `omitempty` in k8s.io/api.
/// `e2e/controlplane/types` writes the file from the types.
static OMITTED_WHEN_ZERO: LazyLock<HashMap<String, Vec<String>>> =
    LazyLock::new(|| serde_json::from_str(include_str!("zeros.json")).unwrap_or_default());

/// The fields among these that then get a default from the server: `SetDefaults_*` in pkg/apis/*/defaults.go.
const DEFAULTED_WHEN_ZERO: &[(&str, &[&str])] = &[
    ("io.k8s.api.apps.v1.DeploymentStrategy", &["type"]),
    (
        "io.k8s.api.core.v1.Container",
        &["imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy"],
    ),
    ("io.k8s.api.core.v1.ContainerPort", &["protocol"]),
    (
        "io.k8s.api.core.v1.EphemeralContainer",
        &["imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy"],
    ),
    ("io.k8s.api.core.v1.HTTPGetAction", &["path", "scheme"]),
    ("io.k8s.api.core.v1.ISCSIVolumeSource", &["iscsiInterface"]),
    ("io.k8s.api.core.v1.ImageVolumeSource", &["pullPolicy"]),
    (
        "io.k8s.api.core.v1.PodSpec",
        &["dnsPolicy", "restartPolicy", "schedulerName", "serviceAccount", "serviceAccountName"],
    ),
    (
        "io.k8s.api.core.v1.Probe",
        &["failureThreshold", "periodSeconds", "successThreshold", "timeoutSeconds"],
    ),
    ("io.k8s.api.core.v1.RBDVolumeSource", &["keyring", "pool", "user"]),
    ("io.k8s.api.core.v1.ScaleIOVolumeSource", &["fsType", "storageMode"]),
    ("io.k8s.api.core.v1.ServicePort", &["nodePort", "protocol"]),
    (
        "io.k8s.api.core.v1.ServiceSpec",
        &["clusterIP", "externalTrafficPolicy", "healthCheckNodePort", "sessionAffinity", "type"],
    ),
];

/// The fields that the server fills into structs that are merged as a whole: the type, a field in it, and the field's default as JSON.
const FILLED_IN: &[(&str, &str, &str)] = &[
    ("io.k8s.api.core.v1.FileKeySelector", "optional", "false"),
    ("io.k8s.api.core.v1.ObjectFieldSelector", "apiVersion", r#""v1""#),
    ("io.k8s.api.core.v1.ResourceFieldSelector", "divisor", r#""0""#),
    ("io.k8s.api.core.v1.ServiceAccountTokenProjection", "expirationSeconds", "3600"),
    ("io.k8s.api.core.v1.TypedLocalObjectReference", "apiGroup", "null"),
];

/// Whether a field means the same as absent, and is never stored like this: the server stores nothing, in a value that is merged
/// as a whole, or fills in its default.
pub(super) fn is_absent(of: &str, field: &str, value: &Value, is_part: bool) -> bool {
    is_zero(value)
        && OMITTED_WHEN_ZERO.get(of).is_some_and(|fields| fields.iter().any(|name| name == field))
        && (is_part
            || DEFAULTED_WHEN_ZERO
                .iter()
                .any(|(defaulted, fields)| *defaulted == of && fields.contains(&field)))
}

/// The fields of an object that the server doesn't store because they are zero. Values that are merged as a whole aren't searched.
pub(crate) fn unstored<'a>(arena: &'a Arena, object: &Typed<'a>) -> FieldSet<'a> {
    let named = |(name, fields): (&String, &'static Vec<String>)| Some((object.type_named(name)?, fields));
    let types: HashMap<_, _> = OMITTED_WHEN_ZERO.iter().filter_map(named).collect();
    let paths = object.structs().into_iter().flat_map(|found| {
        let fields = types.get(&found.type_id).into_iter().flat_map(|fields| fields.iter());
        let zeros = fields.filter(move |field| found.value.get(field).is_some_and(super::is_zero_value));
        zeros.map(move |field| found.path.join(arena, PathElement::Field(field)))
    });
    FieldSet::of_paths(arena, paths)
}

/// Adds the fields that the server fills into a struct that is merged as a whole.
pub(super) fn fill_in(of: &str, members: &mut Map<String, Value>) {
    for (_, field, default) in FILLED_IN.iter().filter(|(filled, ..)| *filled == of) {
        members.entry(*field).or_insert_with(|| serde_json::from_str(default).unwrap_or_default());
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}
