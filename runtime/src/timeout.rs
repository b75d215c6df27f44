//! Requests to the API server with a time limit.

use std::time::Duration;

use kube::core::Status;

/// Why a request to the API server failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RequestError {
    /// The API server responded with a failure.
    #[error("{}", .0.message)]
    Response(Box<Status>),
    /// No response within the time limit.
    #[error("the API server did not respond within {0:?}")]
    Timeout(Duration),
    /// The request could not be sent, or its response could not be read.
    #[error("the request to the API server failed")]
    Client(#[source] kube::Error),
}

/// The response to a request, if it comes within a time limit.
pub(crate) async fn with_timeout<T>(
    limit: Duration,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, RequestError> {
    match tokio::time::timeout(limit, request).await {
        Err(_) => Err(RequestError::Timeout(limit)),
        Ok(Err(kube::Error::Api(status))) => Err(RequestError::Response(status)),
        Ok(Err(error)) => Err(RequestError::Client(error)),
        Ok(Ok(response)) => Ok(response),
    }
}
