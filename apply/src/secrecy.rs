//! Secrecy: which values may be shown in a status, an Event or a log.
//!
//! Names of fields aren't secret; values may be. Never shown are the data of a Secret, environment variables, arguments of programs,
//! headers of probes, options of volume drivers, and annotations that hold whole objects, such as client-side apply's copy.

use baton_merge::{
    fieldpath::{Path, PathElement},
    value::Value,
};
use kube::core::ApiResource;
use serde_json::Value as Json;

use crate::spelled::SpelledStep;

/// The annotation in which client-side `kubectl apply` keeps what it applied last.
pub const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
const HIDDEN: &str = Secrecy::HIDDEN;
/// How many characters of a value are shown.
const LONGEST: usize = 80;
/// Lists of values, any of which may be a password or a token.
const SECRETIVE_LISTS: [&str; 4] = ["env", "httpHeaders", "args", "command"];
/// Structs and the maps in them that drivers of volumes read, passwords among them.
const SECRETIVE_MAPS: [(&str, &str); 2] = [("csi", "volumeAttributes"), ("flexVolume", "options")];
/// The maps of a Secret that hold its data.
const SECRET_DATA: [&str; 2] = ["data", "stringData"];
/// The starts of texts that are JSON, or compressed and in base64.
const WHOLE_OBJECTS: [&str; 3] = ["{", "[", "H4sI"];

/// Whether the values of a kind are secret as such.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrecy {
    /// Only those of environment variables, arguments and the like.
    Usual,
    /// Also the data: the kind is `Secret`.
    Secret,
}

impl Secrecy {
    /// Stands for a value that isn't shown.
    pub const HIDDEN: &str = "(hidden)";

    /// The secrecy of a kind.
    pub fn of(kind: &ApiResource) -> Self {
        Self::of_kind(&kind.group, &kind.kind)
    }

    /// The secrecy of a kind, by its group and name.
    pub fn of_kind(group: &str, kind: &str) -> Self {
        if group.is_empty() && kind == "Secret" { Self::Secret } else { Self::Usual }
    }

    /// Whether an annotation isn't shown, because it may hold a whole object.
    pub fn hides_annotation(self, name: &str, text: &str) -> bool {
        name == LAST_APPLIED || holds_an_object(text)
    }

    /// A value for messages: as JSON, shortened if it is long, with values that may be secret left out.
    pub fn shown(self, path: Path<'_>, value: Value<'_>) -> String {
        let elements = path.elements();
        if (1..=elements.len()).any(|end| self.hides(&elements[..end], elements.get(end), value)) {
            return HIDDEN.to_owned();
        }
        let names: Vec<&str> = elements.iter().map(name_of).collect();
        shortened(&self.without_secrets(&names, value.to_json()).to_string())
    }

