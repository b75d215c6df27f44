//! The fields that the API server fills in from the other fields of their struct.
//!
//! Constant defaults are left out: they are right whatever else changes. So are defaults in what is merged as a whole, which
//! goes as a whole, those that the server itself brings up to date, and those of fields that can't change.

use serde_json::{Value, json};

/// A field that the server fills in.
pub(super) struct Rule {
    /// The name of the struct's schema.
    pub(super) of: &'static str,
    /// The field.
    pub(super) field: &'static str,
    /// What the server fills in for a struct; the field itself has no part in it.
    pub(super) default: fn(&Value) -> Default,
}

/// What the server fills into a field that is absent.
pub(super) enum Default {
    /// Nothing.
    Absent,
    /// This.
    Value(Value),
    /// Whatever is there is brought up to date.
    Anything,
}

use Default::{Absent, Anything};

pub(super) const RULES: &[Rule] = &[
    // SetDefaults_Deployment in pkg/apis/apps/v1/defaults.go.
    Rule {
        of: "io.k8s.api.apps.v1.DeploymentStrategy",
        field: "rollingUpdate",
        default: |strategy| match text(strategy, "type") {
            "" | "RollingUpdate" => Default::Value(json!({"maxSurge": "25%", "maxUnavailable": "25%"})),
            _ => Absent,
        },
    },
    // SetDefaults_Volume in pkg/apis/core/v1/defaults.go.
    Rule {
        of: "io.k8s.api.core.v1.Volume",
        field: "emptyDir",
        default: |volume| {
            let has_source = members(volume).any(|name| !matches!(name, "name" | "emptyDir"));
            if has_source { Absent } else { Default::Value(json!({})) }
        },
    },
    // Two names of one field: Convert_v1_PodSpec_To_core_PodSpec and back in pkg/apis/core/v1/conversion.go. A copy that
    // differs is brought up to date.
    Rule {
        of: "io.k8s.api.core.v1.PodSpec",
        field: "serviceAccount",
        default: |pod| if text(pod, "serviceAccountName").is_empty() { Absent } else { Anything },
    },
    Rule {
        of: "io.k8s.api.core.v1.PodSpec",
        field: "serviceAccountName",
        default: |pod| match text(pod, "serviceAccount") {
            "" => Absent,
            account => Default::Value(account.into()),
        },
    },
    // SetDefaults_Container.
    Rule {
        of: "io.k8s.api.core.v1.Container",
        field: "imagePullPolicy",
        default: |container| pull_policy(text(container, "image")),
    },
];

fn text<'v>(object: &'v Value, field: &str) -> &'v str {
    object.get(field).and_then(Value::as_str).unwrap_or_default()
}

/// The names of the members that have a value.
fn members(object: &Value) -> impl Iterator<Item = &str> {
    let members = object.as_object().into_iter().flatten();
    members.filter(|(_, value)| !value.is_null()).map(|(name, _)| name.as_str())
}

/// How the server pulls an image about which nothing is said: always, if its tag may move.
fn pull_policy(image: &str) -> Default {
    let (image, digest) = image.split_once('@').map_or((image, None), |(image, digest)| (image, Some(digest)));
    let name = image.rsplit('/').next().unwrap_or_default();
    let moves = match name.split_once(':') {
        Some((_, tag)) => tag == "latest",
        None => digest.is_none(),
    };
    Default::Value(if moves { "Always" } else { "IfNotPresent" }.into())
}
