//! Clients of one cluster, with the layers that a program needs: counted, fenced, and with small lists.

use std::time::Duration;

use futures::{FutureExt as _, TryFutureExt as _};
use http::{Request, Response};
use http_body_util::BodyExt as _;
use kube::{
    Client, Config,
    client::{Body, ClientBuilder, DynBody},
    config::InferConfigError,
};
use tower::{BoxError, util::BoxService};

use crate::{
    election::{Leadership, fence_layer},
    lists,
    metrics::RequestMetrics,
};

/// The service that carries the requests of a client.
type Transport = BoxService<Request<Body>, Response<Box<DynBody>>, BoxError>;

/// The cluster that a program works in.
#[derive(Clone)]
pub struct Cluster(Connection);

#[derive(Clone)]
enum Connection {
    Config(Box<Config>),
    Client(Client),
}

impl Cluster {
    /// The cluster of the pod, or of the kubeconfig, as other clients find it.
    ///
    /// # Errors
    /// When there is none.
    pub async fn infer() -> Result<Self, InferConfigError> {
        Ok(Self::at(Config::infer().await?))
    }

    /// The cluster of this configuration. Connecting may take ten seconds, and requests aren't retried: the client's own retries may
    /// take many minutes, while a reconcile loop retries with a pause that users can see.
    #[must_use]
    pub fn at(mut config: Config) -> Self {
        config.default_retry = false;
        config.connect_timeout = Some(Duration::from_secs(10));
        Self(Connection::Config(Box::new(config)))
    }

    /// The cluster of this client, which sends all requests.
    #[must_use]
    pub fn of(client: Client) -> Self {
        Self(Connection::Client(client))
    }

    /// A client for the reconcile loop. Its requests are counted, it writes only during this leadership (always, if there is none), and
    /// of its lists one page is in memory at a time, of 8 MiB or a single object: the next waits until the last response is dropped.
    ///
    /// # Errors
    /// When the configuration has a certificate, a key or a URL that can't be used.
    pub fn fenced(&self, metrics: &RequestMetrics, leadership: Option<Leadership>) -> kube::Result<Client> {
        let counted = self.builder()?.with_layer(&metrics.layer());
        Ok(lists::in_turns(counted.with_layer(&fence_layer(leadership)).build()))
    }

    /// A client without the fence, for requests of a replica that doesn't lead: those of the election, and reviews of tokens.
    ///
    /// # Errors
    /// As for [`fenced`](Self::fenced).
    pub fn unfenced(&self, metrics: &RequestMetrics) -> kube::Result<Client> {
        Ok(self.builder()?.with_layer(&metrics.layer()).build())
    }

    /// A client without layers.
    ///
    /// # Errors
    /// As for [`fenced`](Self::fenced).
    pub fn client(&self) -> kube::Result<Client> {
        Ok(self.builder()?.build())
    }

    fn builder(&self) -> kube::Result<ClientBuilder<Transport>> {
        match &self.0 {
            Connection::Config(config) => ClientBuilder::try_from((**config).clone()),
            Connection::Client(client) => {
                let namespace = client.default_namespace().to_owned();
                Ok(ClientBuilder::new(transport(client.clone()), namespace))
            }
        }
    }
}

/// A transport that sends requests through a client.
fn transport(client: Client) -> Transport {
    BoxService::new(tower::service_fn(move |request: Request<Body>| {
        let client = client.clone();
        async move { client.send(request).await }
            .map_ok(|response: Response<Body>| {
                response.map(|body| Box::new(body.map_err(BoxError::from)) as Box<DynBody>)
            })
            .map_err(BoxError::from)
            .boxed()
    }))
}