    /// Whether the value at these elements isn't shown. A list differs from a map by the next element; at the end of the path, by the value.
    fn hides(self, elements: &[PathElement<'_>], next: Option<&PathElement<'_>>, value: Value<'_>) -> bool {
        let names: Vec<&str> = elements.iter().map(name_of).collect();
        let is_list = match next {
            Some(next) => !matches!(next, PathElement::Field(_)),
            None => value.as_list().is_some(),
        };
        let text = value.as_str().filter(|_| next.is_none());
        self.hides_names(&names, is_list, text)
    }

    /// Whether the field with these names isn't shown; an item of a list has no name.
    fn hides_names(self, names: &[&str], is_list: bool, text: Option<&str>) -> bool {
        let Some((name, around)) = names.split_last() else { return false };
        let parent = around.last().copied().unwrap_or_default();
        (is_list && SECRETIVE_LISTS.contains(name))
            || SECRETIVE_MAPS.contains(&(parent, name))
            || *name == LAST_APPLIED
            || (parent == "annotations" && text.is_some_and(|text| self.hides_annotation(name, text)))
            || (self == Self::Secret && around.is_empty() && SECRET_DATA.contains(name))
    }

    /// Whether the value of a field isn't shown, by its path as the server spells it.
    pub(crate) fn hides_spelled(self, steps: &[SpelledStep<'_>]) -> bool {
        let name = |step: &SpelledStep<'_>| match *step {
            SpelledStep::Name(name) => name.to_owned(),
            SpelledStep::InBrackets(_) if step.is_item() => String::new(),
            SpelledStep::InBrackets(key) => key.to_owned(),
        };
        let names: Vec<String> = steps.iter().map(name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let is_list = |end: usize| steps.get(end).is_none_or(|next| next.is_item());
        (1..=names.len()).any(|end| self.hides_names(&names[..end], is_list(end), None))
    }

    /// Whether a dump of a struct, as JSON or as Go prints it, has a field whose values aren't shown.
    pub(crate) fn may_be_in_dump(dump: &str) -> bool {
        let dump = dump.to_lowercase();
        let maps = SECRETIVE_MAPS.iter().map(|(_, map)| *map);
        let mut names = SECRETIVE_LISTS.into_iter().chain(maps).chain([LAST_APPLIED]).map(str::to_lowercase);
        dump.contains('{')
            && names.any(|name| dump.contains(&format!("{name}\":")) || dump.contains(&format!("{name}:")))
    }

    /// A value at these names, with the values in it that may be secret left out.
    fn without_secrets(self, names: &[&str], value: Json) -> Json {
        match value {
            Json::Array(items) => {
                let names = [names, &[""]].concat();
                items.into_iter().map(|item| self.without_secrets(&names, item)).collect()
            }
            Json::Object(members) => {
                let member = |(name, value): (String, Json)| {
                    let names = [names, &[name.as_str()]].concat();
                    let value = if self.hides_names(&names, value.is_array(), value.as_str()) {
                        HIDDEN.into()
                    } else {
                        self.without_secrets(&names, value)
                    };
                    (name, value)
                };
                members.into_iter().map(member).collect()
            }
            scalar => scalar,
        }
    }
}

fn name_of<'p>(element: &PathElement<'p>) -> &'p str {
    match element {
        PathElement::Field(name) => name,
        _ => "",
    }
}

