//! Lines of the audit log about writes. Their field sets keep their order.

use baton_testbed::{
    Json,
    prediction::{Method, Resource, Write},
    query,
};
use kube::core::Status;

use super::{body, manager::Manager};

/// A line of the audit log.
pub(super) struct Line(pub(super) Json);

impl Line {
    pub(super) fn text(&self, path: &[&str]) -> &str {
        self.0.at(path).and_then(Json::as_str).unwrap_or_default()
    }

    /// Whether it could change this object.
    pub(super) fn writes_to(&self, resource: &Resource, namespace: &str, name: &str) -> bool {
        let object = |member: &str| self.text(&["objectRef", member]);
        let by_name = |found: &str| found == name;
        let namespace = if resource.namespaced { namespace } else { "" };
        matches!(self.text(&["verb"]), "create" | "update" | "patch" | "delete")
            && object("resource") == resource.plural
            && object("apiGroup") == resource.group
            && (object("namespace") == namespace || !resource.namespaced)
            && (by_name(object("name"))
                || self
                    .0
                    .at(&["requestObject", "metadata", "name"])
                    .and_then(Json::as_str)
                    .is_some_and(by_name))
    }

    /// The version of the object after it.
    pub(super) fn resource_version(&self) -> Option<u64> {
        self.0.get("responseObject").and_then(resource_version)
    }

    pub(super) fn code(&self) -> u16 {
        let code = self.0.at(&["responseStatus", "code"]).map(Json::to_string).unwrap_or_default();
        code.parse().unwrap_or_default()
    }

    /// Whether it succeeded and isn't a dry run. It may have changed nothing.
    pub(super) fn is_done(&self) -> bool {
        self.status().is_none() && self.query("dryRun").is_none()
    }

    /// The status of a refusal.
    pub(super) fn status(&self) -> Option<Status> {
        if (200..300).contains(&self.code()) {
            return None;
        }
        let status = self.0.get("responseObject").or_else(|| self.0.get("responseStatus"));
        let status = status.and_then(|status| serde_json::from_str(&status.to_string()).ok());
        Some(status.unwrap_or_else(|| Status::failure("refused", "Unknown").with_code(self.code())))
    }

    pub(super) fn query(&self, key: &str) -> Option<String> {
        query::value(self.text(&["requestURI"]), key)
    }

    /// The write; none where the merge core predicts nothing, such as for a deletion.
    pub(super) fn write(&self, live: Option<&Json>) -> Option<Write> {
        let body = self.0.get("requestObject")?.clone();
        let method = match self.text(&["verb"]) {
            "create" => Method::Create,
            "update" => Method::Replace,
            "patch" if matches!(body, Json::List(_)) => Method::JsonPatch,
            // Only an apply has the kind in its body.
            "patch" if body.get("kind").is_some() => {
                Method::Apply { force: self.query("force").as_deref() == Some("true") }
            }
            "patch" => Method::StrategicPatch,
            _ => return None,
        };
        let manager = match self.query("fieldManager") {
            Some(name) => Manager::Named(name),
            None => Manager::UserAgent(self.text(&["userAgent"]).to_owned()),
        };
        let subresource = match self.text(&["objectRef", "subresource"]) {
            "" => "",
            "scale" => "scale",
            "status" => "status",
            // Such as an eviction, which merges nothing.
            _ => return None,
        };
        Some(Write {
            method,
            subresource,
            version: self.text(&["objectRef", "apiVersion"]).to_owned(),
            manager: manager.recorded().to_owned(),
            owners: body::owners_in(method, &body, live),
            body,
        })
    }
}

/// The version of an object, as a number.
pub(super) fn resource_version(object: &Json) -> Option<u64> {
    object.at(&["metadata", "resourceVersion"])?.as_str()?.parse().ok()
}

/// The lines in the order in which the objects were stored. The log has concurrent requests in the order in which they ended. A
/// refusal stays behind the line before it.
pub(super) fn in_order(lines: Vec<Line>) -> Vec<Line> {
    let mut latest = 0;
    let mut keyed: Vec<(u64, Line)> = Vec::new();
    for line in lines {
        let version = line.resource_version().filter(|_| line.is_done()).unwrap_or(latest);
        latest = version;
        keyed.push((version, line));
    }
    keyed.sort_by_key(|(version, _)| *version);
    keyed.into_iter().map(|(_, line)| line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(verb: &str, code: u16, version: &str, uri: &str) -> Line {
        let version = Json::object().with("metadata", Json::object().with("resourceVersion", version));
        let status = Json::object().with("code", i64::from(code));
        let line = Json::object().with("verb", verb).with("requestURI", uri);
        Line(line.with("responseStatus", status).with("responseObject", version))
    }

    #[test]
    fn writes_are_sorted_by_version_and_a_refusal_stays_behind_the_line_before_it() {
        let logged = vec![
            line("first", 200, "9", "/x"),
            line("refused", 409, "", "/x"),
            line("trial", 200, "5", "/x?dryRun=All"),
            line("second", 200, "10", "/x"),
            line("late", 201, "8", "/x"),
        ];
        let sorted = in_order(logged);
        let verbs: Vec<_> = sorted.iter().map(|line| line.text(&["verb"])).collect();
        assert_eq!(verbs, ["late", "first", "refused", "trial", "second"]);
    }
}
