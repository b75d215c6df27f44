//! The cluster of a kubeconfig: its kinds, schemas and objects.

mod error;
mod kinds;
mod warnings;

use std::{path::PathBuf, sync::Arc, time::Duration};

use baton_apply::{Applier, LiveObject, SchemaCache, Schemas, Target, with_timeout};
use clap::Args;
use http::Response;
use kube::{
    Client, Config,
    client::{ClientBuilder, DynBody},
    config::{KubeConfigOptions, Kubeconfig},
    core::ApiResource,
};
use tower::util::MapResponseLayer;

use self::warnings::Warnings;
pub(crate) use self::{
    error::ClusterError,
    kinds::{Kinds, Reference},
};
use crate::text::quoted;

/// The cluster, by kubectl's flags.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterArgs {
    /// The namespace, instead of that of the context.
    #[arg(short, long, global = true)]
    pub(crate) namespace: Option<String>,
    /// The context of the kubeconfig, instead of the current one.
    #[arg(long, global = true)]
    context: Option<String>,
    /// The kubeconfig, instead of `$KUBECONFIG` or `~/.kube/config`.
    #[arg(long, global = true, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The user to impersonate.
    #[arg(long = "as", global = true, value_name = "USER")]
    impersonate: Option<String>,
    /// How long one request may take, such as `30s` or `1m`.
    #[arg(long, global = true, default_value = "30s", value_name = "DURATION", value_parser = duration)]
    request_timeout: Duration,
}

impl ClusterArgs {
    /// The flags for a command line that is printed, with a blank before each.
    pub(crate) fn flags(&self) -> String {
        let kubeconfig = self.kubeconfig.as_ref().map(|file| file.display().to_string());
        let user = self.impersonate.clone();
        let flags = [
            ("-n", self.namespace.clone()),
            ("--context", self.context.clone()),
            ("--kubeconfig", kubeconfig),
            ("--as", user),
        ];
        let flags =
            flags.into_iter().filter_map(|(flag, value)| Some(format!(" {flag} {}", quoted(&value?))));
        flags.collect()
    }
}

/// A duration as kubectl's flags have it.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let span: jiff::SignedDuration =
        text.parse().map_err(|_| "expected a duration such as 30s or 1m".to_owned())?;
    span.try_into().map_err(|_| "a duration can't be negative".to_owned())
}

/// A client of a cluster.
#[derive(Clone)]
pub(crate) struct Connection {
    pub(crate) client: Client,
    /// The namespace of objects that name none.
    pub(crate) namespace: String,
    url: String,
    limit: Duration,
    /// Warnings in responses.
    pub(crate) warnings: Warnings,
}

impl Connection {
    /// Reads the kubeconfig. No request is sent yet.
    pub(crate) async fn new(args: &ClusterArgs) -> Result<Self, ClusterError> {
        let mut config = config(args).await?;
        // A command fails at once.
        config.default_retry = false;
        config.connect_timeout = Some(args.request_timeout);
        config.read_timeout = None;
        if let Some(user) = &args.impersonate {
            config.auth_info.impersonate = Some(user.clone());
        }
        let namespace = args.namespace.clone().unwrap_or_else(|| config.default_namespace.clone());
        let url = config.cluster_url.to_string();
        let warnings = Warnings::default();
        let noted = warnings.clone();
        let layer = MapResponseLayer::new(move |response: Response<Box<DynBody>>| {
            noted.note(response.headers());
            response
        });
        let client =
            ClientBuilder::try_from(config).map_err(ClusterError::Client)?.with_layer(&layer).build();
        Ok(Self { client, namespace, url, limit: args.request_timeout, warnings })
    }

    /// The kinds that the cluster serves.
    pub(crate) async fn kinds(&self) -> Result<Kinds, ClusterError> {
        let lists = async {
            futures::try_join!(
                self.client.list_core_api_versions_aggregated(),
                self.client.list_api_groups_aggregated()
            )
        };
        let (core, groups) =
            with_timeout(self.limit, lists).await.map_err(|error| self.failed("read the kinds", error))?;
        Ok(Kinds::of(core.items.into_iter().chain(groups.items)))
    }

    /// Reads an object that has to exist.
    pub(crate) async fn read(&self, target: &Target) -> Result<LiveObject, ClusterError> {
        self.find(target).await?.ok_or_else(|| ClusterError::NoSuchObject {
            object: name_of(target),
            namespace: target.namespace.clone(),
        })
    }

    /// Reads an object, if there is one.
    pub(crate) async fn find(&self, target: &Target) -> Result<Option<LiveObject>, ClusterError> {
        let found = with_timeout(self.limit, target.api(self.client.clone()).get_opt(&target.name)).await;
        let mut found = found.map_err(|error| self.failed(format!("read {}", name_of(target)), error))?;
        if let Some(live) = &mut found {
            live.fill_in_kind(&target.resource);
        }
        Ok(found)
    }

    /// The schemas of these kinds.
    pub(crate) async fn schemas(&self, kinds: &[ApiResource]) -> Result<Arc<Schemas>, ClusterError> {
        let cache = SchemaCache::new(self.client.clone(), kinds.iter().cloned(), self.limit);
        cache.load().await.map_err(|source| ClusterError::Schemas { url: self.url.clone(), source })
    }

    /// An applier that sends writes, without predictions of its own.
    pub(crate) fn applier(&self) -> Applier {
        Applier::new(self.client.clone(), None, self.limit)
    }

    /// The time limit of a request.
    pub(crate) fn limit(&self) -> Duration {
        self.limit
    }

    /// A request that failed.
    pub(crate) fn failed(&self, what: impl Into<String>, error: baton_apply::ApiError) -> ClusterError {
        ClusterError::of_request(&self.url, what.into(), error)
    }
}

async fn config(args: &ClusterArgs) -> Result<Config, ClusterError> {
    let options = KubeConfigOptions { context: args.context.clone(), ..KubeConfigOptions::default() };
    let file = match &args.kubeconfig {
        Some(path) => Kubeconfig::read_from(path),
        None => Kubeconfig::read(),
    };
    match file {
        Ok(file) => Config::from_custom_kubeconfig(file, &options).await.map_err(ClusterError::Kubeconfig),
        // In a pod there is no kubeconfig.
        Err(error) if args.kubeconfig.is_none() && args.context.is_none() => {
            Config::incluster().map_err(|_| ClusterError::Kubeconfig(error))
        }
        Err(error) => Err(ClusterError::Kubeconfig(error)),
    }
}

/// An object as kubectl names it: `deployment.apps/web`.
pub(crate) fn name_of(target: &Target) -> String {
    let (kind, group) = (target.resource.kind.to_lowercase(), &target.resource.group);
    let dot = if group.is_empty() { "" } else { "." };
    format!("{kind}{dot}{group}/{}", target.name)
}
