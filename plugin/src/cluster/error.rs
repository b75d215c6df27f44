//! Errors of a cluster that can't be used.

use baton_apply::{ApiError, SchemaProblem};
use kube::config::KubeconfigError;

use crate::text::did_you_mean;

/// The error of a cluster that can't be used, or has no such kind or object.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClusterError {
    /// The kubeconfig can't be used.
    #[error("can't use the kubeconfig")]
    Kubeconfig(#[source] KubeconfigError),
    /// No client can be made of it.
    #[error("can't make a client from the kubeconfig")]
    Client(#[source] kube::Error),
    /// No response.
    #[error("can't reach the API server at {url}")]
    Unreachable { url: String, source: ApiError },
    /// The user lacks a permission, or isn't known.
    #[error("not allowed to {what}")]
    Forbidden { what: String, source: ApiError },
    /// The server responded with another failure.
    #[error("can't {what}")]
    Request { what: String, source: ApiError },
    /// The schemas can't be read.
    #[error("can't predict writes at {url}")]
    Schemas { url: String, source: SchemaProblem },
    /// An object's name that can't be read.
    #[error("{0:?} names no object: write TYPE/NAME, such as deployment/web")]
    Reference(String),
    /// The cluster serves no such kind. `similar` are names of kinds.
    #[error("the server has no resource type {typed:?}{}", did_you_mean(.similar))]
    NoSuchKind { typed: String, similar: Vec<String> },
    /// There is no such object.
    #[error("{object} not found{}", .namespace.as_ref().map(|name| format!(" in the namespace {name}")).unwrap_or_default())]
    NoSuchObject { object: String, namespace: Option<String> },
}

impl ClusterError {
    pub(super) fn of_request(url: &str, what: String, error: ApiError) -> Self {
        match error {
            ApiError::Response(ref status) if matches!(status.code, 401 | 403) => {
                Self::Forbidden { what, source: error }
            }
            ApiError::Response(_) => Self::Request { what, source: error },
            error => Self::Unreachable { url: url.to_owned(), source: error },
        }
    }

    /// Whether the cluster is the reason, and not the command line.
    pub(crate) fn is_of_the_cluster(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. } | Self::Forbidden { .. } | Self::Request { .. } | Self::Schemas { .. }
        )
    }
}
