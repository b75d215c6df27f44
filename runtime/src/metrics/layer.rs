//! Counts and times the requests of the Kubernetes client, as a layer of its stack.
//!
//! [`super::request`] reads what a request means, and [`super::denial`] whether a refusal is about a permission.

use std::{
    task::{Context, Poll},
    time::Instant,
};

use futures::{FutureExt, future::BoxFuture};
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt as _;
use kube::client::{Body, DynBody};
use tower::{BoxError, Service};

use super::{Code, RequestKind, RequestMetrics, denial};

/// A service that counts requests. It is around the client's own stack, so that a request that the stack can't send counts too.
#[derive(Clone, Debug)]
pub struct CountedService<S> {
    pub(super) inner: S,
    pub(super) metrics: RequestMetrics,
}

impl<S, B> Service<Request<B>> for CountedService<S>
where
    S: Service<Request<B>, Response = Response<Box<DynBody>>, Error = BoxError>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<S::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let mut pending = Pending {
            kind: RequestKind::of(&request),
            code: Code::Error,
            begun: Instant::now(),
            metrics: self.metrics.clone(),
        };
        let response = self.inner.call(request);
        async move {
            let response = response.await?;
            pending.responded(response.status());
            if response.status() != StatusCode::FORBIDDEN {
                return Ok(response);
            }
            let (kind, metrics) = (pending.kind.clone(), pending.metrics.clone());
            // The request ends with the head of the response.
            drop(pending);
            read(response, &kind, &metrics).await
        }
        .boxed()
    }
}

/// Counts a refusal that means that a permission is missing, and passes it on unchanged.
async fn read(
    refusal: Response<Box<DynBody>>,
    request: &RequestKind,
    metrics: &RequestMetrics,
) -> Result<Response<Box<DynBody>>, BoxError> {
    let (head, body) = refusal.into_parts();
    let body = body.collect().await?.to_bytes();
    if denial::is_from_the_authorizer(&body) {
        metrics.denied(request);
    }
    let body: Box<DynBody> = Box::new(Body::from(body).map_err(BoxError::from));
    Ok(Response::from_parts(head, body))
}

/// A request under way. It is counted when it ends, also when its future is dropped, as happens at its time limit.
struct Pending {
    kind: RequestKind,
    code: Code,
    begun: Instant,
    metrics: RequestMetrics,
}

impl Pending {
    fn responded(&mut self, status: StatusCode) {
        self.code = Code::Status(status.as_u16());
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.metrics.requested(&self.kind, self.code, self.begun.elapsed());
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use prometheus_client::{encoding::text::encode, registry::Registry};
    use tower::Layer;

    use super::*;

    /// A service that ends every request in the same way, after this long.
    #[derive(Clone)]
    struct Always(Result<(StatusCode, &'static str), &'static str>, Duration);

    impl Service<Request<()>> for Always {
        type Response = Response<Box<DynBody>>;
        type Error = BoxError;
        type Future = BoxFuture<'static, Result<Response<Box<DynBody>>, BoxError>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Request<()>) -> Self::Future {
            let Self(end, after) = self.clone();
            async move {
                tokio::time::sleep(after).await;
                let (status, body) = end?;
                let body: Box<DynBody> =
                    Box::new(Body::from(body.as_bytes().to_vec()).map_err(BoxError::from));
                let mut response = Response::new(body);
                *response.status_mut() = status;
                Ok(response)
            }
            .boxed()
        }
    }

    /// The metrics after a request for a path that ended in this way, or was abandoned after a moment; and the body.
    async fn counted_and_read(path: &str, always: Always) -> (String, Option<Vec<u8>>) {
        let (metrics, mut registry) = (RequestMetrics::default(), Registry::default());
        metrics.register(&mut registry);
        let mut service = metrics.layer().layer(always);
        let request = Request::get(path).body(()).unwrap();
        let response = tokio::time::timeout(Duration::from_millis(50), service.call(request)).await;
        let body = match response {
            Ok(Ok(response)) => Some(response.into_body().collect().await.unwrap().to_bytes().to_vec()),
            _ => None,
        };
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        (text, body)
    }

    async fn counted(path: &str, end: Result<StatusCode, &'static str>, after: Duration) -> String {
        counted_and_read(path, Always(end.map(|status| (status, "")), after)).await.0
    }

    const SERVICE: &str = "/api/v1/namespaces/shop/services/web";
    const SOON: Duration = Duration::ZERO;
    const TOO_LATE: Duration = Duration::from_mins(1);

    fn count(code: &str) -> String {
        format!("api_requests_total{{verb=\"get\",resource=\"services\",code=\"{code}\"}} 1\n")
    }

    const TIMED: &str = "api_request_duration_seconds_count{verb=\"get\",resource=\"services\"} 1\n";

    #[tokio::test]
    async fn a_response_counts_by_its_status_and_is_timed() {
        for status in [StatusCode::OK, StatusCode::CONFLICT] {
            let text = counted(SERVICE, Ok(status), SOON).await;
            assert!(text.contains(&count(status.as_str())) && text.contains(TIMED), "{text}");
        }
    }

    #[tokio::test]
    async fn a_request_without_a_response_counts_as_an_error() {
        let text = counted(SERVICE, Err("connection refused"), SOON).await;
        assert!(text.contains(&count("error")) && text.contains(TIMED), "{text}");
    }

    #[tokio::test]
    async fn a_request_abandoned_at_its_time_limit_counts_as_an_error() {
        let text = counted(SERVICE, Ok(StatusCode::OK), TOO_LATE).await;
        assert!(text.contains(&count("error")) && text.contains(TIMED), "{text}");
    }

    #[tokio::test]
    async fn a_watch_is_counted_but_not_timed() {
        let text = counted("/api/v1/services?watch=true", Ok(StatusCode::OK), SOON).await;
        assert!(text.contains("{verb=\"watch\",resource=\"services\",code=\"200\"} 1"), "{text}");
        assert!(!text.contains("api_request_duration_seconds_count"), "{text}");
    }

    const QUOTA: &str =
        r#"{"kind": "Status", "message": "services \"web\" is forbidden: exceeded quota: none"}"#;
    const PERMISSION: &str = r#"{"kind": "Status", "message": "services \"web\" is forbidden: User \"baton\" cannot get resource \"services\" in API group \"\" in the namespace \"shop\""}"#;

    #[tokio::test]
    async fn only_missing_permissions_count_as_denials_and_every_refusal_is_passed_on_unchanged() {
        let denial = "permission_denials_total{verb=\"get\",resource=\"services\"} 1\n";
        for (code, message, is_denial) in [
            (StatusCode::FORBIDDEN, PERMISSION, true),
            (StatusCode::FORBIDDEN, QUOTA, false),
            (StatusCode::FORBIDDEN, "", false),
            (StatusCode::CONFLICT, PERMISSION, false),
        ] {
            let (text, body) = counted_and_read(SERVICE, Always(Ok((code, message)), SOON)).await;
            assert_eq!(text.contains(denial), is_denial, "{code} {message}: {text}");
            assert!(text.contains(&count(code.as_str())) && text.contains(TIMED), "{text}");
            assert_eq!(body.as_deref(), Some(message.as_bytes()));
        }
    }
}
