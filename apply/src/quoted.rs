//! The API server's messages without the values that they quote and that may be secret.
//!
//! Validation quotes what it refuses: `spec.template: Invalid value: {…}: field is immutable` has a whole pod template. It lists the
//! field and the message of each error beside the text, so these values can be found. The merge quotes a value of the wrong type behind
//! its path, in the text alone. What an admission webhook or a policy writes is passed on unchanged: only its author knows what is in it.

use kube::core::Status;

use crate::{Secrecy, spelled::steps};

/// A failure without the secret values in its message.
pub(crate) fn without_secrets(mut status: Box<Status>) -> Box<Status> {
    let Status { message, details, .. } = &mut *status;
    let secrecy = if message.contains("; /v1, Kind=Secret)") { Secrecy::Secret } else { Secrecy::Usual };
    *message = without_mistyped_secrets(message, secrecy);
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

/// An error of the merge about an object of a kind, without the secret values in it. It has one value a line:
/// `.data.pin: expected string, got …` from the server, and `…: expected a string, found …` from the merge core.
pub(crate) fn without_mistyped_secrets(message: &str, secrecy: Secrecy) -> String {
    let (mut lines, mut is_in_hidden) = (Vec::new(), false);
    for line in message.lines() {
        // A hidden text may go on for some lines.
        is_in_hidden &= !line.trim_start().starts_with('.');
        if is_in_hidden {
            continue;
        }
        let hidden = start_of_mistyped_secret(line, secrecy);
        is_in_hidden = hidden.is_some();
        lines
            .push(hidden.map_or_else(|| line.to_owned(), |at| format!("{}{}", &line[..at], Secrecy::HIDDEN)));
    }
    lines.join("\n")
}

/// The start of the value in a line, if it isn't shown.
fn start_of_mistyped_secret(line: &str, secrecy: Secrecy) -> Option<usize> {
    let (place, problem) = line.split_once(": expected ")?;
    let value = [", got ", ", found "].iter().find_map(|word| Some(problem.find(word)? + word.len()))?;
    let path = place.split_once("): ").map_or(place, |(_, path)| path);
    let path = &path[path.find('.')?..];
    let is_secret = secrecy == Secrecy::Secret || secrecy.hides_spelled(&steps(path));
    is_secret.then(|| line.len() - problem.len() + value)
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
    fn a_secret_of_the_wrong_type_is_left_out() {
        let without = |kind: &str, errors: &str| {
            let head = format!("failed to create typed patch object (shop/x; {kind}): ");
            let status = Status::failure(&format!("{head}{errors}"), "").boxed();
            without_secrets(status).message.strip_prefix(&head).unwrap().to_owned()
        };
        let pin = ".stringData.pin: expected string, got &value.valueUnstructured{Value:987654}";
        assert_eq!(without("/v1, Kind=Secret", pin), ".stringData.pin: expected string, got (hidden)");
        assert_eq!(without("/v1, Kind=ConfigMap", pin), pin);
        let two = "errors:\n    .data: expected map, got &{hunter2\n-- hunter3}\n    .x: field not declared in schema";
        let left = "errors:\n    .data: expected map, got (hidden)\n    .x: field not declared in schema";
        assert_eq!(without("/v1, Kind=Secret", two), left);
        for (path, is_shown) in [
            (".spec.containers[name=\"app\"].args[0]", false),
            (".spec.containers[name=\"app\"].env[name=\"P\"].value", false),
            (".spec.containers[name=\"app\"].ports", true),
            (".metadata.labels.app", true),
        ] {
            let text = format!("{path}: expected string, got &value.valueUnstructured{{Value:987654}}");
            assert_eq!(without("/v1, Kind=Pod", &text).contains("987654"), is_shown, "{path}");
        }
        let ours = "the applied object doesn't fit its schema: .data.pin: expected a string, found 987654";
        let hidden =
            "the applied object doesn't fit its schema: .data.pin: expected a string, found (hidden)";
        assert_eq!(without_mistyped_secrets(ours, Secrecy::Secret), hidden);
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
