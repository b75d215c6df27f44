//! Bodies: the YAML of a scenario, and the JSON that is sent.

use baton_merge::yaml;
use baton_testbed::{
    Json,
    prediction::{Method, Owners, Resource, edit::perform},
};

/// A document of a scenario, in YAML or JSON.
///
/// # Panics
/// When it is neither.
pub(super) fn parse(text: &str) -> Json {
    match yaml::from_str(text) {
        Ok(Json::Null) => Json::object(),
        Ok(json) => json,
        Err(error) => panic!("this isn't YAML: {error}\n{text}"),
    }
}

/// The body with apiVersion, kind and name at its start. Those that it has already stay.
pub(super) fn completed(body: Json, resource: &Resource, name: &str) -> Json {
    let Json::Object(members) = body else { return body };
    let mut whole =
        Json::object().with("apiVersion", resource.api_version()).with("kind", resource.kind.as_str());
    let mut metadata = Json::object();
    let mut rest = Vec::new();
    for (member, value) in members {
        match (member.as_str(), value) {
            ("metadata", Json::Object(own)) => metadata = Json::Object(own),
            (_, value) => rest.push((member, value)),
        }
    }
    if metadata.get("name").is_none() && metadata.get("generateName").is_none() {
        let Json::Object(own) = metadata else { unreachable!("it is an object, see above") };
        metadata = Json::Object([("name".to_owned(), name.into())].into_iter().chain(own).collect());
    }
    whole.set("metadata", metadata);
    for (member, value) in rest {
        whole.set(&member, value);
    }
    whole
}

/// The `managedFields` that a write other than an apply sets.
pub(super) fn owners_in(method: Method, body: &Json, live: Option<&Json>) -> Owners {
    let otherwise = match method {
        Method::Create | Method::Replace => Owners::Absent,
        _ => Owners::Kept,
    };
    if let Json::List(operations) = body {
        let of_owners = |operation: &Json| {
            let path = operation.get("path").and_then(Json::as_str).unwrap_or_default();
            path.starts_with("/metadata/managedFields")
        };
        if !operations.iter().any(of_owners) {
            return otherwise;
        }
        let mut patched = live.cloned().unwrap_or_else(Json::object);
        for operation in operations {
            perform(&mut patched, operation);
        }
        return match patched.at(&["metadata", "managedFields"]) {
            Some(list) => Owners::Given(list.clone()),
            None => Owners::Absent,
        };
    }
    match body.at(&["metadata", "managedFields"]) {
        Some(Json::Null) => Owners::Absent,
        Some(list) => Owners::Given(list.clone()),
        None => otherwise,
    }
}

/// A value of a scenario, in YAML or JSON. Unlike a [document](parse) it may be null.
pub(super) fn parse_value(text: &str) -> Json {
    yaml::from_str(text).unwrap_or_else(|error| panic!("this isn't YAML: {error}\n{text}"))
}

/// Whether a text is YAML.
pub(super) fn is_yaml(text: &str) -> bool {
    yaml::from_str::<Json>(text).is_ok()
}
