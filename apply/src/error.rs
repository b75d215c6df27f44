//! Why a request to the API server failed, and what that means for the program that sent it.

use std::time::Duration;

use kube::core::Status;

/// A request that failed.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// The API server responded with a failure; its message is passed on unchanged.
    #[error("{}", .0.message)]
    Response(Box<Status>),
    /// No response within the time limit.
    #[error("the API server did not respond within {0:?}")]
    Timeout(Duration),
    /// The request could not be sent, or its response could not be read.
    #[error("the request to the API server failed")]
    Client(#[source] kube::Error),
}

impl ApiError {
    /// Whether the object isn't what the writer read. The server reports that in three ways.
    pub fn is_stale(&self) -> bool {
        let Self::Response(status) = self else { return false };
        let details = status.details.as_ref();
        match status.code {
            // A conflict of field owners, a resourceVersion that moved on, or a guarded object that is gone.
            409 => true,
            // A guard names the uid of an object that was replaced by another; or a JSON patch failed its own `test`,
            // which names no object, as validation always does.
            422 => details.is_none_or(|details| {
                details.kind.is_empty() || details.causes.iter().any(|cause| cause.field == "metadata.uid")
            }),
            _ => false,
        }
    }

    /// Whether other managers own what an apply sets.
    pub fn is_ownership_conflict(&self) -> bool {
        let Self::Response(status) = self else { return false };
        let causes = status.details.iter().flat_map(|details| &details.causes);
        status.code == 409 && causes.into_iter().any(|cause| cause.reason == "FieldManagerConflict")
    }

    /// Whether there is no such object.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Response(status) if status.is_not_found())
    }

    /// Whether the request will be refused again until something changes. An apply that doesn't fit its object's schema gets a
    /// 500.
    pub fn is_rejection(&self) -> bool {
        match self {
            Self::Response(status) => {
                !self.is_stale() && status.code != 429 && (400..=500).contains(&status.code)
            }
            // For example, for an object without a name.
            Self::Client(error) => matches!(error, kube::Error::BuildRequest(_)),
            Self::Timeout(_) => false,
        }
    }
}

/// The response to a request, if it comes within a time limit.
///
/// # Errors
/// When it doesn't, or when the request fails.
pub async fn bounded<T>(
    limit: Duration,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, ApiError> {
    match tokio::time::timeout(limit, request).await {
        Err(_) => Err(ApiError::Timeout(limit)),
        Ok(Err(kube::Error::Api(status))) => Err(ApiError::Response(status)),
        Ok(Err(error)) => Err(ApiError::Client(error)),
        Ok(Ok(response)) => Ok(response),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn failure_with(code: u16, details: Value) -> ApiError {
        let details = serde_json::from_value(details).unwrap();
        ApiError::Response(Status::failure("no", "Because").with_code(code).with_details(details).boxed())
    }

    /// A failure about an object, like most failures.
    fn failure(code: u16) -> ApiError {
        failure_with(code, json!({"kind": "Deployment"}))
    }

    #[test]
    fn another_uid_and_a_failed_test_of_a_json_patch_are_stale_too() {
        let another_uid = json!({"kind": "Deployment", "causes": [{"field": "metadata.uid"}]});
        assert!(failure_with(422, another_uid).is_stale());
        assert!(failure_with(422, json!({})).is_stale());
        assert!(!failure(422).is_stale());
    }

    #[test]
    fn a_conflict_is_stale_whatever_its_cause() {
        assert!(failure(409).is_stale() && !failure(409).is_rejection());
    }

    #[test]
    fn failures_that_a_retry_cannot_fix_are_rejections_and_others_are_not() {
        for code in [400, 403, 404, 422, 500] {
            assert!(failure(code).is_rejection(), "{code}");
        }
        for code in [429, 503, 504] {
            assert!(!failure(code).is_rejection(), "{code}");
        }
        assert!(!ApiError::Timeout(Duration::from_secs(1)).is_rejection());
        let nameless = kube::core::request::Error::Validation("a name".to_owned());
        assert!(ApiError::Client(kube::Error::BuildRequest(nameless)).is_rejection());
    }
}
