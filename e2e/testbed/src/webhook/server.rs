//! The server: TLS on the loopback interface. It decides nothing: each request's body goes to [`review`], and what comes
//! back is noted and sent.

use std::{convert::Infallible, net::Ipv4Addr, sync::Arc};

use http_body_util::{BodyExt as _, Full};
use hyper::{
    Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{CONTENT_TYPE, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    net::{TcpListener, TcpStream},
    task::{AbortHandle, JoinSet},
};
use tokio_rustls::TlsAcceptor;

use super::{Asked, review};
use crate::{Error, pki::Identity};

/// Starts to serve in the current runtime; says on which port, and what ends it.
pub(super) async fn start(identity: &Identity, asked: Arc<Asked>) -> Result<(u16, AbortHandle), Error> {
    let failed = || Error::file("bind a port on", "127.0.0.1");
    // An API server shows no certificate to webhooks unless it is configured to.
    let acceptor = TlsAcceptor::from(Arc::new(identity.server_config(None)?));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(failed())?;
    let port = listener.local_addr().map_err(failed())?.port();
    Ok((port, tokio::spawn(serve(listener, acceptor, asked)).abort_handle()))
}

/// Serves until it is aborted, and all connections with it: the API server keeps them open for later questions.
async fn serve(listener: TcpListener, acceptor: TlsAcceptor, asked: Arc<Asked>) -> Infallible {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => if let Ok((stream, _)) = accepted {
                connections.spawn(serve_connection(acceptor.clone(), stream, asked.clone()));
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

/// A connection that fails is the other side's to notice.
async fn serve_connection(acceptor: TlsAcceptor, stream: TcpStream, asked: Arc<Asked>) {
    let Ok(stream) = acceptor.accept(stream).await else { return };
    let service = service_fn(|request| handle(&asked, request));
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// One request. An error, which is a request that broke off, closes the connection.
async fn handle(asked: &Asked, request: Request<Incoming>) -> hyper::Result<Response<Full<Bytes>>> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await?.to_bytes();
    Ok(match review::answer(&path, &body) {
        Ok((review, document)) => {
            // Before the answer, so that whoever learns of that finds the question too.
            asked.note(review);
            answer(StatusCode::OK, "application/json", document.to_string())
        }
        Err(error) => answer(StatusCode::BAD_REQUEST, "text/plain", format!("no AdmissionReview: {error}")),
    })
}

fn answer(code: StatusCode, content_type: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut answer = Response::new(Full::from(body));
    *answer.status_mut() = code;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    answer
}
