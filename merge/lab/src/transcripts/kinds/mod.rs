//! The kinds whose objects are written, and what their bodies may be: small sets of values, so that several managers meet
//! often, and nearly always valid, so that a write gets as far as the store. How anything merges is of no interest here.

mod body;
mod custom;
mod network;
mod plain;
mod pods;

use baton_testbed::{Json, Random};

use self::body::Body;

/// A kind of objects.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its API group.
    pub group: &'static str,
    /// The version that is mostly written.
    pub version: &'static str,
    /// Other versions that are served.
    pub others: &'static [&'static str],
    /// Its name.
    pub kind: &'static str,
    /// Its name in paths.
    pub plural: &'static str,
    /// Where its schema is from.
    pub source: Source,
    /// Whether there is a scale subresource, in the version that is mostly written.
    pub scale: bool,
    /// Of a custom resource, the versions that have a status subresource.
    with_status: &'static [&'static str],
    /// What an object may consist of, without what says which object it is.
    body: fn(&mut Body) -> Json,
    /// What its status may be.
    status: Option<fn(&mut Body) -> Json>,
    shape: Shape,
}

/// Where a schema is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The server's own document for the group and version.
    OpenApi,
    /// A CustomResourceDefinition in this file, relative to the workspace.
    Crd(&'static str),
}

/// Whether an object can be changed.
#[derive(Clone, Copy, Debug)]
enum Shape {
    /// Nearly everywhere.
    Free,
    /// Only in members of these names.
    Fixed(&'static [&'static str]),
}

impl Kind {
    /// A built-in kind without subresources.
    const fn builtin(
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        plural: &'static str,
        body: fn(&mut Body) -> Json,
    ) -> Self {
        Self {
            group,
            version,
            others: &[],
            kind,
            plural,
            source: Source::OpenApi,
            scale: false,
            with_status: &[],
            body,
            status: None,
            shape: Shape::Free,
        }
    }

    /// All kinds.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        [plain::KINDS, network::KINDS, pods::KINDS, custom::KINDS].into_iter().flatten()
    }

    /// Whether its objects are custom resources.
    pub fn is_custom(&self) -> bool {
        self.source != Source::OpenApi
    }

    /// The value of `apiVersion` in a version of the kind.
    pub fn api_version(&self, version: &str) -> String {
        if self.group.is_empty() { version.to_owned() } else { format!("{}/{version}", self.group) }
    }

    /// Whether a version has a status subresource that something is known to write to.
    pub fn has_status(&self, version: &str) -> bool {
        self.status.is_some() && (!self.is_custom() || self.with_status.contains(&version))
    }

    /// A body that can be created.
    pub fn whole(&self, random: &mut Random) -> Json {
        Body::make(random, true, self.body)
    }

    /// A part of a body, such as one of several managers has an opinion of.
    pub fn part(&self, random: &mut Random) -> Json {
        Body::make(random, false, self.body)
    }

    /// A body with a status.
    pub fn status(&self, random: &mut Random) -> Json {
        let status = self.status.map_or(Json::object(), |status| Body::make(random, false, status));
        Json::object().with("status", status)
    }

    /// Whether a member of this name may be taken out or changed without the server refusing it for sure.
    pub fn may_change(&self, path: &[&str]) -> bool {
        const IDENTITY: &[&str] = &["apiVersion", "kind", "name", "namespace"];
        let last = path.last().copied().unwrap_or_default();
        match self.shape {
            _ if IDENTITY.contains(&last) => false,
            Shape::Free => true,
            Shape::Fixed(free) => path.iter().any(|name| free.contains(name)),
        }
    }
}
