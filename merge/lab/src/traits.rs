//! The level, the operation and the traits of a case, which show how much it proves.

use baton_testbed::Json;

/// The level and the operation of a request.
pub(crate) fn kind(request: &Json) -> String {
    let operation = request.get("do").and_then(Json::as_str).unwrap_or("(none)");
    let level = match operation {
        "apply" | "update" if request.get("gvk").is_some() => 3,
        "apply" | "update" => 2,
        _ => 1,
    };
    let operation = match request.get("subresource").and_then(Json::as_str) {
        Some(subresource @ ("status" | "scale")) => format!("{operation}/{subresource}"),
        _ => operation.to_owned(),
    };
    format!("{level} {operation}")
}

/// The traits of a case, which show how much it proves.
pub(crate) fn traits(request: &Json, answer: &Json) -> Vec<&'static str> {
    if answer.get("error").is_some() {
        return Vec::new();
    }
    if answer.get("conflicts").is_some() {
        return vec!["conflicts"];
    }
    let mut traits = Vec::new();
    match request.get("do").and_then(Json::as_str) {
        Some("merge") if answer.get("value") == request.get("live") => traits.push("unchanged"),
        Some("remove" | "extract") => match answer.get("value") {
            value if value == request.get("value") => traits.push("whole"),
            None | Some(Json::Null) => traits.push("nothing"),
            _ => traits.push("part"),
        },
        Some("compare") if sets_are_empty(answer) => traits.push("equal"),
        Some("reconcile") if answer.get("set").is_some_and(|set| *set != Json::Null) => {
            traits.push("changed");
        }
        Some("apply" | "update") => {
            let unchanged = answer.get("object") == Some(&Json::Null)
                || answer.get("changed") == Some(&Json::Bool(false));
            if unchanged {
                traits.push("no-op");
            } else if let (Some(live), Some(object)) = (request.get("live"), answer.get("object"))
                && request.get("do").and_then(Json::as_str) == Some("apply")
                && loses(live, object)
            {
                traits.push("prunes");
            }
            if request.get("live").is_none_or(|live| *live == Json::Null) {
                traits.push("creates");
            }
            let (before, after) = (entries(request.get("live")), entries(answer.get("object")));
            for name in ["ancient-changes", "before-first-apply"] {
                if after.iter().any(|entry| entry.get("manager").and_then(Json::as_str) == Some(name)) {
                    traits.push(name);
                }
            }
            let version = request.at(&["live", "apiVersion"]);
            if before.iter().any(|entry| entry.get("apiVersion") != version) {
                traits.push("other versions");
            }
        }
        _ => {}
    }
    traits
}

fn entries(object: Option<&Json>) -> &[Json] {
    object.and_then(|object| object.at(&["metadata", "managedFields"])).map(Json::items).unwrap_or_default()
}

/// Whether a comparison is empty.
fn sets_are_empty(answer: &Json) -> bool {
    ["added", "modified", "removed"].iter().all(|name| answer.get(name).is_some_and(Json::is_empty))
}

/// Whether `object` lacks a member or an item of `live`.
fn loses(live: &Json, object: &Json) -> bool {
    match (live, object) {
        (Json::Object(members), Json::Object(_)) => members
            .iter()
            .filter(|(name, _)| name != "managedFields")
            .any(|(name, value)| object.get(name).is_none_or(|object| loses(value, object))),
        (Json::List(live), Json::List(object)) => live.len() > object.len(),
        _ => false,
    }
}
