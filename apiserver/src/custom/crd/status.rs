//! The status that the server's controllers write to a CRD.

use serde_json::{Map, Value as Json, json};

use super::super::schema::Schema;
use super::structural;
use crate::field::FieldPath;

/// Updates the status as all controllers do, one after another: accepts names, reports schemas that aren't structural, and
/// establishes the resource. Returns whether anything changed.
pub(crate) fn reconcile(crd: &mut Json, others: &[&Json], now: &str) -> bool {
    let before = crd["status"].clone();
    accept_names(crd, others, now);
    if let Some(message) = violations(crd) {
        set(crd, "NonStructuralSchema", true, "Violations", &message, now);
    }
    if is_true(crd, "NamesAccepted") && !is_true(crd, "Established") {
        set(crd, "Established", true, "InitialNamesAccepted", "the initial names have been accepted", now);
    }
    approve(crd, now);
    crd["status"] != before
}

/// The progress of a CRD's deletion.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum DeletionProgress {
    Pending,
    InProgress,
    /// Objects can't be deleted, with this message.
    Failed(String),
    Completed,
    NeverEstablished,
}

/// Sets the condition `Terminating`.
pub(crate) fn set_terminating(crd: &mut Json, progress: &DeletionProgress, now: &str) {
    let (reason, message) = match progress {
        DeletionProgress::Pending => (
            "InstanceDeletionPending",
            "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        ),
        DeletionProgress::InProgress => {
            ("InstanceDeletionInProgress", "CustomResource deletion is in progress")
        }
        DeletionProgress::Failed(why) => ("InstanceDeletionFailed", why.as_str()),
        DeletionProgress::Completed => ("InstanceDeletionCompleted", "removed all instances"),
        DeletionProgress::NeverEstablished => ("NeverEstablished", "resource was never established"),
    };
    set(crd, "Terminating", !progress.is_over(), reason, message, now);
}

impl DeletionProgress {
    /// Whether no objects are left.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self, Self::Completed | Self::NeverEstablished)
    }
}

/// Whether the CRD is being deleted.
pub(crate) fn is_terminating(crd: &Json) -> bool {
    is_true(crd, "Terminating")
}

