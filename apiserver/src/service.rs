//! The server as a service of tower, which a `kube::Client` speaks to without a socket.

use std::{
    convert::Infallible,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use tower::Service;

use crate::{
    http::{Answer, Body, Request as Read},
    server::{MAX_BODY, Server},
    status::Failure,
};

/// Answers requests in the process that asks.
#[derive(Clone)]
pub(crate) struct InProcess(pub(crate) Arc<Server>);

impl<B> Service<Request<B>> for InProcess
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response<Body>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let server = self.0.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let answer = match Limited::new(body, MAX_BODY).collect().await {
                Ok(body) => server.handle(&Read::new(parts, body.to_bytes())),
                Err(error) if error.is::<LengthLimitError>() => Answer::failure(&Failure::too_large(MAX_BODY)),
                Err(error) => Answer::failure(&Failure::bad_request(format!("can't read the body: {error}"))),
            };
            Ok(answer.into_response())
        })
    }
}
