//! Kubeconfig files: one cluster and one user, written to a given path.

use std::{
    fs::OpenOptions,
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use k8s_openapi::ByteString;
use kube::{
    Client, Config,
    config::{AuthInfo, Cluster, KubeConfigOptions, Kubeconfig},
};
use serde_json::json;

use crate::{Error, pki::Identity};

/// How a client authenticates.
pub(crate) enum Credential<'a> {
    /// A client certificate.
    Certificate(&'a Identity),
    /// A bearer token.
    Token(String),
}

/// The cluster entry for a server at `url` that has a certificate signed by `authority` (PEM).
pub(crate) fn cluster(url: &str, authority: &str) -> Cluster {
    let authority = json!(base64(authority)).as_str().map(str::to_owned);
    Cluster { server: Some(url.to_owned()), certificate_authority_data: authority, ..Cluster::default() }
}

/// Text as kubeconfigs carry it.
fn base64(text: &str) -> ByteString {
    ByteString(text.as_bytes().to_vec())
}

/// Writes a kubeconfig that only its owner can read: `user` on `cluster`, in `namespace`.
pub(crate) fn write(
    path: &Path,
    cluster: &Cluster,
    user: &str,
    namespace: &str,
    credential: Credential<'_>,
) -> Result<PathBuf, Error> {
    const CLUSTER: &str = "baton-testbed";
    let proof = match credential {
        Credential::Certificate(identity) => json!({
            "client-certificate-data": base64(&identity.certificate),
            "client-key-data": base64(&identity.key),
        }),
        Credential::Token(token) => json!({"token": token}),
    };
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": CLUSTER, "cluster": cluster}],
        "users": [{"name": user, "user": proof}],
        "contexts": [{"name": user, "context": {"cluster": CLUSTER, "user": user, "namespace": namespace}}],
        "current-context": user,
    });
    // JSON is YAML, too.
    write_private(path, &format!("{config:#}\n"))?;
    Ok(path.to_owned())
}

/// Writes a file that only its owner can read.
pub(crate) fn write_private(path: &Path, text: &str) -> Result<(), Error> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(text.as_bytes()))
        .map_err(Error::file("write", path))
}

/// The cluster that a kubeconfig's current context names.
pub(crate) fn current_cluster(path: &Path) -> Result<Cluster, Error> {
    use kube::config::KubeconfigError::{CurrentContextNotSet, LoadClusterOfContext, LoadContext};
    let failed = |source| Error::Kubeconfig { path: path.to_owned(), source };
    let config = Kubeconfig::read_from(path).map_err(failed)?;
    let current = config.current_context.clone().ok_or_else(|| failed(CurrentContextNotSet))?;
    let context = config.contexts.iter().find(|named| named.name == current);
    let context =
        context.and_then(|named| named.context.clone()).ok_or_else(|| failed(LoadContext(current)))?;
    let cluster = config.clusters.into_iter().find(|named| named.name == context.cluster);
    cluster.and_then(|named| named.cluster).ok_or_else(|| failed(LoadClusterOfContext(context.cluster)))
}

/// A client for what the kubeconfig names. It belongs to the current tokio runtime.
pub(crate) async fn client(path: &Path) -> Result<Client, Error> {
    connect(path, config(path).await?)
}

/// A client for the same server without credentials of its own, which sends each request once. It belongs to the current
/// tokio runtime.
pub(crate) async fn anonymous_client(path: &Path) -> Result<Client, Error> {
    let mut config = config(path).await?;
    config.auth_info = AuthInfo::default();
    config.default_retry = false;
    config.read_timeout = None;
    connect(path, config)
}

/// As [`client`], with a client that sends each request once: retries are up to its user.
pub(crate) async fn impatient_client(path: &Path) -> Result<Client, Error> {
    let mut config = config(path).await?;
    config.default_retry = false;
    connect(path, config)
}

async fn config(path: &Path) -> Result<Config, Error> {
    let failed = |source| Error::Kubeconfig { path: path.to_owned(), source };
    let file = Kubeconfig::read_from(path).map_err(failed)?;
    Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.map_err(failed)
}

fn connect(path: &Path, config: Config) -> Result<Client, Error> {
    Client::try_from(config).map_err(Error::api(format!("make a client from {}", path.display())))
}
