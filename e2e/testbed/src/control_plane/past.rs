//! Objects that an older release may have left in etcd. Today's API server would refuse them, and serves them nevertheless.

use hyper::Request;
use k8s_openapi::ByteString;
use kube::{Client, Config};
use serde_json::{Value, json};

use super::{ControlPlane, components};
use crate::Error;

impl ControlPlane {
    /// Puts an object into etcd, past the API server, below `/registry/`: `validatingwebhookconfigurations/NAME`. Nothing fills
    /// anything in.
    ///
    /// # Errors
    /// When the cluster was given, or when etcd doesn't take it.
    pub async fn put_into_etcd(&self, key: &str, object: &Value) -> Result<(), Error> {
        let local = self.local.as_ref().ok_or(Error::GivenCluster { what: "etcd" })?;
        let what = || format!("put {key} into etcd");
        let url = components::etcd_url(local.ports.etcd).parse().map_err(Error::parse(what()))?;
        let client = Client::try_from(Config::new(url)).map_err(Error::api(what()))?;
        let bytes = |text: String| ByteString(text.into_bytes());
        let pair = json!({"key": bytes(format!("/registry/{key}")), "value": bytes(object.to_string())});
        let request = Request::post("/v3/kv/put").body(pair.to_string().into_bytes());
        let request = request.map_err(Error::parse(what()))?;
        client.request::<Value>(request).await.map(drop).map_err(Error::api(what()))
    }
}
