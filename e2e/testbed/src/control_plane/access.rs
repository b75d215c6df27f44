//! Ways into a control plane: clients, kubeconfigs for any `ServiceAccount`, kubectl, and namespaces to work in.

use std::{fs, path::PathBuf};

use k8s_openapi::api::{
    authentication::v1::{TokenRequest, TokenRequestSpec},
    core::v1::ServiceAccount,
};
use kube::{Api, Client, api::PostParams, config::Cluster};

use super::{ControlPlane, components::Layout};
use crate::{
    Error, Kubectl, Namespace,
    assets::{Assets, Program},
    kubeconfig::{self, Credential},
    kubectl::Output,
    namespace,
    pki::Identity,
};

/// How long a token of a ServiceAccount is good for: longer than any test, and the demo left alone over night.
const TOKEN_LIFE: i64 = 24 * 60 * 60;

/// The certificates of a server to which the API server forwards requests, as PEM.
#[derive(Clone)]
pub(crate) struct BehindAggregator {
    /// The server's certificate and key.
    pub(crate) identity: Identity,
    /// The authority that signed it.
    pub(crate) authority: String,
    /// The authority that signs the API server's client certificates.
    pub(crate) clients: String,
}

impl ControlPlane {
    /// A new client as administrator, for the current tokio runtime.
    pub async fn admin(&self) -> Result<Client, Error> {
        kubeconfig::client(self.kubeconfig()).await
    }

    /// A new client, for the current tokio runtime, that is only the ServiceAccount `name` in `namespace`. The
    /// ServiceAccount has to exist.
    pub async fn client_for(&self, namespace: &str, name: &str) -> Result<Client, Error> {
        kubeconfig::client(&self.kubeconfig_for_service_account(namespace, name).await?).await
    }

    /// As [`client_for`](Self::client_for), with the API server at another URL, such as that of a
    /// [`Proxy`](crate::Proxy).
    pub async fn client_by_way_of(&self, url: &str, namespace: &str, name: &str) -> Result<Client, Error> {
        kubeconfig::client(&self.kubeconfig_by_way_of(url, namespace, name).await?).await
    }

    /// Writes a kubeconfig with a fresh token of a ServiceAccount, good for a day, and nothing else that could prove an
    /// identity. The ServiceAccount has to exist. A later call for the same one replaces the file.
    pub async fn kubeconfig_for_service_account(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<PathBuf, Error> {
        let cluster = kubeconfig::current_cluster(self.kubeconfig())?;
        self.kubeconfig_with_token(&cluster, namespace, name).await
    }

    /// As [`kubeconfig_for_service_account`](Self::kubeconfig_for_service_account), with the API server at another URL;
    /// the file is the same. Behind `https`, only a certificate that the system trusts will do.
    pub async fn kubeconfig_by_way_of(
        &self,
        url: &str,
        namespace: &str,
        name: &str,
    ) -> Result<PathBuf, Error> {
        let cluster = Cluster { server: Some(url.to_owned()), ..Cluster::default() };
        self.kubeconfig_with_token(&cluster, namespace, name).await
    }

    async fn kubeconfig_with_token(
        &self,
        cluster: &Cluster,
        namespace: &str,
        name: &str,
    ) -> Result<PathBuf, Error> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.admin().await?, namespace);
        let request = TokenRequest {
            spec: Some(TokenRequestSpec {
                expiration_seconds: Some(TOKEN_LIFE),
                ..TokenRequestSpec::default()
            }),
            ..TokenRequest::default()
        };
        let answer = accounts
            .create_token_request(name, &PostParams::default(), &request)
            .await
            .map_err(Error::api(format!("get a token for the ServiceAccount {namespace}/{name}")))?;
        let token = answer.status.and_then(|status| status.token).unwrap_or_default();
        let path = Layout(self.dir()).kubeconfig(&format!("{namespace}.{name}"));
        kubeconfig::write(&path, cluster, name, namespace, Credential::Token(token))
    }

    /// The certificates by which the metrics API and the API server authenticate each other.
    pub(crate) fn metrics_api_credentials(&self) -> Result<BehindAggregator, Error> {
        if !self.is_local() {
            return Err(Error::GivenCluster { what: "a metrics API" });
        }
        let layout = Layout(self.dir());
        let pem = |name: &str| {
            let path = layout.pki(name);
            fs::read_to_string(&path).map_err(Error::file("read", &path))
        };
        let identity = Identity { certificate: pem("metrics-api.crt")?, key: pem("metrics-api.key")? };
        Ok(BehindAggregator { identity, authority: pem("ca.crt")?, clients: pem("front-proxy-ca.crt")? })
    }

    /// The release of the API server, such as `v1.36.3`.
    pub async fn version(&self) -> Result<String, Error> {
        let info = self.admin().await?.apiserver_version().await;
        info.map(|info| info.git_version).map_err(Error::api("read the version of the API server"))
    }

    /// Runs kubectl as administrator. That it fails is no error: see [`Output`].
    pub async fn kubectl<A: AsRef<str>>(&self, args: impl IntoIterator<Item = A>) -> Result<Output, Error> {
        self.kubectl_command(args)?.run().await
    }

    /// kubectl as administrator, before it runs: to give it an input or another kubeconfig.
    pub fn kubectl_command<A: AsRef<str>>(
        &self,
        args: impl IntoIterator<Item = A>,
    ) -> Result<Kubectl, Error> {
        let program = self.program(Program::Kubectl)?;
        Ok(Kubectl::new(program, self.kubeconfig(), &self.dir().join("kubectl-cache"), args))
    }

    /// A namespace with a name that begins with `prefix` and is otherwise unique.
    pub async fn namespace(&self, prefix: &str) -> Result<Namespace, Error> {
        let name = namespace::create(self.admin().await?, prefix).await?;
        let has_played_nodes = self.local.as_ref().is_some_and(|local| local.options.network.is_none());
        Ok(Namespace::new(name, self.kubeconfig().to_owned(), has_played_nodes))
    }

    /// The path of a program of the cluster. For a cluster that was given, the program is found or built on first use.
    fn program(&self, program: Program) -> Result<PathBuf, Error> {
        match &self.local {
            Some(local) => Ok(local.assets.path(program)),
            None => Assets::locate(&[program]).map(|assets| assets.path(program)),
        }
    }
}
