//! Kubeconfig files: one cluster, one user, written where they are told. It asks no server for anything.

use std::{
    fs::OpenOptions,
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use kube::{
    Client, Config,
    config::{
        AuthInfo, Cluster, Context, KubeConfigOptions, Kubeconfig, NamedAuthInfo, NamedCluster, NamedContext,
    },
};

use crate::{Error, pki::Identity};

/// How a client proves who it is.
pub(crate) enum Credential<'a> {
    /// A client certificate.
    Certificate(&'a Identity),
    /// A bearer token.
    Token(String),
}

/// The cluster entry for a server at `url` that has a certificate signed by `authority` (PEM).
pub(crate) fn cluster(url: &str, authority: &str) -> Cluster {
    Cluster {
        server: Some(url.to_owned()),
        certificate_authority_data: Some(base64(authority.as_bytes())),
        ..Cluster::default()
    }
}

/// Writes a kubeconfig that only its owner can read: `user` on `cluster`, in `namespace`.
pub(crate) fn write(
    path: &Path,
    cluster: Cluster,
    user: &str,
    namespace: &str,
    credential: Credential<'_>,
) -> Result<PathBuf, Error> {
    const CLUSTER: &str = "baton-testbed";
    let auth_info = match credential {
        Credential::Certificate(identity) => AuthInfo {
            client_certificate_data: Some(base64(identity.certificate.as_bytes())),
            client_key_data: Some(base64(identity.key.as_bytes()).into()),
            ..AuthInfo::default()
        },
        Credential::Token(token) => AuthInfo { token: Some(token.into()), ..AuthInfo::default() },
    };
    let config = Kubeconfig {
        api_version: Some("v1".to_owned()),
        kind: Some("Config".to_owned()),
        clusters: vec![NamedCluster {
            name: CLUSTER.to_owned(),
            cluster: Some(cluster),
            ..NamedCluster::default()
        }],
        auth_infos: vec![NamedAuthInfo {
            name: user.to_owned(),
            auth_info: Some(auth_info),
            ..NamedAuthInfo::default()
        }],
        contexts: vec![NamedContext {
            name: user.to_owned(),
            context: Some(Context {
                cluster: CLUSTER.to_owned(),
                user: Some(user.to_owned()),
                namespace: Some(namespace.to_owned()),
                ..Context::default()
            }),
            ..NamedContext::default()
        }],
        current_context: Some(user.to_owned()),
        ..Kubeconfig::default()
    };
    let text = serde_norway::to_string(&config).map_err(Error::parse(format!("the kubeconfig of {user}")))?;
    write_private(path, &text)?;
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

/// A client for the same server that proves to be nobody by itself, and sends each request once. It belongs to the current
/// tokio runtime.
pub(crate) async fn anonymous_client(path: &Path) -> Result<Client, Error> {
    let mut config = config(path).await?;
    config.auth_info = AuthInfo::default();
    config.default_retry = false;
    config.read_timeout = None;
    connect(path, config)
}

/// As [`client`], with a client that sends each request once: whoever has it tries again in its own way.
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

/// Standard base64 with padding; kubeconfigs carry certificates so.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let mut group = [0; 3];
        group[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes([0, group[0], group[1], group[2]]);
        for digit in 0..4 {
            // A chunk of n bytes has n + 1 digits; padding fills the four.
            let letter = ALPHABET[(bits >> (18 - 6 * digit)) as usize & 63];
            text.push(if digit <= chunk.len() { letter as char } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        for (plain, encoded) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(base64(plain.as_bytes()), encoded);
        }
        assert_eq!(base64(&[0xff, 0xef, 0xbe]), "/+++");
    }
}
