//! The fence: a layer of a program's client that refuses writes while another process may lead.
//!
//! A write may begin only while the lease is held and before its renew deadline. A write under way is dropped when the lease
//! runs out. The clock is read each time that the request is polled, so that a process that was paused doesn't go on where it
//! stopped.
//!
//! A gap remains: a process that is paused after it read the clock and before the bytes are in the socket, and a write that the
//! network or the API server delays for longer than the lease. No client can take such a write back. The guards in the write
//! itself protect against it: a write that is safe only in the state that was read has that state's `uid` and
//! `resourceVersion`, and the API server refuses it in any other.

use std::{
    future::poll_fn,
    pin::pin,
    task::{Context, Poll},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use http::{Method, Request};
use tower::{BoxError, Layer, Service, layer::layer_fn};

use super::leadership::Leadership;

/// Checks the client's own permissions. It is a POST that writes nothing.
const ACCESS_REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

/// A write that was not sent, or whose response isn't awaited, because another may lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fenced {
    /// It has not been sent.
    #[error("not sent: this process doesn't hold the lease now, and another may lead")]
    NotSent,
    /// It was sent, and whether it is stored isn't known.
    #[error("abandoned: the lease ran out before the response came")]
    GivenUp,
}

/// A fence around a client's stack that is open during this leadership; always open without an election. Requests by GET pass in any
/// case, those of `exec` and `attach` too.
pub fn fence_layer<S>(leadership: Option<Leadership>) -> impl Layer<S, Service = Fence<S>> {
    layer_fn(move |inner| Fence { inner, leadership: leadership.clone() })
}

/// A service that writes only while this process leads.
#[derive(Clone, Debug)]
pub struct Fence<S> {
    inner: S,
    leadership: Option<Leadership>,
}

impl<S, B> Service<Request<B>> for Fence<S>
where
    S: Service<Request<B>>,
    S::Error: Into<BoxError>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<S::Response, BoxError>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Some(leadership) = self.leadership.clone().filter(|_| is_write(&request)) else {
            return self.inner.call(request).map(|response| response.map_err(Into::into)).boxed();
        };
        if !leadership.may_begin() {
            leadership.ask_for_check();
            return async { Err(Fenced::NotSent.into()) }.boxed();
        }
        let response = self.inner.call(request);
        async move {
            match during(&leadership, response).await {
                Some(response) => response.map_err(Into::into),
                None => Err(Fenced::GivenUp.into()),
            }
        }
        .boxed()
    }
}

fn is_write<B>(request: &Request<B>) -> bool {
    request.method() != Method::GET && request.uri().path() != ACCESS_REVIEWS
}

