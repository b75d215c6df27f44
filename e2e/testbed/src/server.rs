//! The base of every HTTP server here: it listens on a free port of the loopback interface, with TLS or without.

use std::{net::Ipv4Addr, sync::Arc};

use http_body_util::Full;
use hyper::{
    Request, Response, StatusCode,
    body::{Body, Bytes, Incoming},
    header::{CONTENT_TYPE, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    task::{AbortHandle, JoinSet},
};
use tokio_rustls::{TlsAcceptor, rustls::ServerConfig};

use crate::Error;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Serves in the current runtime. Returns the port, and a handle that ends it with all its connections. If `handle` or the body of its
/// response fails, the connection is closed.
pub(crate) async fn start<H, F, B, E>(
    tls: Option<ServerConfig>,
    handle: H,
) -> Result<(u16, AbortHandle), Error>
where
    H: Fn(Request<Incoming>) -> F + Clone + Send + 'static,
    F: Future<Output = Result<Response<B>, E>> + Send + 'static,
    B: Body<Data: Send, Error: Into<Failure>> + Send + 'static,
    E: Into<Failure> + Send + 'static,
{
    let failed = || Error::file("bind a port on", "127.0.0.1");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(failed())?;
    let port = listener.local_addr().map_err(failed())?.port();
    let tls = tls.map(|config| TlsAcceptor::from(Arc::new(config)));
    let serve = async move {
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                Ok((stream, _)) = listener.accept() => {
                    let (tls, handle) = (tls.clone(), handle.clone());
                    connections.spawn(async move {
                        let stream = TokioIo::new(accepted(stream, tls).await?);
                        // A connection that fails is the other side's to notice.
                        http1::Builder::new().serve_connection(stream, service_fn(handle)).await.ok()
                    });
                }
                Some(_) = connections.join_next() => {}
            }
        }
    };
    Ok((port, tokio::spawn(serve).abort_handle()))
}

async fn accepted(stream: TcpStream, tls: Option<TlsAcceptor>) -> Option<Box<dyn Stream>> {
    // Events of a watch are small, and are waited for.
    let _ = stream.set_nodelay(true);
    match tls {
        None => Some(Box::new(stream)),
        Some(tls) => Some(Box::new(tls.accept(stream).await.ok()?)),
    }
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<S: AsyncRead + AsyncWrite + Send + Unpin> Stream for S {}

/// A response with this body.
pub(crate) fn response(code: StatusCode, content_type: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
