//! One write to an object, before anybody has sent it.

use super::resource::Resource;
use crate::Json;

/// A write.
#[derive(Clone, Debug)]
pub struct Write {
    /// Which request it is.
    pub method: Method,
    /// The subresource; empty for the object itself.
    pub subresource: &'static str,
    /// The version that the request is made in.
    pub version: String,
    /// The field manager.
    pub manager: String,
    /// The body.
    pub body: Json,
    /// The change of `metadata.managedFields` by the request itself.
    pub owners: Owners,
}

/// The requests that write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Server-side apply.
    Apply {
        /// Whether conflicts are overruled.
        force: bool,
    },
    /// A creation.
    Create,
    /// A PUT.
    Replace,
    /// An RFC 7396 merge patch.
    MergePatch,
    /// A strategic merge patch.
    StrategicPatch,
    /// An RFC 6902 patch.
    JsonPatch,
}

/// The `managedFields` in a write other than apply.
#[derive(Clone, Debug, PartialEq)]
pub enum Owners {
    /// They stay as they are, as in a patch of something else.
    Kept,
    /// Nothing, as in a PUT without them.
    Absent,
    /// They are to be these.
    Given(Json),
}

impl Write {
    /// Whether it is a server-side apply.
    pub fn is_apply(&self) -> bool {
        matches!(self.method, Method::Apply { .. })
    }

    /// The path that it is sent to, without the query.
    pub fn path(&self, resource: &Resource, namespace: &str, name: &str) -> String {
        let mut path = resource.path(namespace);
        let mut below = |segment: &str| {
            path.push('/');
            path.push_str(segment);
        };
        if self.method != Method::Create {
            below(name);
        }
        if !self.subresource.is_empty() {
            below(self.subresource);
        }
        path
    }

    /// A short text: how it is written and where to.
    pub fn label(&self) -> String {
        let method = self.method.name();
        if self.subresource.is_empty() { method.to_owned() } else { format!("{method}/{}", self.subresource) }
    }
}

impl Method {
    /// The HTTP method, and the content type of what is sent.
    pub fn on_the_wire(self) -> (&'static str, &'static str) {
        match self {
            Self::Apply { .. } => ("PATCH", "application/apply-patch+yaml"),
            Self::Create => ("POST", "application/json"),
            Self::Replace => ("PUT", "application/json"),
            Self::MergePatch => ("PATCH", "application/merge-patch+json"),
            Self::StrategicPatch => ("PATCH", "application/strategic-merge-patch+json"),
            Self::JsonPatch => ("PATCH", "application/json-patch+json"),
        }
    }

    /// Its name, for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Apply { force: false } => "apply",
            Self::Apply { force: true } => "apply by force",
            Self::Create => "create",
            Self::Replace => "replace",
            Self::MergePatch => "merge patch",
            Self::StrategicPatch => "strategic patch",
            Self::JsonPatch => "JSON patch",
        }
    }
}
