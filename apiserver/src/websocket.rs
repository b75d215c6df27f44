//! Watches over a WebSocket, as browsers open them: each event is a message. After `HandleWS` of apiserver's
//! `endpoints/handlers/watch.go`, and the server of golang.org/x/net/websocket, which requires an origin.

use std::task::{Context, Poll};

use bytes::Bytes;
use futures::{SinkExt as _, StreamExt as _, future::BoxFuture};
use http::{
    HeaderMap, HeaderValue, Request, Response, StatusCode,
    header::{
        CONNECTION, HeaderName, ORIGIN, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL,
        SEC_WEBSOCKET_VERSION, UPGRADE,
    },
};
use http_body_util::{BodyExt as _, Either, Full};
use hyper::{
    body::Incoming,
    upgrade::{self, OnUpgrade},
};
use hyper_util::rt::TokioIo;
use tokio::sync::mpsc::UnboundedSender;
use tokio_tungstenite::{
    WebSocketStream,
    tungstenite::{
        Message, Utf8Bytes,
        handshake::derive_accept_key,
        protocol::{CloseFrame, Role, frame::coding::CloseCode},
    },
};

use crate::{
    faults::{Cut, Flow},
    http::{Body, Streamed},
    in_process::InProcess,
};

const VERSION: &str = "13";

/// A watch over a WebSocket.
pub(crate) type Watch = BoxFuture<'static, ()>;

/// The service of one connection, which may become a WebSocket.
#[derive(Clone)]
pub(crate) struct WebSockets {
    pub(crate) service: InProcess,
    /// Receives the watch of the connection.
    pub(crate) opened: UnboundedSender<Watch>,
}

impl tower::Service<Request<Incoming>> for WebSockets {
    type Response = Response<Either<Flow<Body>, Full<Bytes>>>;
    type Error = Cut;
    type Future = BoxFuture<'static, Result<Self::Response, Cut>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Cut>> {
        tower::Service::<Request<Incoming>>::poll_ready(&mut self.service, context)
    }

    fn call(&mut self, mut request: Request<Incoming>) -> Self::Future {
        let asked =
            is_upgrade(request.headers()).then(|| (upgrade::on(&mut request), request.headers().clone()));
        let (response, opened) = (self.service.call(request), self.opened.clone());
        Box::pin(async move {
            let response = response.await?;
            match asked {
                Some((connection, headers)) if response.extensions().get::<Streamed>().is_some() => {
                    let handshake = handshake(&headers);
                    if handshake.status() == StatusCode::SWITCHING_PROTOCOLS {
                        // The receiver is gone with the connection.
                        let _ = opened.send(Box::pin(send(connection, response.into_body())));
                    }
                    Ok(handshake.map(Either::Right))
                }
                _ => Ok(response.map(Either::Left)),
            }
        })
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> &'h str {
    headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().trim()
}

fn is_upgrade(headers: &HeaderMap) -> bool {
    text(headers, &UPGRADE).eq_ignore_ascii_case("websocket")
        && text(headers, &CONNECTION).to_ascii_lowercase().contains("upgrade")
}

/// Whether Go parses a text as a request URL.
fn is_url(text: &str) -> bool {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|letter: char| letter.is_ascii_alphabetic()) && !scheme.contains('/')
    };
    let has_scheme = text.split_once(":/").is_some_and(|(scheme, _)| is_scheme(scheme));
    (text.starts_with('/') || has_scheme) && !text.contains(char::is_whitespace)
}

/// The response to a WebSocket handshake.
fn handshake(headers: &HeaderMap) -> Response<Full<Bytes>> {
    let refused = |status, why: &'static str| {
        let mut response = Response::new(Full::from(why));
        *response.status_mut() = status;
        response
    };
    let key = text(headers, &SEC_WEBSOCKET_KEY);
    if key.is_empty() {
        return refused(StatusCode::BAD_REQUEST, "mismatch challenge/response");
    }
    if text(headers, &SEC_WEBSOCKET_VERSION) != VERSION {
        let mut response = refused(StatusCode::BAD_REQUEST, "missing or bad WebSocket Version");
        response.headers_mut().insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static(VERSION));
        return response;
    }
    if !is_url(text(headers, &ORIGIN)) {
        return refused(StatusCode::FORBIDDEN, "");
    }
    let Ok(accept) = HeaderValue::from_str(&derive_accept_key(key.as_bytes())) else {
        return refused(StatusCode::BAD_REQUEST, "");
    };
    let mut response = refused(StatusCode::SWITCHING_PROTOCOLS, "");
    let own = response.headers_mut();
    own.insert(UPGRADE, HeaderValue::from_static("websocket"));
    own.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    own.insert(SEC_WEBSOCKET_ACCEPT, accept);
    match headers.get(SEC_WEBSOCKET_PROTOCOL) {
        Some(protocols) if protocols.as_bytes().contains(&b',') => refused(StatusCode::BAD_REQUEST, ""),
        Some(protocol) => {
            own.insert(SEC_WEBSOCKET_PROTOCOL, protocol.clone());
            response
        }
        None => response,
    }
}

/// Sends the events of a watch, until it or the connection ends.
async fn send(connection: OnUpgrade, mut events: Flow<Body>) {
    let Ok(upgraded) = connection.await else { return };
    let mut socket = WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, None).await;
    loop {
        tokio::select! {
            event = events.frame() => {
                let event = event.and_then(Result::ok).and_then(|frame| frame.into_data().ok());
                let Some(event) = event.and_then(|event| Utf8Bytes::try_from(event).ok()) else { break };
                if socket.send(Message::Text(event)).await.is_err() {
                    return;
                }
            }
            // Clients only send pings and the end.
            received = socket.next() => if !matches!(received, Some(Ok(_))) { return },
        }
    }
    let normal = CloseFrame { code: CloseCode::Normal, reason: Utf8Bytes::default() };
    let _ = socket.close(Some(normal)).await;
}
