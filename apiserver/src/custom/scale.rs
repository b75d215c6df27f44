//! The `scale` subresource of custom resources, and validation of the values at its paths.

use baton_merge::Arena;
use baton_merge::value::{Map, Value};
use serde_json::Value as Json;

use crate::field::{FieldError, FieldPath};

/// The paths of a `scale` subresource, such as `.spec.replicas`.
#[derive(Clone, Debug)]
pub(crate) struct ScalePaths {
    pub(crate) spec_replicas: String,
    pub(crate) status_replicas: String,
    pub(crate) label_selector: Option<String>,
}

impl ScalePaths {
    pub(super) fn read(json: &Json) -> Option<Self> {
        let text = |name| json[name].as_str().map(str::to_owned);
        Some(Self {
            spec_replicas: text("specReplicasPath")?,
            status_replicas: text("statusReplicasPath")?,
            label_selector: text("labelSelectorPath").filter(|path| !path.is_empty()),
        })
    }

    /// The Scale of an object, and whether the object sets `specReplicasPath`.
    ///
    /// # Errors
    /// When a value at a path has the wrong type, with upstream's message.
    pub(crate) fn of<'a>(&self, arena: &'a Arena, object: Value<'a>) -> Result<(Value<'a>, bool), String> {
        let wanted = number(object, &self.spec_replicas)?;
        let seen = number(object, &self.status_replicas)?.unwrap_or_default();
        let selector = match &self.label_selector {
            Some(path) => text(object, path)?.unwrap_or_default(),
            None => "",
        };
        let map = |members: Vec<(&'a str, Value<'a>)>| Value::Map(Map::new(arena, members));
        let metadata = ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"];
        let metadata = metadata.iter().filter_map(|name| Some((*name, object.at(&["metadata", name])?)));
        let spec = Some(wanted.unwrap_or_default()).filter(|replicas| *replicas != 0);
        let status = [("replicas", Value::Int(seen)), ("selector", Value::String(selector))];
        let status = status.into_iter().filter(|(name, _)| *name == "replicas" || !selector.is_empty());
        let scale = map(vec![
            ("apiVersion", Value::String("autoscaling/v1")),
            ("kind", Value::String("Scale")),
            ("metadata", map(metadata.collect())),
            ("spec", map(spec.map(|replicas| ("replicas", Value::Int(replicas))).into_iter().collect())),
            ("status", map(status.collect())),
        ]);
        Ok((scale, wanted.is_some()))
    }

    /// The error of a Scale that is read without `specReplicasPath`.
    pub(crate) fn missing(&self) -> String {
        format!("the spec replicas field {:?} does not exist", self.spec_replicas)
    }

    /// The error of a Scale that is written without `specReplicasPath`.
    pub(crate) fn empty(&self) -> String {
        format!("the spec replicas field {:?} cannot be empty", self.spec_replicas)
    }

    /// Validates the values at the paths of the spec.
    pub(super) fn validate_spec(&self, object: Value<'_>, errors: &mut Vec<FieldError>) {
        errors.extend(wrong_number(object, &self.spec_replicas));
    }

    /// Validates the values at the paths of the status.
    pub(super) fn validate_status(&self, object: Value<'_>, errors: &mut Vec<FieldError>) {
        errors.extend(wrong_number(object, &self.status_replicas));
        let selector = self.label_selector.as_ref();
        errors.extend(selector.and_then(|path| {
            let why = text(object, path).err()?;
            Some(FieldError::invalid_text(&FieldPath::new(path), "", &why))
        }));
    }
}

fn wrong_number(object: Value<'_>, path: &str) -> Option<FieldError> {
    let limit = i64::from(i32::MAX);
    let (value, detail) = match number(object, path) {
        Err(why) => (0, why),
        Ok(Some(replicas)) if replicas < 0 => (replicas, "should be a non-negative integer".to_owned()),
        Ok(Some(replicas)) if replicas > limit => {
            (replicas, format!("should be less than or equal to {limit}"))
        }
        Ok(_) => return None,
    };
    Some(FieldError::invalid(&FieldPath::new(path), Value::Int(value), &detail))
}