/// The output of a future, unless the leadership ends before.
async fn during<T>(leadership: &Leadership, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    let mut renewals = leadership.renewals();
    loop {
        // The clock comes first: after a pause, timers lag behind it.
        let while_it_leads = poll_fn(|context| match leadership.remaining() {
            Duration::ZERO => Poll::Ready(None),
            _ => future.as_mut().poll(context).map(Some),
        });
        tokio::select! {
            biased;
            output = while_it_leads => {
                if output.is_none() {
                    leadership.ask_for_check();
                }
                return output;
            }
            // It is renewed, or has ended.
            _ = renewals.changed() => {}
            () = tokio::time::sleep(leadership.remaining()) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        time::Duration,
    };

    use prometheus_client::metrics::gauge::Gauge;

    use super::*;
    use crate::{clock::Clock, election::Timing};

    /// Responds after this long, and counts the requests.
    #[derive(Clone)]
    struct Server(Duration, Arc<AtomicUsize>);

    impl Service<Request<()>> for Server {
        type Response = ();
        type Error = Infallible;
        type Future = BoxFuture<'static, Result<(), Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Request<()>) -> Self::Future {
            self.1.fetch_add(1, Ordering::Relaxed);
            let after = self.0;
            async move {
                tokio::time::sleep(after).await;
                Ok(())
            }
            .boxed()
        }
    }

    /// Long enough that a busy machine renews in time.
    const TIMING: Timing = Timing {
        lease_duration: Duration::from_millis(1200),
        renew_deadline: Duration::from_millis(800),
        retry_period: Duration::from_millis(160),
    };
    const AT_ONCE: Duration = Duration::ZERO;
    const TOO_LATE: Duration = Duration::from_mins(1);

    fn leadership() -> Leadership {
        Leadership::new(TIMING, Clock::SYSTEM, Gauge::default())
    }

    fn request(method: Method, path: &str) -> Request<()> {
        Request::builder().method(method).uri(path).body(()).unwrap()
    }

    fn write() -> Request<()> {
        request(Method::PATCH, "/apis/apps/v1/namespaces/shop/deployments/web")
    }

    /// How a request through the fence ends, and how many reached the server.
    async fn ended(
        leadership: &Leadership,
        request: Request<()>,
        after: Duration,
    ) -> (Result<(), Fenced>, usize) {
        let requests = Arc::new(AtomicUsize::new(0));
        let mut service = fence_layer(Some(leadership.clone())).layer(Server(after, requests.clone()));
        let response = service.call(request).await.map_err(|error| *error.downcast::<Fenced>().unwrap());
        (response, requests.load(Ordering::Relaxed))
    }

    #[tokio::test]
    async fn without_the_lease_only_requests_that_write_nothing_pass() {
        let leadership = leadership();
        assert_eq!(ended(&leadership, write(), AT_ONCE).await, (Err(Fenced::NotSent), 0));
        for method in [Method::POST, Method::PUT, Method::DELETE] {
            assert_eq!(ended(&leadership, request(method, "/x"), AT_ONCE).await, (Err(Fenced::NotSent), 0));
        }
        assert_eq!(ended(&leadership, request(Method::GET, "/x"), AT_ONCE).await, (Ok(()), 1));
        assert_eq!(ended(&leadership, request(Method::POST, ACCESS_REVIEWS), AT_ONCE).await, (Ok(()), 1));
    }

    #[tokio::test]
    async fn with_the_lease_writes_pass_until_the_renew_deadline() {
        let leadership = leadership();
        leadership.renewed(leadership.clock().moment());
        assert_eq!(ended(&leadership, write(), AT_ONCE).await, (Ok(()), 1));
        tokio::time::sleep(TIMING.renew_deadline).await;
        assert_eq!(ended(&leadership, write(), AT_ONCE).await, (Err(Fenced::NotSent), 0));
        leadership.renewed(leadership.clock().moment());
        assert_eq!(ended(&leadership, write(), AT_ONCE).await, (Ok(()), 1));
        leadership.end();
        assert_eq!(ended(&leadership, write(), AT_ONCE).await, (Err(Fenced::NotSent), 0));
    }

    #[tokio::test]
    async fn a_write_under_way_is_dropped_when_the_lease_runs_out() {
        let leadership = leadership();
        leadership.renewed(leadership.clock().moment());
        assert_eq!(ended(&leadership, write(), TOO_LATE).await, (Err(Fenced::GivenUp), 1));
        // The election has to check the time.
        tokio::time::timeout(Duration::from_secs(1), leadership.check_asked_for()).await.unwrap();
    }

    #[tokio::test]
    async fn a_write_under_way_is_dropped_when_another_leads() {
        let leadership = Leadership::new(Timing::default(), Clock::SYSTEM, Gauge::default());
        leadership.renewed(leadership.clock().moment());
        let lost = async {
            tokio::time::sleep(Duration::from_millis(20)).await;
            leadership.end();
        };
        let write = tokio::time::timeout(Duration::from_secs(5), ended(&leadership, write(), TOO_LATE));
        let (ended, ()) = futures::join!(write, lost);
        assert_eq!(ended.unwrap(), (Err(Fenced::GivenUp), 1));
    }

    #[tokio::test]
    async fn a_write_under_way_goes_on_when_the_lease_is_renewed() {
        let leadership = leadership();
        leadership.renewed(leadership.clock().moment());
        let renewals = async {
            for _ in 0..4 {
                tokio::time::sleep(TIMING.renew_deadline / 2).await;
                leadership.renewed(leadership.clock().moment());
            }
        };
        let slow = ended(&leadership, write(), TIMING.lease_duration + TIMING.renew_deadline / 4);
        assert_eq!(futures::join!(slow, renewals).0, (Ok(()), 1));
    }

    #[tokio::test]
    async fn without_an_election_there_is_no_fence() {
        let mut service = fence_layer(None).layer(Server(AT_ONCE, Arc::default()));
        service.call(write()).await.unwrap();
    }
}
