//! A server that poses as the API server, without a certificate from the cluster's authority, gets no token.
#![allow(clippy::unwrap_used)]

use std::{sync::Arc, time::Duration};

use baton_runtime::cluster::Cluster;
use kube::{
    Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use tokio::{io::AsyncReadExt as _, net::TcpListener, time::timeout};
use tokio_rustls::{TlsAcceptor, rustls, rustls::pki_types::PrivateKeyDer};

/// A self-signed certificate for the same name, also as PEM.
fn self_signed() -> (rustls::ServerConfig, String) {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)
        .unwrap();
    (config, cert.pem())
}

/// The cluster of a kubeconfig with a token.
async fn cluster(server: &str, authority: &std::path::Path) -> Cluster {
    let text = format!(
        "
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: 'https://{server}', certificate-authority: '{}'}}}}]
users: [{{name: u, user: {{token: the-token}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
current-context: c
",
        authority.display()
    );
    let kubeconfig = Kubeconfig::from_yaml(&text).unwrap();
    Cluster::at(Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap())
}

/// The first request to a server with this certificate from a client that trusts this authority; none if the client ends the
/// handshake.
async fn received(config: rustls::ServerConfig, trusted: &str) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let authority = folder.path().join("ca.crt");
    std::fs::write(&authority, trusted).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let cluster = cluster(&listener.local_addr().unwrap().to_string(), &authority).await;
    let client = cluster.client().unwrap();
    let _request = tokio::spawn(async move { client.apiserver_version().await });
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let hear = async {
        let (connection, _) = listener.accept().await.unwrap();
        let mut stream = acceptor.accept(connection).await.ok()?;
        let mut request = vec![0; 4096];
        let length = stream.read(&mut request).await.ok()?;
        // An alert that ends the connection looks like its end.
        (length > 0).then(|| String::from_utf8_lossy(&request[..length]).into_owned())
    };
    timeout(Duration::from_mins(1), hear).await.unwrap()
}

#[tokio::test]
async fn an_impostor_of_the_api_server_never_gets_the_token() {
    let (impostor, _) = self_signed();
    let (cluster, trusted) = self_signed();
    assert_eq!(received(impostor, &trusted).await, None);

    let received = received(cluster, &trusted).await.unwrap();
    assert!(received.contains("the-token"), "the cluster's server gets it: {received}");
}
