//! The server: TLS on the loopback interface, for the API server only. Each response is made of the pods of the moment.

use std::{convert::Infallible, path::PathBuf, sync::Arc};

use http_body_util::Full;
use hyper::{
    Method, Request, Response, StatusCode,
    body::{Bytes, Incoming},
};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client, api::ListParams};
use serde_json::{Value, json};

use super::{
    Loads,
    documents::{self, PATH},
};
use crate::{Error, control_plane::BehindAggregator, kubeconfig, lock, query, server};

/// Serves in the current runtime, until that ends. Returns the port.
pub(super) async fn start(
    kubeconfig: PathBuf,
    loads: Arc<Loads>,
    credentials: BehindAggregator,
) -> Result<u16, Error> {
    // Only the API server can connect: it is the only one that has a certificate by the authority of front proxies.
    let config = credentials.identity.server_config(Some(&credentials.clients))?;
    let answerer = Arc::new(Answerer { client: kubeconfig::client(&kubeconfig).await?, loads });
    let server = server::start(Some(config), move |request| {
        let answerer = answerer.clone();
        async move { Ok::<_, Infallible>(answerer.answer(&request).await) }
    });
    Ok(server.await?.0)
}

struct Answerer {
    client: Client,
    loads: Arc<Loads>,
}

impl Answerer {
    async fn answer(&self, request: &Request<Incoming>) -> Response<Full<Bytes>> {
        let (path, uri) = (request.uri().path(), request.uri().to_string());
        if request.method() != Method::GET {
            return refusal(StatusCode::METHOD_NOT_ALLOWED, "there is nothing here that can be written");
        }
        match path.split('/').collect::<Vec<_>>()[..] {
            ["", "apis"] => success(&documents::groups()),
            ["", "apis", documents::GROUP] => success(&documents::group()),
            ["", "apis", documents::GROUP, documents::VERSION] => success(&documents::resources()),
            ["", "apis", documents::GROUP, documents::VERSION, "pods"] => {
                self.metrics(Api::all(self.client.clone()), &uri).await
            }
            ["", "apis", documents::GROUP, documents::VERSION, "namespaces", namespace, "pods"] => {
                self.metrics(Api::namespaced(self.client.clone(), namespace), &uri).await
            }
            _ => refusal(
                StatusCode::NOT_FOUND,
                &format!("{path} isn't served, only lists of pods are, at {PATH}"),
            ),
        }
    }

    async fn metrics(&self, pods: Api<Pod>, uri: &str) -> Response<Full<Bytes>> {
        let selector = query::value(uri, "labelSelector").unwrap_or_default();
        // From the API server's cache, which is at most a moment old.
        let params = ListParams::default().labels(&selector).match_any();
        match pods.list(&params).await {
            Ok(pods) => {
                let loads = lock(&self.loads);
                let load = |namespace: &str, label: &str| {
                    loads.get(&(namespace.to_owned(), label.to_owned())).copied()
                };
                success(&documents::pod_metrics(&pods.items, Timestamp::now(), load))
            }
            Err(error) => refusal(StatusCode::SERVICE_UNAVAILABLE, &format!("can't list the pods: {error}")),
        }
    }
}

fn success(document: &Value) -> Response<Full<Bytes>> {
    answer(StatusCode::OK, document)
}

fn refusal(code: StatusCode, message: &str) -> Response<Full<Bytes>> {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code.as_u16(), "message": message,
    });
    answer(code, &status)
}

fn answer(code: StatusCode, document: &Value) -> Response<Full<Bytes>> {
    server::response(code, "application/json", document.to_string())
}
