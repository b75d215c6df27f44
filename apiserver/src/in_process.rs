//! The server as a tower service, which a `kube::Client` calls without a socket.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{HeaderName, HeaderValue, Request};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use tower::Service;

use crate::{
    faults::{ClientName, Cut, Faults, Flow, RequestInfo},
    http::{Body, Request as Read, Response},
    paused::Repeats,
    server::{MAX_BODY, Server},
    status::Failure,
};

/// The limit of the skipped part of a body that is too large.
const MAX_SKIPPED: usize = 32 * MAX_BODY;

const IMPERSONATED: HeaderName = HeaderName::from_static("impersonate-user");

/// Handles requests in the client's process.
#[derive(Clone)]
pub(crate) struct InProcess {
    pub(crate) server: Arc<Server>,
    pub(crate) faults: Arc<Faults>,
    pub(crate) repeats: Arc<Repeats>,
    /// The client's name, for rules.
    pub(crate) name: Option<ClientName>,
    /// The user that all requests impersonate.
    pub(crate) user: Option<HeaderValue>,
}

impl<B> Service<Request<B>> for InProcess
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = http::Response<Flow<Body>>;
    type Error = Cut;
    type Future = BoxFuture<'static, Result<http::Response<Flow<Body>>, Cut>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Cut>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let Self { server, faults, repeats, name, user } = self.clone();
        if let Some(name) = name {
            request.extensions_mut().insert(name);
        }
        if let Some(user) = user {
            request.headers_mut().insert(IMPERSONATED, user);
        }
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let mut body = Box::pin(body);
            let (body, refused) = match Limited::new(body.as_mut(), MAX_BODY).collect().await {
                Ok(body) => (body.to_bytes(), None),
                Err(error) if error.is::<LengthLimitError>() => {
                    skip(body.as_mut()).await?;
                    (Bytes::new(), Some(Failure::too_large(MAX_BODY)))
                }
                Err(_) => return Err(Cut),
            };
            let serve = |request: Request<Bytes>| async move {
                let response = match refused {
                    Some(failure) => Response::failure(&failure),
                    None => {
                        let (parts, body) = request.into_parts();
                        server.handle(&Read::new(parts, body))
                    }
                };
                Ok::<_, Infallible>(response.into_response())
            };
            let request = Request::from_parts(parts, body);
            let info = RequestInfo::of(&request, request.body());
            // Panics in the client's task, where the loop is.
            if let Some(requests) = repeats.count(&info) {
                panic!(
                    "a client sends the same again and again, and tokio's paused time can't advance, so that no sleep and no \
                     timeout ends:\n{requests}\nLet it write only what differs, and wait before it tries again. \
                     Builder::repeat_limit allows more."
                );
            }
            faults.pass_known(info, request, serve).await
        })
    }
}

/// Reads the rest of a body that is too large: a client that is still sending would lose the response with its connection.
async fn skip<B: http_body::Body<Data = Bytes>>(mut body: Pin<&mut B>) -> Result<(), Cut> {
    let mut left = MAX_SKIPPED;
    while let Some(frame) = body.as_mut().frame().await {
        let read = frame.map_err(|_| Cut)?.data_ref().map_or(0, Bytes::len);
        let Some(less) = left.checked_sub(read) else { break };
        left = less;
    }
    Ok(())
}
