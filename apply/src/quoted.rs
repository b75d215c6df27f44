//! The API server's messages without the values that they quote and that may be secret.
//!
//! Validation quotes what it refuses: `spec.template: Invalid value: {…}: field is immutable` holds a whole pod template. It lists the
//! field and the message of each error beside the text, so these values can be found. What an admission webhook or a policy writes
//! is passed on unchanged: only its author knows what is in it.

use kube::core::Status;

use crate::{Secrecy, spelled::steps};

/// The same failure, without secret values in its message.
pub(crate) fn without_secrets(mut status: Box<Status>) -> Box<Status> {
    let Status { message, details, .. } = &mut *status;
    let Some(details) = details else { return status };
    // Some failures name the kind and others the resource.
    let kind = if details.kind == "secrets" { "Secret" } else { &details.kind };
    let secrecy = Secrecy::of_kind(&details.group, kind);
    for cause in &mut details.causes {
        let Some(quoted) = quoted_value(&cause.message) else { continue };
        let is_secret = secrecy == Secrecy::Secret
            || secrecy.hides_spelled(&steps(&cause.field))
            || Secrecy::may_be_in_dump(quoted);
        if is_secret {
            let hidden = cause.message.replacen(quoted, Secrecy::HIDDEN, 1);
            *message = message.replace(&cause.message, &hidden);
            cause.message = hidden;
        }
    }
    status
}

/// The value in `Invalid value: "x": must be y`, as it is spelled there: a quoted text, or a dump of a struct.
fn quoted_value(message: &str) -> Option<&str> {
    let (kind, rest) = message.split_once(": ")?;
    if !["Invalid value", "Unsupported value", "Duplicate value", "Not found"].contains(&kind) {
        return None;
    }
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for (at, character) in rest.char_indices() {
        match character {
            _ if escaped => escaped = false,
            '\\' if in_text => escaped = true,
            '"' => in_text = !in_text,
            _ if in_text => {}
            '{' | '[' | '(' => depth += 1,
            '}' | ']' | ')' => depth = depth.saturating_sub(1),
            ':' if depth == 0 && rest[at..].starts_with(": ") => return Some(&rest[..at]),
            _ => {}
        }
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The message of a failure about one field of a kind.
    fn message(kind: &str, field: &str, text: &str) -> String {
        let details = json!({"kind": kind, "causes": [{"field": field, "reason": "FieldValueInvalid", "message": text}]});
        let status = Status::failure(&format!("{kind} \"web\" is invalid: {field}: {text}"), "Invalid")
            .with_details(serde_json::from_value(details).unwrap());
        let status = without_secrets(status.boxed());
        let cause = &status.details.as_ref().unwrap().causes[0].message;
        assert!(status.message.ends_with(cause.as_str()), "{} and {cause}", status.message);
        cause.clone()
    }

    #[test]
    fn a_value_of_a_secret_is_left_out() {
        let invalid = r#"Invalid value: "hunter\"2: x": must be short"#;
        assert_eq!(message("Secret", "data[password]", invalid), "Invalid value: (hidden): must be short");
        assert_eq!(message("secrets", "data[password]", invalid), "Invalid value: (hidden): must be short");
        assert_eq!(message("ConfigMap", "data[password]", invalid), invalid);
    }

    #[test]
    fn an_environment_variable_is_left_out_alone_and_in_a_dump() {
        let field = "spec.template.spec.containers[0].env[0].value";
        assert_eq!(message("Deployment", field, r#"Invalid value: "hunter2""#), "Invalid value: (hidden)");
        let dump =
            r#"Invalid value: {"spec":{"containers":[{"env":[{"value":"a: b"}]}]}}: field is immutable"#;
        assert_eq!(message("Job", "spec.template", dump), "Invalid value: (hidden): field is immutable");
        let go = r#"Invalid value: core.PodTemplateSpec{Spec:core.PodSpec{Containers:[]core.Container{core.Container{Args:[]string{"x"}}}}}: field is immutable"#;
        assert_eq!(message("Job", "spec.template", go), "Invalid value: (hidden): field is immutable");
    }

    #[test]
    fn other_values_stay() {
        for text in [
            r#"Invalid value: {"matchLabels":{"app":"web"}}: field is immutable"#,
            "Invalid value: -1: must be greater than or equal to 0",
            r#"Unsupported value: "x": supported values: "a", "b""#,
            "Required value: name or generateName is required",
        ] {
            assert_eq!(message("Deployment", "spec.x", text), text);
        }
    }
}
