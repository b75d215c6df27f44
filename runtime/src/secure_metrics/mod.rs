//! The secure metrics port: `/metrics` over HTTPS, for clients whose bearer token passes the API server's review.
//!
//! The client must be allowed to `get` the non-resource URL `/metrics`. The program needs `create` for `tokenreviews` of
//! `authentication.k8s.io` and for `subjectaccessreviews` of `authorization.k8s.io`.
//!
//! Neither a slow client nor a broken handshake delays others: the port has the limits of [`admin`](crate::admin).

mod certificate;
mod reviewer;

use std::sync::Arc;

use axum::{
    Router,
    extract::State,
    http::{HeaderMap, StatusCode, header::WWW_AUTHENTICATE},
    response::{IntoResponse as _, Response},
    routing::get,
};
use tokio::net::TcpListener;

use self::reviewer::{Unreviewed, Verdict};
pub use self::{
    certificate::{Certificate, CertificateError},
    reviewer::Reviewer,
};
use crate::{
    admin::{Exposition, exposed},
    port,
};

/// The metrics, and who may read them.
#[derive(Clone)]
struct Protected {
    reviewer: Reviewer,
    metrics: Arc<dyn Exposition>,
}

/// Serves this port until it is dropped. A certificate from files is followed meanwhile.
pub async fn serve(
    listener: TcpListener,
    certificate: Certificate,
    reviewer: Reviewer,
    exposition: Arc<dyn Exposition>,
) {
    let acceptor = certificate.acceptor();
    let protected = Protected { reviewer, metrics: exposition };
    let router = Router::new().route("/metrics", get(metrics)).with_state(protected);
    let served = port::accept(listener, router, move |stream| acceptor.accept(stream));
    tokio::join!(served, certificate.keep_current());
}

