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
    faults::{Cut, Faults, Flow},
    http::{Answer, Body, Request as Read},
    server::{MAX_BODY, Server},
    status::Failure,
};

/// Responds to requests within the client's process.
#[derive(Clone)]
pub(crate) struct InProcess {
    pub(crate) server: Arc<Server>,
    pub(crate) faults: Arc<Faults>,
}

impl<B> Service<Request<B>> for InProcess
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<Flow<Body>>;
    type Error = Cut;
    type Future = BoxFuture<'static, Result<Response<Flow<Body>>, Cut>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Cut>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let Self { server, faults } = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            let (body, refused) = match Limited::new(body, MAX_BODY).collect().await {
                Ok(body) => (body.to_bytes(), None),
                Err(error) if error.is::<LengthLimitError>() => {
                    (Bytes::new(), Some(Failure::too_large(MAX_BODY)))
                }
                Err(_) => return Err(Cut),
            };
            let serve = |request: Request<Bytes>| async move {
                let answer = match refused {
                    Some(failure) => Answer::failure(&failure),
                    None => {
                        let (parts, body) = request.into_parts();
                        server.handle(&Read::new(parts, body))
                    }
                };
                Ok::<_, Infallible>(answer.into_response())
            };
            faults.pass(Request::from_parts(parts, body), serve).await
        })
    }
}