/// Whether a condition is true.
pub(super) fn is_true(crd: &Json, condition: &str) -> bool {
    let mut conditions = crd["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|each| each["type"] == condition && each["status"] == "True")
}

fn set(crd: &mut Json, condition: &str, is_true: bool, reason: &str, message: &str, now: &str) {
    let status = if is_true { "True" } else { "False" };
    let made = json!({
        "type": condition, "status": status, "reason": reason, "message": message, "lastTransitionTime": now,
    });
    if !crd["status"].is_object() {
        crd["status"] = json!({});
    }
    let Some(conditions) = crd["status"]["conditions"].as_array_mut() else {
        crd["status"]["conditions"] = json!([made]);
        return;
    };
    match conditions.iter_mut().find(|each| each["type"] == condition) {
        Some(known) => {
            let since =
                if known["status"] == status { known["lastTransitionTime"].clone() } else { now.into() };
            *known = made;
            known["lastTransitionTime"] = since;
        }
        None => conditions.push(made),
    }
}

fn accept_names(crd: &mut Json, others: &[&Json], now: &str) {
    let wanted = crd["spec"]["names"].clone();
    let accepted = crd["status"]["acceptedNames"].clone();
    if wanted == accepted {
        return;
    }
    let group = crd["spec"]["group"].clone();
    let rivals = || {
        others.iter().filter(|other| {
            other["spec"]["group"] == group && other["metadata"]["name"] != crd["metadata"]["name"]
        })
    };
    let taken = |names: &[&str], wanted: &Json| {
        rivals().any(|rival| {
            let rival = &rival["status"]["acceptedNames"];
            names.iter().any(|name| match &rival[*name] {
                Json::Array(all) => all.contains(wanted),
                one => one == wanted,
            })
        })
    };
    let resources = ["plural", "singular", "shortNames"];
    let kinds = ["kind", "listKind"];
    let mut result: Map<String, Json> = accepted.as_object().cloned().unwrap_or_default();
    let mut conflict = None;
    for (name, reason, among) in [
        ("plural", "PluralConflict", &resources[..]),
        ("singular", "SingularConflict", &resources[..]),
        ("shortNames", "ShortNamesConflict", &resources[..]),
        ("kind", "KindConflict", &kinds[..]),
        ("listKind", "ListKindConflict", &kinds[..]),
    ] {
        let Some(value) = wanted.get(name) else {
            result.remove(name);
            continue;
        };
        let list = match value {
            Json::Array(list) => list.as_slice(),
            one => std::slice::from_ref(one),
        };
        let own = |value: &Json| {
            accepted[name] == *value || accepted[name].as_array().is_some_and(|all| all.contains(value))
        };
        let refused: Vec<_> = list.iter().filter(|value| !own(value) && taken(among, value)).collect();
        if refused.is_empty() {
            result.insert(name.to_owned(), value.clone());
        } else {
            let message: Vec<_> = refused.iter().map(|value| format!("{value} is already in use")).collect();
            let message =
                if message.len() == 1 { message.concat() } else { format!("[{}]", message.join(", ")) };
            conflict = Some((reason, message));
        }
    }
    match wanted.get("categories") {
        Some(categories) => result.insert("categories".to_owned(), categories.clone()),
        None => result.remove("categories"),
    };
    if !crd["status"].is_object() {
        crd["status"] = json!({});
    }
    crd["status"]["acceptedNames"] = result.into();
    match conflict {
        Some((reason, message)) => {
            set(crd, "NamesAccepted", false, reason, &message, now);
            if !is_true(crd, "Established") {
                set(crd, "Established", false, "NotAccepted", "not all names are accepted", now);
            }
        }
        None => set(crd, "NamesAccepted", true, "NoConflicts", "no conflicts found", now),
    }
}

/// The message of `NonStructuralSchema`, which only CRDs from before v1 can have.
fn violations(crd: &Json) -> Option<String> {
    let mut errors = Vec::new();
    let spec = FieldPath::new("spec");
    if crd["spec"]["preserveUnknownFields"] == true {
        errors.push("spec.preserveUnknownFields: Invalid value: true: must be false".to_owned());
    }
    for (index, version) in crd["spec"]["versions"].as_array().into_iter().flatten().enumerate() {
        let schema = &version["schema"]["openAPIV3Schema"];
        if schema.is_object() {
            let path = spec.child("versions").index(index).child("schema").child("openAPIV3Schema");
            let found = structural::validate(&Schema::read(schema), &path);
            errors.extend(found.iter().map(ToString::to_string));
        }
    }
    match errors.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        all => Some(format!("[{}]", all.join(", "))),
    }
}

/// Groups of the Kubernetes community need approval.
pub(super) const APPROVAL: &str = "api-approved.kubernetes.io";

/// The reason and the message of the approval condition, in a protected group.
pub(super) fn approval(crd: &Json) -> Option<(&'static str, String)> {
    let group = crd["spec"]["group"].as_str().unwrap_or_default();
    let is_protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|domain| group.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')));
    if !is_protected {
        return None;
    }
    let text = crd["metadata"]["annotations"][APPROVAL].as_str().unwrap_or_default();
    let more = "see https://github.com/kubernetes/enhancements/pull/1111";
    Some(if text.is_empty() {
        ("MissingAnnotation", format!("protected groups must have approval annotation {APPROVAL:?}, {more}"))
    } else if text.starts_with("unapproved") {
        ("UnapprovedAnnotation", format!("not approved: {text:?}"))
    } else if text.parse::<http::Uri>().is_ok_and(|url| url.host().is_some() && url.scheme().is_some()) {
        ("ApprovedAnnotation", format!("approved in {text}"))
    } else {
        let form = "with either a URL or a reason starting with \"unapproved\"";
        (
            "InvalidAnnotation",
            format!("protected groups must have approval annotation {APPROVAL:?} {form}, {more}"),
        )
    })
}

fn approve(crd: &mut Json, now: &str) {
    if let Some((reason, message)) = approval(crd) {
        let approved = reason == "ApprovedAnnotation";
        set(crd, "KubernetesAPIApprovalPolicyConformant", approved, reason, &message, now);
    }
}