fn fields(path: &str) -> Vec<&str> {
    path.strip_prefix('.').unwrap_or(path).split('.').collect()
}

fn number(object: Value<'_>, path: &str) -> Result<Option<i64>, String> {
    match at(object, path)? {
        None => Ok(None),
        Some(Value::Int(number)) => Ok(Some(number)),
        Some(other) => Err(wrong_type(&fields(path), other, "int64")),
    }
}

fn text<'a>(object: Value<'a>, path: &str) -> Result<Option<&'a str>, String> {
    match at(object, path)? {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(wrong_type(&fields(path), other, "string")),
    }
}

fn at<'a>(object: Value<'a>, path: &str) -> Result<Option<Value<'a>>, String> {
    let fields = fields(path);
    let mut value = object;
    for (index, field) in fields.iter().enumerate() {
        value = match value {
            Value::Null => return Ok(None),
            Value::Map(map) => match map.get(field) {
                Some(value) => value,
                None => return Ok(None),
            },
            other => {
                return Err(wrong_type(
                    fields.get(..=index).unwrap_or(&fields),
                    other,
                    "map[string]interface{}",
                ));
            }
        };
    }
    Ok(Some(value))
}

fn wrong_type(path: &[&str], value: Value<'_>, expected: &str) -> String {
    let found = match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Int(_) => "int64",
        Value::Float(_) => "float64",
        Value::String(_) => "string",
        Value::List(_) => "[]interface {}",
        Value::Map(_) => "map[string]interface {}",
    };
    let shown = go_text(value);
    format!(".{} accessor error: {shown} is of the type {found}, expected {expected}", path.join("."))
}

/// A value as Go prints it with `%v`.
pub(super) fn go_text(value: Value<'_>) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Float(value) => value.to_string(),
        Value::String(text) => text.to_owned(),
        Value::List(items) => {
            format!("[{}]", items.iter().map(|item| go_text(*item)).collect::<Vec<_>>().join(" "))
        }
        Value::Map(map) => {
            let members = map.members().iter().map(|(name, value)| format!("{name}:{}", go_text(*value)));
            format!("map[{}]", members.collect::<Vec<_>>().join(" "))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn paths() -> ScalePaths {
        let json = json!({
            "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        });
        ScalePaths::read(&json).unwrap()
    }

    #[test]
    fn a_scale_shows_what_the_paths_lead_to() {
        let object = json!({
            "metadata": {"name": "a", "uid": "1", "labels": {}},
            "spec": {"replicas": 3}, "status": {"replicas": 2, "selector": "a=b"},
        });
        let arena = Arena::new();
        let (scale, found) = paths().of(&arena, Value::from_json(&arena, &object).unwrap()).unwrap();
        assert!(found);
        let expected = json!({
            "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a", "uid": "1"},
            "spec": {"replicas": 3}, "status": {"replicas": 2, "selector": "a=b"},
        });
        assert_eq!(scale.to_json(), expected);
    }

    #[test]
    fn values_that_are_no_replica_counts_are_reported() {
        let check = |object: &Json| {
            let arena = Arena::new();
            let object = Value::from_json(&arena, object).unwrap();
            let mut errors = Vec::new();
            paths().validate_spec(object, &mut errors);
            paths().validate_status(object, &mut errors);
            errors.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let object = json!({"spec": {"replicas": -1}, "status": {"replicas": "x", "selector": {"a": 1}}});
        let expected = [
            ".spec.replicas: Invalid value: -1: should be a non-negative integer",
            ".status.replicas: Invalid value: 0: .status.replicas accessor error: x is of the type string, expected int64",
            r#".status.selector: Invalid value: "": .status.selector accessor error: map[a:1] is of the type map[string]interface {}, expected string"#,
        ];
        assert_eq!(check(&object), expected);
        assert_eq!(check(&json!({})), [""; 0]);
    }
}