/// Whether the text of an annotation may be a copy of an object, as many tools keep one: as JSON, also quoted, or as YAML.
fn holds_an_object(text: &str) -> bool {
    let start = text.trim_start().trim_start_matches(['"', '\'']);
    WHOLE_OBJECTS.iter().any(|object| start.starts_with(object))
        || text.lines().any(|line| line.trim_start().starts_with("kind:"))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use PathElement::Field;
    use baton_merge::Arena;
    use serde_json::json;

    use super::*;

    fn shown_of(secrecy: Secrecy, elements: &[PathElement<'_>], value: &Json) -> String {
        let arena = Arena::new();
        secrecy.shown(Path::new(elements), Value::from_json(&arena, value).unwrap())
    }

    fn shown_at(elements: &[PathElement<'_>], value: &Json) -> String {
        shown_of(Secrecy::Usual, elements, value)
    }

    const CONTAINERS: PathElement<'static> = Field("containers");
    const ENV: PathElement<'static> = Field("env");
    const APP: PathElement<'static> = PathElement::Key(&[("name", Value::String("app"))]);
    const PASSWORD: PathElement<'static> = PathElement::Key(&[("name", Value::String("PASSWORD"))]);

    #[test]
    fn the_data_of_a_secret_is_hidden_and_that_of_another_kind_is_not() {
        let secret =
            json!({"data": {"password": "aHVudGVyMg=="}, "stringData": {"pin": 1234}, "type": "Opaque"});
        for top in SECRET_DATA {
            let path = [Field(top), Field("password")];
            for depth in 1..=2 {
                assert_eq!(shown_of(Secrecy::Secret, &path[..depth], &json!("hunter2")), HIDDEN);
            }
            assert_eq!(shown_at(&path, &json!("shown")), r#""shown""#);
        }
        let text = shown_of(Secrecy::Secret, &[], &secret);
        assert_eq!(text, r#"{"data":"(hidden)","stringData":"(hidden)","type":"Opaque"}"#);
        assert_eq!(Secrecy::of_kind("", "Secret"), Secrecy::Secret);
        assert_eq!(Secrecy::of_kind("example.org", "Secret"), Secrecy::Usual);
        assert_eq!(Secrecy::of_kind("", "ConfigMap"), Secrecy::Usual);
    }

    #[test]
    fn values_that_may_be_secret_are_hidden_and_others_are_shown_as_json() {
        const METADATA: PathElement<'static> = Field("metadata");
        const ANNOTATIONS: PathElement<'static> = Field("annotations");
        const VOLUMES: PathElement<'static> = Field("volumes");
        let variable = json!({"name": "PASSWORD", "value": "hunter2"});
        let args = json!(["--user=app", "--password=hunter2"]);
        let probe = json!({"exec": {"command": ["check", "--password=hunter2"]}});
        let csi = json!({"csi": {"driver": "d", "volumeAttributes": {"password": "hunter2"}}});
        let applied = json!({LAST_APPLIED: "hunter2", "note": "x"});
        let rows: &[(&[PathElement<'_>], &Json, &str)] = &[
            (&[CONTAINERS, APP, Field("image")], &json!("app:1"), r#""app:1""#),
            (&[Field("replicas")], &json!(3), "3"),
            // An environment variable, alone and in what is around it.
            (&[CONTAINERS, APP, ENV, PASSWORD, Field("value")], &json!("hunter2"), HIDDEN),
            (&[CONTAINERS, APP, ENV, PASSWORD], &variable, HIDDEN),
            (&[CONTAINERS, APP, ENV], &json!([variable]), HIDDEN),
            (&[CONTAINERS, APP], &json!({"env": [variable]}), r#"{"env":"(hidden)"}"#),
            (&[CONTAINERS], &json!([{"env": [variable]}]), r#"[{"env":"(hidden)"}]"#),
            // A label of that name isn't one.
            (&[METADATA, Field("labels"), ENV], &json!("prod"), r#""prod""#),
            (&[METADATA, Field("labels")], &json!({"env": "prod"}), r#"{"env":"prod"}"#),
            // Arguments of programs, and options of volume drivers.
            (&[CONTAINERS, APP, Field("args")], &args, HIDDEN),
            (&[CONTAINERS, APP, Field("livenessProbe")], &probe, r#"{"exec":{"command":"(hidden)"}}"#),
            (&[VOLUMES, APP], &csi, r#"{"csi":{"driver":"d","volumeAttributes":"(hidden)"}}"#),
            (
                &[VOLUMES, APP, Field("flexVolume"), Field("options"), Field("password")],
                &json!("hunter2"),
                HIDDEN,
            ),
            // Annotations that hold objects.
            (&[METADATA, ANNOTATIONS], &applied, &format!(r#"{{"{LAST_APPLIED}":"(hidden)","note":"x"}}"#)),
            (&[METADATA, ANNOTATIONS, Field(LAST_APPLIED)], &json!("hunter2"), HIDDEN),
            (
                &[METADATA, ANNOTATIONS, Field("original")],
                &json!(r#"{"kind":"Secret","data":{"a":"aHVudGVyMg=="}}"#),
                HIDDEN,
            ),
            (&[METADATA, ANNOTATIONS, Field("applied")], &json!("H4sIAAAAAAAA/4yPQUvE"), HIDDEN),
            (
                &[METADATA, ANNOTATIONS, Field("backup")],
                &json!("kind: Secret\nstringData: {a: hunter2}\n"),
                HIDDEN,
            ),
            (&[METADATA, ANNOTATIONS, Field("backup")], &json!(r#""{\"kind\": \"Secret\"}""#), HIDDEN),
            (&[METADATA, ANNOTATIONS, Field("note")], &json!("x"), r#""x""#),
        ];
        for (path, value, expected) in rows {
            assert_eq!(shown_at(path, value), *expected, "{}", Path::new(path));
        }
    }

    #[test]
    fn a_long_value_is_cut_between_characters() {
        let text = shown_at(&[Field("x")], &json!("é".repeat(200)));
        assert_eq!(text.chars().count(), LONGEST + 1);
        assert!(text.ends_with('…'));
    }
}
