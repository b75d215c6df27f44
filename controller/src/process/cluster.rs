//! The cluster that the operator works in; makes clients for it.

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

use super::{
    election::{Leadership, fence_layer},
    lists,
};
use crate::metrics::Metrics;

/// What carries the requests of a client.
type Transport = BoxService<Request<Body>, Response<Box<DynBody>>, BoxError>;

/// The cluster that the operator works in.
#[derive(Clone)]
pub struct Cluster(Connection);

#[derive(Clone)]
enum Connection {
    Config(Box<Config>),
    Client(Client),
}

impl Cluster {
    /// The cluster that every client finds: that of the pod, or of the kubeconfig.
    ///
    /// # Errors
    /// When there is none.
    pub(super) async fn infer() -> Result<Self, InferConfigError> {
        let mut config = Config::infer().await?;
        // The client's own retries may take many minutes; the loop retries with a pause that users can see.
        config.default_retry = false;
        config.connect_timeout = Some(Duration::from_secs(10));
        Ok(Self(Connection::Config(Box::new(config))))
    }

    /// The cluster of this client, which sends all requests.
    #[must_use]
    pub fn of(client: Client) -> Self {
        Self(Connection::Client(client))
    }

    /// A client whose requests are counted, that writes only while this process leads, and whose lists take turns.
    pub(super) fn fenced(&self, metrics: &Metrics, leadership: Option<Leadership>) -> kube::Result<Client> {
        let counted = self.builder()?.with_layer(&metrics.request_layer());
        Ok(lists::in_turns(counted.with_layer(&fence_layer(leadership)).build()))
    }

    /// A client without the fence: for the requests of a replica that doesn't lead.
    pub(super) fn unfenced(&self, metrics: &Metrics) -> kube::Result<Client> {
        Ok(self.builder()?.with_layer(&metrics.request_layer()).build())
    }

    /// A client whose requests aren't counted.
    pub(super) fn client(&self) -> kube::Result<Client> {
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
