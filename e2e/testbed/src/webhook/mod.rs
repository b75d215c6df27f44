//! Admission webhooks (`admission.k8s.io/v1`), like those of policy engines and sidecar injectors: the API server calls them with a
//! write after the merge and before it is stored. A test chooses the hook's behaviour by its path, and reads the reviews afterwards.
//!
//! [`review`] has the API's documents and the decisions. Nothing here registers with an API server: the test's own configuration
//! does.

mod review;

use std::sync::{Arc, Mutex};

use http_body_util::{BodyExt as _, Full};
use hyper::{
    Request, Response, StatusCode,
    body::{Bytes, Incoming},
};
use k8s_openapi::ByteString;
use serde_json::{Value, json};
use tokio::task::AbortHandle;

pub use self::review::Review;
use crate::{Error, lock, pki::Authority, server};

/// A server of admission webhooks on a free port of 127.0.0.1, for an API server on the same machine. It belongs to the
/// tokio runtime in which it was started; dropping it closes all its connections.
///
/// It responds on every path, so that one server can be many hooks. All of them allow every request, but for two:
///
/// - `/mutate` also adds the annotation `webhook.test/touched: "true"`, to what has metadata.
/// - `/deny` denies, with a message; `/deny/422` also with this code, or another.
///
/// API servers notice new configurations after a moment: a write right after one was created may pass without a review.
///
/// ```no_run
/// # async fn example() -> Result<(), baton_testbed::Error> {
/// use serde_json::json;
///
/// let webhook = baton_testbed::AdmissionWebhook::start().await?;
/// let configuration = json!({
///     "apiVersion": "admissionregistration.k8s.io/v1",
///     "kind": "MutatingWebhookConfiguration",
///     "metadata": {"name": "touch"},
///     "webhooks": [{
///         "name": "touch.webhook.test",
///         "clientConfig": webhook.client_config("/mutate"),
///         "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "shop"}},
///         "rules": [{"operations": ["*"], "apiGroups": ["apps"], "apiVersions": ["v1"], "resources": ["deployments"]}],
///         "admissionReviewVersions": ["v1"],
///         "sideEffects": "None",
///     }],
/// });
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct AdmissionWebhook {
    port: u16,
    /// The certificate that the API server has to trust, as PEM.
    authority: String,
    reviews: Arc<Mutex<Vec<Review>>>,
    server: AbortHandle,
}

impl AdmissionWebhook {
    /// Starts to serve, with a certificate by an authority of its own.
    pub async fn start() -> Result<Self, Error> {
        let authority = Authority::new("the admission webhooks of a test")?;
        let identity = authority.server("an admission webhook", &["127.0.0.1"])?;
        let reviews = Arc::default();
        let noted = Arc::clone(&reviews);
        // An API server shows no certificate to webhooks unless it is configured to.
        let server = server::start(Some(identity.server_config(None)?), move |request| {
            let noted = Arc::clone(&noted);
            async move { handle(&noted, request).await }
        });
        let (port, server) = server.await?;
        Ok(Self { port, authority: authority.certificate().to_owned(), reviews, server })
    }

    /// The `clientConfig` that leads an API server to the hook at `path`, for a `ValidatingWebhookConfiguration` or a
    /// `MutatingWebhookConfiguration`.
    pub fn client_config(&self, path: &str) -> Value {
        json!({
            "url": format!("https://127.0.0.1:{}/{}", self.port, path.trim_start_matches('/')),
            "caBundle": ByteString(self.authority.as_bytes().to_vec()),
        })
    }

    /// The reviews until now, in the order in which they arrived. A write whose response has come has had its reviews.
    pub fn reviews(&self) -> Vec<Review> {
        lock(&self.reviews).clone()
    }
}

impl Drop for AdmissionWebhook {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// Responds to one request, and keeps the review. An error, which is a request that broke off, closes the connection.
async fn handle(
    reviews: &Mutex<Vec<Review>>,
    request: Request<Incoming>,
) -> hyper::Result<Response<Full<Bytes>>> {
    let path = request.uri().path().to_owned();
    let body = request.into_body().collect().await?.to_bytes();
    Ok(match review::answer(&path, &body) {
        Ok((review, document)) => {
            // Before the response, so that the review is there when the response is.
            lock(reviews).push(review);
            server::response(StatusCode::OK, "application/json", document.to_string())
        }
        Err(error) => {
            let text = format!("no AdmissionReview: {error}");
            server::response(StatusCode::BAD_REQUEST, "text/plain", text)
        }
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use kube::{Client, Config, config::KubeConfigOptions};

    use super::*;
    use crate::poll;

    /// Knows the server by a hook's `clientConfig` and nothing else, as an API server does.
    async fn client(webhook: &AdmissionWebhook) -> Client {
        let hook = webhook.client_config("/");
        let kubeconfig = json!({
            "clusters": [{
                "name": "webhook",
                "cluster": {"server": hook["url"], "certificate-authority-data": hook["caBundle"]},
            }],
            "contexts": [{"name": "webhook", "context": {"cluster": "webhook", "user": "nobody"}}],
            "users": [{"name": "nobody", "user": {}}],
            "current-context": "webhook",
        });
        let kubeconfig = serde_json::from_value(kubeconfig).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        Client::try_from(config).unwrap()
    }

    async fn post(client: &Client, path: &str, body: &str) -> kube::Result<Value> {
        client.request(Request::post(path).body(body.as_bytes().to_vec()).unwrap()).await
    }

    fn code(answer: &kube::Result<Value>) -> Option<u16> {
        match answer {
            Err(kube::Error::Api(status)) => Some(status.code),
            _ => None,
        }
    }

    #[tokio::test]
    async fn a_hook_is_found_and_trusted_by_its_client_config_and_remembers_what_it_was_asked() {
        let webhook = AdmissionWebhook::start().await.unwrap();
        let client = client(&webhook).await;
        for (path, name, allowed) in [("/any?timeout=10s", "a", true), ("/deny", "b", false)] {
            let question = review::question("CREATE", name).to_string();
            let answer = post(&client, path, &question).await.unwrap();
            assert_eq!(answer["response"]["allowed"], allowed, "{path}: {answer}");
        }
        let asked: Vec<_> =
            webhook.reviews().into_iter().map(|review| (review.path, review.name.unwrap())).collect();
        let expected = [("/any", "a"), ("/deny", "b")].map(|(path, name)| (path.to_owned(), name.to_owned()));
        assert_eq!(asked, expected);
    }

    #[tokio::test]
    async fn what_is_no_review_is_a_bad_request_and_not_remembered() {
        let webhook = AdmissionWebhook::start().await.unwrap();
        let client = client(&webhook).await;
        let beta = review::question("CREATE", "a").to_string().replace("k8s.io/v1", "k8s.io/v1beta1");
        for body in ["", "no JSON", "{}", &beta] {
            let answer = post(&client, "/any", body).await;
            assert_eq!(code(&answer), Some(400), "{body}: {answer:?}");
        }
        assert_eq!(webhook.reviews(), []);
    }

    #[tokio::test]
    async fn nothing_responds_once_it_is_dropped_not_even_on_an_open_connection() {
        let webhook = AdmissionWebhook::start().await.unwrap();
        let client = client(&webhook).await;
        let question = review::question("CREATE", "a").to_string();
        post(&client, "/any", &question).await.unwrap();
        drop(webhook);
        // A server is aborted when the runtime comes to it.
        let silent = poll(Duration::from_secs(10), async || match post(&client, "/any", &question).await {
            Ok(answer) => Err(answer),
            Err(_) => Ok(()),
        });
        assert_eq!(silent.await, Ok(()));
    }
}