async fn metrics(State(Protected { reviewer, metrics }): State<Protected>, headers: HeaderMap) -> Response {
    match reviewer.verdict(&headers).await {
        Ok(Verdict::Allowed) => exposed(&metrics),
        Ok(Verdict::Unauthenticated) => {
            let message = "a bearer token is needed that the API server knows\n";
            (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")], message).into_response()
        }
        Ok(Verdict::Denied) => {
            let message = "the permission to get the non-resource URL /metrics is missing\n";
            (StatusCode::FORBIDDEN, message).into_response()
        }
        Err(Unreviewed::TooMany) => {
            let message = "there are more new tokens than are reviewed; try again later\n";
            (StatusCode::TOO_MANY_REQUESTS, message).into_response()
        }
        Err(Unreviewed::Failed) => {
            let message = "can't check at the API server who may read this; see the log\n";
            (StatusCode::SERVICE_UNAVAILABLE, message).into_response()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        net::{Ipv4Addr, SocketAddr},
        sync::Mutex,
        task::{Context, Poll},
    };

    use futures::{
        FutureExt as _,
        future::{BoxFuture, join_all},
    };
    use kube::{Client, client::Body};
    use prometheus_client::registry::Registry;
    use serde_json::{Value, json};
    use tokio::{
        io::{AsyncReadExt as _, AsyncWriteExt as _},
        net::TcpStream,
        task::JoinSet,
        time::timeout,
    };
    use tokio_rustls::{
        TlsConnector,
        rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::ServerName},
    };
    use tower::Service;

    use super::*;
    use crate::{
        lock,
        port::{CONNECTION_LIMIT, CONNECTIONS, LARGEST_HEAD},
    };

    /// An API server that knows the tokens `reader` and `other`; the first may read metrics. It fails for `outage`. It records
    /// the requests.
    #[derive(Clone, Default)]
    struct ApiServer(Arc<Mutex<Vec<Value>>>);

    impl Service<http::Request<Body>> for ApiServer {
        type Response = http::Response<Body>;
        type Error = Infallible;
        type Future = BoxFuture<'static, Result<http::Response<Body>, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, request: http::Request<Body>) -> Self::Future {
            let requests = self.0.clone();
            async move {
                let body = request.into_body().collect_bytes().await.unwrap();
                let mut review: Value = serde_json::from_slice(&body).unwrap();
                lock(&requests).push(review["spec"].clone());
                let token = review["spec"]["token"].as_str().map(str::to_owned);
                review["status"] = match token.as_deref() {
                    None => json!({"allowed": review["spec"]["user"] == "reader"}),
                    Some(user @ ("reader" | "other")) => {
                        json!({"authenticated": true, "user": {"username": user}})
                    }
                    Some(_) => json!({"authenticated": false, "error": "invalid bearer token"}),
                };
                let code = if token.as_deref() == Some("outage") { 500 } else { 201 };
                let body = Body::from(review.to_string().into_bytes());
                Ok(http::Response::builder().status(code).body(body).unwrap())
            }
            .boxed()
        }
    }

    /// The port, with clients that trust its certificate.
    struct Port {
        address: SocketAddr,
        connector: TlsConnector,
        server: ApiServer,
        _serving: JoinSet<()>,
    }

    impl Port {
        async fn open() -> Self {
            let certificate = Certificate::self_signed("here").unwrap();
            let mut roots = RootCertStore::empty();
            roots.add(certificate.der()).unwrap();
            let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_root_certificates(roots)
                .with_no_client_auth();

            let server = ApiServer::default();
            let reviewer = Reviewer::new(Client::new(server.clone(), "default"), None);
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
            let address = listener.local_addr().unwrap();
            let mut serving = JoinSet::new();
            let metrics = Arc::new(Registry::default());
            serving.spawn(serve(listener, certificate, reviewer, metrics));
            let connector = TlsConnector::from(Arc::new(config));
            Self { address, connector, server, _serving: serving }
        }

        /// The response to a GET; none if the connection ends without one.
        async fn get(&self, path: &str, headers: &str) -> Option<String> {
            let stream = TcpStream::connect(self.address).await.unwrap();
            let name = ServerName::try_from("here").unwrap();
            let mut stream = self.connector.connect(name, stream).await.unwrap();
            let request = format!("GET {path} HTTP/1.1\r\nHost: here\r\n{headers}\r\n");
            stream.write_all(request.as_bytes()).await.ok()?;
            let mut response = String::new();
            // The server closes the connection after one response, or before.
            let read = stream.read_to_string(&mut response).await;
            (read.is_ok() && !response.is_empty()).then_some(response)
        }

        async fn get_as(&self, token: &str) -> String {
            self.get("/metrics", &format!("Authorization: Bearer {token}\r\n")).await.unwrap()
        }

        /// How many reviews the API server got.
        fn reviews(&self) -> usize {
            lock(&self.server.0).len()
        }
    }

    #[tokio::test]
    async fn only_clients_with_the_permission_get_the_metrics() {
        let port = Port::open().await;
        let allowed = port.get_as("reader").await;
        assert!(allowed.starts_with("HTTP/1.1 200") && allowed.contains("# EOF"), "{allowed}");
        assert!(allowed.to_lowercase().contains("connection: close"), "{allowed}");
        let denied = port.get_as("other").await;
        assert!(denied.starts_with("HTTP/1.1 403") && !denied.contains("# EOF"), "{denied}");
        let unknown = port.get_as("made-up").await;
        assert!(unknown.starts_with("HTTP/1.1 401") && !unknown.contains("# EOF"), "{unknown}");
        assert_eq!(port.reviews(), 2 + 2 + 1);

        // Without a token, no review is sent.
        let anonymous = port.get("/metrics", "").await.unwrap();
        assert!(anonymous.starts_with("HTTP/1.1 401"), "{anonymous}");
        assert!(anonymous.to_lowercase().contains("www-authenticate: bearer"), "{anonymous}");
        let elsewhere = port.get("/readyz", "").await.unwrap();
        assert!(elsewhere.starts_with("HTTP/1.1 404"), "{elsewhere}");
        assert_eq!(port.reviews(), 5);
    }

    #[tokio::test]
    async fn a_verdict_is_remembered_and_an_outage_is_not() {
        let port = Port::open().await;
        for _ in 0..3 {
            for (token, code) in [("reader", "200"), ("other", "403"), ("made-up", "401")] {
                let response = port.get_as(token).await;
                assert!(response.starts_with(&format!("HTTP/1.1 {code}")), "{token}: {response}");
            }
        }
        assert_eq!(port.reviews(), 5);
        for _ in 0..3 {
            let response = port.get_as("outage").await;
            assert!(response.starts_with("HTTP/1.1 503") && !response.contains("# EOF"), "{response}");
        }
        assert_eq!(port.reviews(), 5 + 3);
    }

    #[tokio::test]
    async fn invented_tokens_are_reviewed_at_a_rate_and_keep_no_known_client_out() {
        let port = Port::open().await;
        assert!(port.get_as("reader").await.starts_with("HTTP/1.1 200"));
        let before = port.reviews();
        let begun = std::time::Instant::now();
        let responses =
            join_all((0..40).map(async |number| port.get_as(&format!("invented-{number}")).await));
        let refused = responses.await.iter().filter(|response| response.starts_with("HTTP/1.1 429")).count();
        let reviewed = port.reviews() - before;
        assert_eq!(refused + reviewed, 40);
        let most = 20 + begun.elapsed().as_millis() / 200 + 1;
        assert!(u128::try_from(reviewed).unwrap() <= most, "{reviewed} reviews");
        assert!(port.get_as("reader").await.starts_with("HTTP/1.1 200"));
    }

    #[tokio::test]
    async fn clients_that_are_slow_or_send_no_tls_do_not_delay_others() {
        let port = Port::open().await;
        let connect = async || TcpStream::connect(port.address).await.unwrap();
        let _silent = join_all((0..3 * CONNECTIONS).map(|_| connect())).await;
        let mut plain = connect().await;
        plain.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").await.unwrap();
        let response = timeout(CONNECTION_LIMIT / 2, port.get_as("reader")).await.unwrap();
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
    }

    #[tokio::test]
    async fn a_head_that_is_too_large_is_refused() {
        let port = Port::open().await;
        let token = "x".repeat(2 * LARGEST_HEAD);
        let response = port.get("/metrics", &format!("Authorization: Bearer {token}\r\n")).await;
        assert!(response.is_none_or(|response| response.starts_with("HTTP/1.1 431")));
        assert_eq!(port.reviews(), 0);
    }
}
