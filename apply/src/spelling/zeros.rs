//! The zero values that are the same as absence to the API server, and the defaults that it fills in for them.

use std::{collections::HashMap, sync::LazyLock};

use baton_merge::{
    Arena,
    fieldpath::{FieldSet, PathElement},
    typed::Typed,
};
use serde_json::{Map, Value};

use crate::types::{is_zero_scalar, is_zero_value};

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

/// The fields that the server fills into structs that are merged as a whole, or always writes: the type, a field in it, and the field's default as JSON.
/// Defaults of only some structs of a type are in [`fill_in`].
const FILLED_IN: &[(&str, &str, &str)] = &[
    ("io.k8s.api.admissionregistration.v1.MatchResources", "matchPolicy", r#""Equivalent""#),
    ("io.k8s.api.admissionregistration.v1.MatchResources", "namespaceSelector", "{}"),
    ("io.k8s.api.admissionregistration.v1.MatchResources", "objectSelector", "{}"),
    ("io.k8s.api.admissionregistration.v1.NamedRuleWithOperations", "scope", r#""*""#),
    ("io.k8s.api.admissionregistration.v1.RuleWithOperations", "scope", r#""*""#),
    ("io.k8s.api.batch.v1.PodFailurePolicyOnPodConditionsPattern", "status", r#""True""#),
    ("io.k8s.api.core.v1.EndpointPort", "protocol", r#""TCP""#),
    ("io.k8s.api.core.v1.FileKeySelector", "optional", "false"),
    ("io.k8s.api.core.v1.ObjectFieldSelector", "apiVersion", r#""v1""#),
    // A claim in a list is one of a StatefulSet's templates.
    ("io.k8s.api.core.v1.PersistentVolumeClaim", "apiVersion", r#""v1""#),
    ("io.k8s.api.core.v1.PersistentVolumeClaim", "kind", r#""PersistentVolumeClaim""#),
    ("io.k8s.api.core.v1.PersistentVolumeClaim", "status", r#"{"phase":"Pending"}"#),
    ("io.k8s.api.core.v1.PersistentVolumeClaim", "metadata", "{}"),
    ("io.k8s.api.core.v1.PersistentVolumeClaim", "spec", r#"{"resources":{},"volumeMode":"Filesystem"}"#),
    ("io.k8s.api.core.v1.PersistentVolumeClaimSpec", "resources", "{}"),
    ("io.k8s.api.core.v1.PersistentVolumeClaimSpec", "volumeMode", r#""Filesystem""#),
    ("io.k8s.api.core.v1.PersistentVolumeClaimStatus", "phase", r#""Pending""#),
    ("io.k8s.api.core.v1.ResourceFieldSelector", "divisor", r#""0""#),
    ("io.k8s.api.core.v1.ServiceAccountTokenProjection", "expirationSeconds", "3600"),
    ("io.k8s.api.core.v1.TypedLocalObjectReference", "apiGroup", "null"),
    ("io.k8s.api.core.v1.TypedObjectReference", "apiGroup", "null"),
    ("io.k8s.api.discovery.v1.Endpoint", "conditions", "{}"),
    ("io.k8s.api.discovery.v1.EndpointPort", "name", r#""""#),
    ("io.k8s.api.discovery.v1.EndpointPort", "protocol", r#""TCP""#),
    ("io.k8s.api.flowcontrol.v1.ResourcePolicyRule", "namespaces", "null"),
    ("io.k8s.api.networking.v1.IngressServiceBackend", "port", "{}"),
    ("io.k8s.api.networking.v1.NetworkPolicyPort", "protocol", r#""TCP""#),
    ("io.k8s.api.rbac.v1.RoleRef", "apiGroup", RBAC),
    ("io.k8s.api.resource.v1.CapacityRequestPolicy", "default", "null"),
    ("io.k8s.api.resource.v1.DeviceSubRequest", "allocationMode", r#""ExactCount""#),
    ("io.k8s.api.resource.v1.DeviceToleration", "operator", r#""Equal""#),
    ("io.k8s.api.resource.v1.ExactDeviceRequest", "allocationMode", r#""ExactCount""#),
];

const RBAC: &str = r#""rbac.authorization.k8s.io""#;

/// Whether a field means the same as absent, and is never stored like this: the server stores nothing, in a value that is merged
/// as a whole, or fills in its default.
pub(super) fn is_absent(of: &str, field: &str, value: &Value, is_part: bool) -> bool {
    is_omitted(of, field, value) && (is_part || is_defaulted(of, field))
}

/// Whether a field is never stored like this, and gets no default.
pub(super) fn is_unstored(of: &str, field: &str, value: &Value) -> bool {
    is_omitted(of, field, value) && !is_defaulted(of, field)
}

fn is_omitted(of: &str, field: &str, value: &Value) -> bool {
    is_zero_scalar(value)
        && OMITTED_WHEN_ZERO.get(of).is_some_and(|fields| fields.iter().any(|name| name == field))
}

fn is_defaulted(of: &str, field: &str) -> bool {
    DEFAULTED_WHEN_ZERO.iter().any(|(defaulted, fields)| *defaulted == of && fields.contains(&field))
}

/// The fields of an object that the server doesn't store because they are zero. Values that are merged as a whole aren't searched.
pub(crate) fn unstored<'a>(arena: &'a Arena, object: &Typed<'a>) -> FieldSet<'a> {
    let named = |(name, fields): (&String, &'static Vec<String>)| Some((object.type_named(name)?, fields));
    let types: HashMap<_, _> = OMITTED_WHEN_ZERO.iter().filter_map(named).collect();
    let paths = object.structs().into_iter().flat_map(|found| {
        let fields = types.get(&found.type_id).into_iter().flat_map(|fields| fields.iter());
        let zeros = fields.filter(move |field| found.value.get(field).is_some_and(is_zero_value));
        zeros.map(move |field| found.path.join(arena, PathElement::Field(field)))
    });
    FieldSet::of_paths(arena, paths)
}

/// Adds the fields that the server fills into a struct that is merged as a whole.
pub(super) fn fill_in(of: &str, members: &mut Map<String, Value>) {
    let mut fill = |field: &str, default: &str| {
        members.entry(field).or_insert_with(|| serde_json::from_str(default).unwrap_or_default());
    };
    for (_, field, default) in FILLED_IN.iter().filter(|(filled, ..)| *filled == of) {
        fill(field, default);
    }
    let is = |field: &str, values: &[&str]| {
        members.get(field).and_then(Value::as_str).is_some_and(|value| values.contains(&value))
    };
    match of {
        "io.k8s.api.resource.v1.DeviceSubRequest" | "io.k8s.api.resource.v1.ExactDeviceRequest"
            if is("allocationMode", &["ExactCount"]) =>
        {
            members.entry("count").or_insert(1.into());
        }
        "io.k8s.api.rbac.v1.Subject" if is("kind", &["User", "Group"]) => {
            members.entry("apiGroup").or_insert_with(|| serde_json::from_str(RBAC).unwrap_or_default());
        }
        "io.k8s.api.core.v1.LimitRangeItem" if is("type", &["Container"]) => {
            for (from, to) in [("max", "default"), ("default", "defaultRequest"), ("min", "defaultRequest")] {
                copy_missing(members, from, to);
            }
        }
        _ => {}
    }
}

/// Copies the members of one map that another lacks into that.
fn copy_missing(members: &mut Map<String, Value>, from: &str, to: &str) {
    let Some(Value::Object(from)) = members.get(from).cloned() else { return };
    if let Value::Object(to) = members.entry(to).or_insert_with(|| Map::new().into()) {
        for (name, value) in from {
            to.entry(name).or_insert(value);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeSet, fs, path::Path};

    use serde_json::json;

    use super::*;
    use crate::types::{Type, Types};

    /// The types of the structs that are merged as a whole or are part of such a value.
    fn parts(types: &Types, of: &Type, in_atomic: bool, found: &mut BTreeSet<(String, bool)>) {
        match of {
            Type::Named(name) => {
                let is_whole = matches!(types.named(name), Type::Struct { is_atomic: true, .. });
                if found.insert((name.clone(), in_atomic || is_whole)) {
                    parts(types, types.named(name), in_atomic, found);
                }
            }
            Type::Struct { fields, is_atomic, .. } => {
                // The status isn't applied with the object.
                for (_, field) in fields.iter().filter(|(name, _)| in_atomic || *name != "status") {
                    parts(types, field, in_atomic || *is_atomic, found);
                }
            }
            Type::Map { values: of, is_atomic } | Type::List { items: of, is_atomic, .. } => {
                parts(types, of, in_atomic || *is_atomic, found);
            }
            Type::Unknown | Type::Text | Type::Quantity => {}
        }
    }

    #[test]
    fn what_the_api_server_adds_to_values_that_are_merged_as_a_whole_is_filled_in() {
        let go = Path::new(env!("CARGO_MANIFEST_DIR")).join("../apiserver/data/types.json");
        let go: Value = serde_json::from_str(&fs::read_to_string(go).unwrap()).unwrap();
        let rows = go["types"].as_object().unwrap().iter();
        let rows = rows.map(|(name, row)| (row["schema"].as_str().unwrap_or(name), row));
        let rows: HashMap<&str, &Value> = rows.collect();
        let mut compared = 0;
        for document in &baton_openapi::DOCUMENTS {
            let document: Value = serde_json::from_str(&document.text()).unwrap();
            let schemas = document["components"]["schemas"].as_object().unwrap();
            let types = Types::from_document(&document);
            let mut found = BTreeSet::new();
            // A list of objects isn't stored.
            let is_kind = |(name, schema): &(&String, &Value)| {
                schema.get("x-kubernetes-group-version-kind").is_some() && !name.ends_with("List")
            };
            for (name, _) in schemas.iter().filter(is_kind) {
                parts(&types, &Type::Named(name.clone()), false, &mut found);
            }
            for (name, _) in found.into_iter().filter(|(_, is_part)| *is_part) {
                let Some(row) = rows.get(&*name) else { continue };
                let no_defaults = Map::new();
                let defaults = row["defaults"].as_object().unwrap_or(&no_defaults);
                let required = schemas[&name]["required"].as_array().into_iter().flatten();
                let required: Vec<&str> = required.filter_map(Value::as_str).collect();
                let mut filled = Map::new();
                fill_in(&name, &mut filled);
                for (field, shape) in row["fields"].as_object().unwrap() {
                    let shape = shape.as_str().unwrap();
                    // A struct that isn't a pointer, and what is never left out.
                    let is_written = shape.trim_start_matches('?').starts_with("io.k8s.")
                        || !shape.starts_with(['?', '!']);
                    let expected = defaults.get(field);
                    if expected.is_some() || is_written && !required.contains(&&**field) {
                        let found = filled.get(field);
                        assert!(found.is_some(), "{name}.{field}");
                        assert!(expected.is_none() || found == expected, "{name}.{field}: {found:?}");
                    }
                }
                compared += 1;
            }
        }
        assert!(compared > 20, "{compared} types");
    }

    #[test]
    fn defaults_that_depend_on_other_fields_are_filled_in() {
        for (of, given, expected) in [
            (
                "rbac.v1.Subject",
                json!({"kind": "User"}),
                json!({"kind": "User", "apiGroup": "rbac.authorization.k8s.io"}),
            ),
            ("rbac.v1.Subject", json!({"kind": "ServiceAccount"}), json!({"kind": "ServiceAccount"})),
            (
                "resource.v1.ExactDeviceRequest",
                json!({"allocationMode": "All"}),
                json!({"allocationMode": "All"}),
            ),
            (
                "core.v1.LimitRangeItem",
                json!({"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "1", "memory": "1Mi"}}),
                json!({"type": "Container", "max": {"cpu": "2"}, "min": {"cpu": "1", "memory": "1Mi"},
                    "default": {"cpu": "2"}, "defaultRequest": {"cpu": "2", "memory": "1Mi"}}),
            ),
        ] {
            let Value::Object(mut members) = given else { panic!("a struct") };
            fill_in(&format!("io.k8s.api.{of}"), &mut members);
            assert_eq!(json!(members), expected);
        }
    }
}
