//! Requests to the API server inside a process: every request gets a server's response, and no write is stored partly.
//!
//! An input is a text of requests as editors have it in `.http` files. Bytes that aren't such requests are no finding.
//!
//! ```text
//! POST /api/v1/namespaces/default/configmaps
//! content-type: application/json
//!
//! {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}}
//! ###
//! GET /api/v1/namespaces/default/configmaps/settings
//! ```

mod laws;
mod requests;

use std::sync::LazyLock;

use baton_apiserver::{ApiServer, StartError};
use bytes::Bytes;
use http::{Request, Response};
use jiff::Timestamp;
use kube::{Client, client::Body};
use tokio::{
    runtime::{Builder, Runtime},
    time::{Duration, timeout},
};

use self::laws::Laws;

/// The initial objects, so that a short input reaches something.
const OBJECTS: &str = include_str!("objects.yaml");

/// A CRD and its custom resource. They take longest, so only inputs that name them get them.
const SHOPS: &str = include_str!("shops.yaml");

/// The most requests of an input; more would only be slower.
const MAX_REQUESTS: usize = 16;

/// A watch lasts for half an hour unless the request has a timeout. The clock is paused, so that takes no time.
const LONGEST: Duration = Duration::from_hours(2);

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut runtime = Builder::new_current_thread();
    runtime.enable_time().start_paused(true).build().expect("a runtime needs nothing")
});

/// Sends the requests of a text to a server of their own, one after the other.
///
/// # Panics
/// When the server breaks one of the [laws](laws).
pub fn http_request(data: &[u8]) {
    RUNTIME.block_on(async {
        let server = server(data).expect("it begins with objects that are fine");
        let mut laws = Laws::new(server.client()).await;
        for request in requests::of(data).take(MAX_REQUESTS) {
            laws.check(request).await;
        }
        laws.check_touched().await;
    });
}

fn server(data: &[u8]) -> Result<ApiServer, StartError> {
    let builder = ApiServer::builder().clock(|| Timestamp::UNIX_EPOCH).load(OBJECTS)?;
    let names_shops = data.windows(5).any(|text| text == b"shops");
    if names_shops { builder.load(SHOPS)?.start() } else { builder.start() }
}

/// The whole response to a request; of a watch, all events until it is cut.
async fn ask(client: &Client, request: Request<Bytes>) -> Response<Bytes> {
    let shown = format!("{} {}", request.method(), request.uri());
    let response = client.send(request.map(Body::from)).await;
    let (head, mut body) =
        response.unwrap_or_else(|error| panic!("{shown} gets no response: {error}")).into_parts();
    let mut read = Vec::new();
    let _ = timeout(LONGEST, async {
        while let Some(frame) = http_body_util::BodyExt::frame(&mut body).await {
            let frame = frame.unwrap_or_else(|error| panic!("{shown} gets half a response: {error}"));
            read.extend(frame.into_data().unwrap_or_default());
        }
    })
    .await;
    Response::from_parts(head, read.into())
}
