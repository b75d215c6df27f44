//! Which values may be shown in a status, an Event or a log.
//!
//! Names of fields aren't secret; values may be. Environment variables, arguments of programs and headers of
//! probes are never shown, and neither is client-side apply's copy of a whole object, which contains all of them.

use baton_merge::{
    fieldpath::{Path, PathElement},
    value::Value,
};
use serde_json::Value as Json;

use crate::ownership::LAST_APPLIED;

/// Stands for a value that isn't shown.
const HIDDEN: &str = "(hidden)";
/// How many characters of a value are shown.
const LONGEST: usize = 80;
/// Lists of values, any of which may be a password or a token.
const SECRETIVE_LISTS: [&str; 4] = ["env", "httpHeaders", "args", "command"];

/// A value for messages: as JSON, shortened if it is long, with values that may be secret left out.
pub fn shown(path: Path<'_>, value: Value<'_>) -> String {
    if is_secretive(path, value) {
        return HIDDEN.to_owned();
    }
    shortened(&without_secrets(value.to_json()).to_string())
}

/// Whether a path leads to or into a list that may contain secrets. A label named `env` isn't a list.
fn is_secretive(path: Path<'_>, value: Value<'_>) -> bool {
    let elements = path.elements();
    let is_list =
        |list: &PathElement<'_>| matches!(list, PathElement::Field(name) if SECRETIVE_LISTS.contains(name));
    let into_list =
        elements.windows(2).any(|pair| is_list(&pair[0]) && !matches!(pair[1], PathElement::Field(_)));
    let at_list = elements.last().is_some_and(is_list) && value.as_list().is_some();
    into_list || at_list || elements.contains(&PathElement::Field(LAST_APPLIED))
}

fn without_secrets(value: Json) -> Json {
    match value {
        Json::Array(items) => items.into_iter().map(without_secrets).collect(),
        Json::Object(members) => {
            let member = |(name, value): (String, Json)| {
                let hidden =
                    (SECRETIVE_LISTS.contains(&name.as_str()) && value.is_array()) || name == LAST_APPLIED;
                let value = if hidden { HIDDEN.into() } else { without_secrets(value) };
                (name, value)
            };
            members.into_iter().map(member).collect()
        }
        scalar => scalar,
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use baton_merge::Arena;
    use serde_json::json;

    use super::*;

    fn shown_at(elements: &[PathElement<'_>], value: &Json) -> String {
        let arena = Arena::new();
        shown(Path::new(elements), Value::from_json(&arena, value).unwrap())
    }

    const CONTAINERS: PathElement<'static> = PathElement::Field("containers");
    const ENV: PathElement<'static> = PathElement::Field("env");
    const APP: PathElement<'static> = PathElement::Key(&[("name", Value::String("app"))]);
    const PASSWORD: PathElement<'static> = PathElement::Key(&[("name", Value::String("PASSWORD"))]);

    #[test]
    fn a_value_is_shown_as_json() {
        assert_eq!(shown_at(&[CONTAINERS, APP, PathElement::Field("image")], &json!("app:1")), r#""app:1""#);
        assert_eq!(shown_at(&[PathElement::Field("replicas")], &json!(3)), "3");
    }

    #[test]
    fn nothing_of_an_environment_variable_is_shown() {
        let path = [CONTAINERS, APP, ENV, PASSWORD, PathElement::Field("value")];
        for depth in 4..=path.len() {
            assert_eq!(shown_at(&path[..depth], &json!({"name": "PASSWORD", "value": "hunter2"})), HIDDEN);
        }
        for depth in 1..4 {
            let container = json!({"env": [{"name": "PASSWORD", "value": "hunter2"}]});
            let value = if depth == 3 { json!([{"name": "P", "value": "hunter2"}]) } else { container };
            let text = shown_at(&path[..depth.min(2)], &json!({"env": value}));
            assert!(!text.contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn a_label_named_env_is_not_secret() {
        let path = [PathElement::Field("metadata"), PathElement::Field("labels"), ENV];
        assert_eq!(shown_at(&path, &json!("prod")), r#""prod""#);
        assert_eq!(shown_at(&path[..2], &json!({"env": "prod"})), r#"{"env":"prod"}"#);
    }

    #[test]
    fn a_whole_environment_is_hidden_too() {
        assert_eq!(shown_at(&[CONTAINERS, APP, ENV], &json!([{"name": "P", "value": "hunter2"}])), HIDDEN);
    }

    #[test]
    fn a_password_among_the_arguments_of_a_program_is_hidden() {
        let args = json!(["--user=app", "--password=hunter2"]);
        assert_eq!(shown_at(&[CONTAINERS, APP, PathElement::Field("args")], &args), HIDDEN);
        let probe = json!({"exec": {"command": ["check", "--password=hunter2"]}});
        let text = shown_at(&[CONTAINERS, APP, PathElement::Field("livenessProbe")], &probe);
        assert_eq!(text, r#"{"exec":{"command":"(hidden)"}}"#);
    }

    #[test]
    fn the_copy_of_client_side_apply_is_hidden() {
        let annotations = [PathElement::Field("metadata"), PathElement::Field("annotations")];
        let text = shown_at(&annotations, &json!({LAST_APPLIED: "hunter2", "note": "x"}));
        assert_eq!(text, format!(r#"{{"{LAST_APPLIED}":"(hidden)","note":"x"}}"#));
        let path = [annotations[0], annotations[1], PathElement::Field(LAST_APPLIED)];
        assert_eq!(shown_at(&path, &json!("hunter2")), HIDDEN);
    }

    #[test]
    fn a_long_value_is_cut_between_characters() {
        let text = shown_at(&[PathElement::Field("x")], &json!("é".repeat(200)));
        assert_eq!(text.chars().count(), LONGEST + 1);
        assert!(text.ends_with('…'));
    }
}
