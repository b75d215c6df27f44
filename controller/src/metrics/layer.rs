//! Counts and times the requests of the Kubernetes client, as a layer of its stack.
//!
//! What a request means is [`super::request`]'s.

use std::{
    task::{Context, Poll},
    time::Instant,
};

use futures::{FutureExt, future::BoxFuture};
use http::{Request, Response, StatusCode};
use tower::Service;

use super::{Metrics, labels::Code, request::RequestKind};

/// A service whose requests are counted: around the client's own stack, so that a request that the stack itself can't send
/// counts too.
#[derive(Clone, Debug)]
pub(crate) struct CountedService<S> {
    pub(super) inner: S,
    pub(super) metrics: Metrics,
}

impl<S, B, Answer> Service<Request<B>> for CountedService<S>
where
    S: Service<Request<B>, Response = Response<Answer>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<S::Response, S::Error>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let mut pending = Pending {
            kind: RequestKind::of(&request),
            code: Code::Error,
            begun: Instant::now(),
            metrics: self.metrics.clone(),
        };
        let answer = self.inner.call(request);
        async move {
            let answer = answer.await;
            if let Ok(answer) = &answer {
                pending.answered(answer.status());
            }
            answer
        }
        .boxed()
    }
}

/// A request under way. It is counted when it ends in whatever way, and so also when its future is dropped, as happens at
/// its time limit.
struct Pending {
    kind: RequestKind,
    code: Code,
    begun: Instant,
    metrics: Metrics,
}

impl Pending {
    fn answered(&mut self, status: StatusCode) {
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
    use std::{io, time::Duration};

    use tower::Layer;

    use super::*;

    /// A service that ends every request in the same way, after this long.
    #[derive(Clone)]
    struct Always(Result<StatusCode, &'static str>, Duration);

    impl Service<Request<()>> for Always {
        type Response = Response<()>;
        type Error = io::Error;
        type Future = BoxFuture<'static, Result<Response<()>, io::Error>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), io::Error>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Request<()>) -> Self::Future {
            let Self(end, after) = self.clone();
            async move {
                tokio::time::sleep(after).await;
                let status = end.map_err(io::Error::other)?;
                let mut response = Response::new(());
                *response.status_mut() = status;
                Ok(response)
            }
            .boxed()
        }
    }

    /// What the metrics say after a request for a path was answered in this way, or given up after a moment.
    async fn counted(path: &str, end: Result<StatusCode, &'static str>, after: Duration) -> String {
        let metrics = Metrics::new();
        let mut service = metrics.request_layer().layer(Always(end, after));
        let request = Request::get(path).body(()).unwrap();
        let _ = tokio::time::timeout(Duration::from_millis(50), service.call(request)).await;
        metrics.text([]).unwrap()
    }

    const SERVICE: &str = "/api/v1/namespaces/shop/services/web";
    const SOON: Duration = Duration::ZERO;
    const TOO_LATE: Duration = Duration::from_mins(1);

    fn count(code: &str) -> String {
        format!("baton_api_requests_total{{verb=\"get\",resource=\"services\",code=\"{code}\"}} 1\n")
    }

    const TIMED: &str = "baton_api_request_duration_seconds_count{verb=\"get\",resource=\"services\"} 1\n";

    #[tokio::test]
    async fn an_answer_counts_by_its_status_and_is_timed() {
        for status in [StatusCode::OK, StatusCode::CONFLICT] {
            let text = counted(SERVICE, Ok(status), SOON).await;
            assert!(text.contains(&count(status.as_str())) && text.contains(TIMED), "{text}");
        }
    }

    #[tokio::test]
    async fn no_answer_counts_as_an_error() {
        let text = counted(SERVICE, Err("connection refused"), SOON).await;
        assert!(text.contains(&count("error")) && text.contains(TIMED), "{text}");
    }

    #[tokio::test]
    async fn a_request_given_up_at_its_time_limit_counts_as_an_error() {
        let text = counted(SERVICE, Ok(StatusCode::OK), TOO_LATE).await;
        assert!(text.contains(&count("error")) && text.contains(TIMED), "{text}");
    }

    #[tokio::test]
    async fn a_watch_is_counted_but_not_timed() {
        let text = counted("/api/v1/services?watch=true", Ok(StatusCode::OK), SOON).await;
        assert!(text.contains("{verb=\"watch\",resource=\"services\",code=\"200\"} 1"), "{text}");
        assert!(!text.contains("baton_api_request_duration_seconds_count"), "{text}");
    }
}
