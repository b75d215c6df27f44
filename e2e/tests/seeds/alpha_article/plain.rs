//! A client that knows only HTTP and a token, like curl.

use std::{fs, path::Path, sync::Arc};

use baton_merge::yaml;
use http_body_util::{BodyExt as _, Full};
use hyper::{
    Request, Uri,
    body::Bytes,
    client::conn::http1,
    header::{AUTHORIZATION, CONTENT_TYPE, HOST},
};
use hyper_util::rt::TokioIo;
use kube::{
    Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, ServerName},
    },
};

/// The address of a server, its certificate authority, and a token.
pub struct Plain {
    server: Uri,
    tls: TlsConnector,
    token: String,
}

impl Plain {
    /// A client for the server of a kubeconfig with a token.
    pub async fn new(kubeconfig: &Path) -> Self {
        let text = fs::read_to_string(kubeconfig).unwrap();
        let file: Value = yaml::from_str(&text).unwrap();
        let token = file["users"][0]["user"]["token"].as_str().unwrap().to_owned();
        let file = Kubeconfig::read_from(kubeconfig).unwrap();
        let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
        let mut roots = RootCertStore::empty();
        for authority in config.root_cert.unwrap() {
            roots.add(CertificateDer::from(authority)).unwrap();
        }
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        Self { server: config.cluster_url, tls: TlsConnector::from(Arc::new(tls)), token }
    }

    /// Sends a PATCH with an intent in YAML. Returns the status code and the body of the response.
    pub async fn apply(&self, path: &str, body: &str) -> (u16, String) {
        let authority = self.server.authority().unwrap();
        let stream = TcpStream::connect((authority.host(), authority.port_u16().unwrap())).await.unwrap();
        let name = ServerName::try_from(authority.host().to_owned()).unwrap();
        let stream = self.tls.connect(name, stream).await.unwrap();
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        let connection = tokio::spawn(connection);
        let request = Request::patch(path)
            .header(HOST, authority.as_str())
            .header(AUTHORIZATION, format!("Bearer {}", self.token))
            .header(CONTENT_TYPE, "application/apply-patch+yaml")
            .body(Full::new(Bytes::from(body.to_owned())))
            .unwrap();
        let response = sender.send_request(request).await.unwrap();
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        connection.abort();
        (code, String::from_utf8(body.to_vec()).unwrap())
    }
}
