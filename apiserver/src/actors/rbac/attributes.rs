//! The attributes of a request that authorization decides by, known before the resource is looked up.

use http::Method;
use serde_json::{Value, json};

use super::User;
use crate::{
    actors::object::text, http::Request, selector::fields, server::percent_decoded, status::Failure,
};

/// Attributes of a request, as the authorizer sees them.
#[derive(Default)]
pub(crate) struct Attributes {
    pub(crate) verb: String,
    pub(crate) group: String,
    /// Empty for a non-resource path.
    pub(crate) resource: String,
    pub(crate) subresource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) path: String,
}

impl Attributes {
    pub(crate) fn of(request: &Request) -> Self {
        // Names are compared without their escapes, as the handlers read them.
        let path = percent_decoded(&request.path);
        let parts: Vec<String> = request.path.trim_matches('/').split('/').map(percent_decoded).collect();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let (group, rest) = match parts.as_slice() {
            ["api", _, rest @ ..] if !rest.is_empty() => ("", rest),
            ["apis", group, _, rest @ ..] if !rest.is_empty() => (*group, rest),
            _ => {
                let verb = request.method.as_str().to_ascii_lowercase();
                return Self { verb, path, ..Self::default() };
            }
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace] | ["namespaces", namespace, "status" | "finalize"] => {
                (*namespace, rest)
            }
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            _ => ("", rest),
        };
        let part = |place: usize| rest.get(place).copied().unwrap_or_default().to_owned();
        let mut name = part(1);
        let is_all = name.is_empty();
        let verb = match request.method {
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE if is_all => "deletecollection",
            Method::DELETE => "delete",
            _ if !is_all => "get",
            _ => {
                // A list with `metadata.name` in its field selector is about that object.
                let selector = request.query.get("fieldSelector").unwrap_or_default();
                name = fields::exact(selector, "metadata.name").unwrap_or_default();
                if request.query.flag("watch") == Some(true) { "watch" } else { "list" }
            }
        };
        Self {
            verb: verb.to_owned(),
            group: group.to_owned(),
            resource: part(0),
            subresource: part(2),
            namespace: namespace.to_owned(),
            name,
            path,
        }
    }

    /// The attributes in the spec of a review.
    pub(super) fn of_review(spec: &Value) -> Self {
        let of = |pointer: &str| text(spec, pointer).to_owned();
        if spec.get("resourceAttributes").is_some_and(|attributes| !attributes.is_null()) {
            return Self {
                verb: of("/resourceAttributes/verb"),
                group: of("/resourceAttributes/group"),
                resource: of("/resourceAttributes/resource"),
                subresource: of("/resourceAttributes/subresource"),
                namespace: of("/resourceAttributes/namespace"),
                name: of("/resourceAttributes/name"),
                path: String::new(),
            };
        }
        let (verb, path) = (of("/nonResourceAttributes/verb"), of("/nonResourceAttributes/path"));
        Self { verb, path, ..Self::default() }
    }

    pub(super) fn combined(&self) -> String {
        if self.subresource.is_empty() {
            self.resource.clone()
        } else {
            format!("{}/{}", self.resource, self.subresource)
        }
    }

    /// The error for a forbidden request.
    pub(super) fn forbidden(&self, user: &User, reason: &str) -> Failure {
        let (user, verb) = (&user.name, &self.verb);
        let what = if self.resource.is_empty() {
            format!("User {user:?} cannot {verb} path {:?}", self.path)
        } else {
            let at = match self.namespace.as_str() {
                "" => "at the cluster scope".to_owned(),
                namespace => format!("in the namespace {namespace:?}"),
            };
            let resource = self.combined();
            format!("User {user:?} cannot {verb} resource {resource:?} in API group {:?} {at}", self.group)
        };
        let mut why = what.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        if !reason.is_empty() {
            why = format!("{why}: {reason}");
        }
        let of = if self.group.is_empty() {
            self.resource.clone()
        } else {
            format!("{}.{}", self.resource, self.group)
        };
        let message = match (self.resource.as_str(), self.name.as_str()) {
            ("", _) => format!("forbidden: {why}"),
            (_, "") => format!("{of} is forbidden: {why}"),
            (_, name) => format!("{of} {name:?} is forbidden: {why}"),
        };
        let mut details = json!({});
        for (key, value) in [("name", &self.name), ("group", &self.group), ("kind", &self.resource)] {
            if !value.is_empty() {
                details[key] = value.as_str().into();
            }
        }
        let mut failure = Failure::new(403, "Forbidden", message);
        failure.details = Some(Box::new(details));
        failure
    }
}
