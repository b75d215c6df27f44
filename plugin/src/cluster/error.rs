//! Why the cluster can't be used.

use baton_apply::{ApiError, SchemaProblem};
use kube::config::KubeconfigError;

/// Why the cluster can't be used, or has no such thing.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// The kubeconfig can't be used.
    #[error("can't use the kubeconfig")]
    Kubeconfig(#[source] KubeconfigError),
    /// No client can be made of it.
    #[error("can't make a client from the kubeconfig")]
    Client(#[source] kube::Error),
    /// No response.
    #[error("can't reach the API server at {url}")]
    Unreachable {
        /// Where.
        url: String,
        /// Why.
        source: ApiError,
    },
    /// The user lacks a permission, or isn't known.
    #[error("not allowed to {what}")]
    Forbidden {
        /// What for.
        what: String,
        /// The server's response.
        source: ApiError,
    },
    /// Another failure.
    #[error("can't {what}")]
    Request {
        /// What for.
        what: String,
        /// The server's response.
        source: ApiError,
    },
    /// The schemas can't be read.
    #[error("can't predict writes at {url}")]
    Schemas {
        /// Where.
        url: String,
        /// Why.
        source: SchemaProblem,
    },
    /// An object's name that can't be read.
    #[error("{0:?} names no object: write TYPE/NAME, such as deployment/web")]
    Reference(String),
    /// The cluster serves no such kind.
    #[error("the server has no resource type {typed:?}{}", nearest(.similar))]
    NoSuchKind {
        /// The name that was given.
        typed: String,
        /// Kinds with similar names.
        similar: Vec<String>,
    },
    /// There is no such object.
    #[error("{object} not found{}", .namespace.as_ref().map(|name| format!(" in the namespace {name}")).unwrap_or_default())]
    NoSuchObject {
        /// Its kind and name.
        object: String,
        /// Where it was looked for.
        namespace: Option<String>,
    },
}

impl ClusterError {
    pub(crate) fn of_request(url: &str, what: String, error: ApiError) -> Self {
        match error {
            ApiError::Response(ref status) if matches!(status.code, 401 | 403) => {
                Self::Forbidden { what, source: error }
            }
            ApiError::Response(_) => Self::Request { what, source: error },
            error => Self::Unreachable { url: url.to_owned(), source: error },
        }
    }

    /// Whether the cluster is the reason, and not what was asked of it.
    pub(crate) fn is_of_the_cluster(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::Forbidden { .. }
            | Self::Request { .. }
            | Self::Schemas { .. } => true,
            Self::Kubeconfig(_)
            | Self::Client(_)
            | Self::Reference(_)
            | Self::NoSuchKind { .. }
            | Self::NoSuchObject { .. } => false,
        }
    }
}

/// A question about similar names, if there are any.
pub(crate) fn nearest(similar: &[String]) -> String {
    match similar {
        [] => String::new(),
        similar => format!("; did you mean {}?", similar.join(" or ")),
    }
}
