//! Admission webhooks behind a real kube-apiserver: what they are asked about a write, and what comes of their answers.

use std::fmt::Debug;

use baton_testbed::{AdmissionWebhook, ControlPlane, Namespace, Review, eventually};
use k8s_openapi::api::{
    admissionregistration::v1::{MutatingWebhookConfiguration, ValidatingWebhookConfiguration},
    authentication::v1::SelfSubjectReview,
    core::v1 as core,
};
use kube::{Api, Client, Resource, ResourceExt, api::PostParams};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

/// A webhook that is asked about Secrets in a namespace of its own. Nobody else creates any there.
struct Guarded {
    webhook: AdmissionWebhook,
    client: Client,
    namespace: Namespace,
}

impl Guarded {
    async fn new(prefix: &str) -> Self {
        let cluster = ControlPlane::shared().await;
        Self {
            webhook: AdmissionWebhook::start().await.unwrap(),
            client: cluster.admin().await.unwrap(),
            namespace: cluster.namespace(prefix).await.unwrap(),
        }
    }

    /// Has the hook at `path` asked by a configuration of this type. What is in `fields` is added to its entry.
    async fn configure<K>(&self, path: &str, fields: Value) -> kube::Result<K>
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Serialize,
    {
        let namespace = self.namespace.name();
        let owner = Api::<core::Namespace>::all(self.client.clone()).get(namespace).await?;
        let mut hook = json!({
            "name": "secrets.webhook.test",
            "clientConfig": self.webhook.client_config(path),
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "rules": [{
                "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["secrets"],
            }],
            "admissionReviewVersions": ["v1"],
        });
        hook.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let configuration = json!({
            // Where the namespace goes, it goes too, even if the test panics.
            "metadata": {"name": namespace, "ownerReferences": [owner.owner_ref(&()).unwrap()]},
            "webhooks": [hook],
        });
        let configuration = serde_json::from_value(configuration).unwrap();
        Api::all(self.client.clone()).create(&PostParams::default(), &configuration).await
    }

    /// Who writes, as the API server sees it.
    async fn user(&self) -> Option<String> {
        let reviews = Api::all(self.client.clone());
        let review = reviews.create(&PostParams::default(), &SelfSubjectReview::default()).await.unwrap();
        review.status?.user_info?.username
    }

    async fn create(&self, name: &str, dry_run: bool) -> kube::Result<core::Secret> {
        let secrets = Api::namespaced(self.client.clone(), self.namespace.name());
        let secret = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
        secrets.create(&PostParams { dry_run, ..PostParams::default() }, &secret).await
    }

    /// Repeats a dry run until the webhook is asked, and returns the answer to that one.
    async fn first_asked(&self, name: &str) -> kube::Result<core::Secret> {
        eventually("the webhook to be asked", async || {
            let answer = self.create(name, true).await;
            if self.webhook.reviews().is_empty() { Err(answer) } else { Ok(answer) }
        })
        .await
    }
}

fn refusal<T: Debug>(answer: kube::Result<T>) -> (u16, String) {
    match answer {
        Err(kube::Error::Api(status)) => (status.code, status.message.clone()),
        other => panic!("this should be refused: {other:?}"),
    }
}

#[tokio::test]
async fn a_configuration_has_to_declare_that_a_dry_run_is_without_side_effects() {
    let guarded = Guarded::new("side-effects").await;
    for (declared, found) in [(json!({"sideEffects": "Some"}), "Some"), (json!({}), "")] {
        let answer = guarded.configure::<ValidatingWebhookConfiguration>("/validate", declared).await;
        let (code, message) = refusal(answer);
        assert_eq!(code, 422, "{message}");
        let reason = format!(
            r#"webhooks[0].sideEffects: Unsupported value: "{found}": supported values: "None", "NoneOnDryRun""#
        );
        assert!(message.ends_with(&reason), "wanted: {reason}\n   got: {message}");
    }
}

#[tokio::test]
async fn a_webhook_is_told_which_of_its_questions_are_dry_runs() {
    let guarded = Guarded::new("dry-run").await;
    let user = guarded.user().await.unwrap();
    let declared = json!({"sideEffects": "NoneOnDryRun"});
    guarded.configure::<ValidatingWebhookConfiguration>("/validate", declared).await.unwrap();
    guarded.first_asked("a").await.unwrap();
    guarded.create("a", false).await.unwrap();
    let review = |dry_run| Review {
        path: "/validate".to_owned(),
        operation: "CREATE".to_owned(),
        kind: "Secret".to_owned(),
        namespace: Some(guarded.namespace.name().to_owned()),
        name: Some("a".to_owned()),
        dry_run: Some(dry_run),
        user: user.clone(),
    };
    assert_eq!(guarded.webhook.reviews(), [review(true), review(false)]);
}

#[tokio::test]
async fn a_mutation_is_seen_in_the_answer_to_a_dry_run_and_in_what_is_kept() {
    let guarded = Guarded::new("mutate").await;
    let declared = json!({"sideEffects": "None"});
    guarded.configure::<MutatingWebhookConfiguration>("/mutate", declared).await.unwrap();
    let predicted = guarded.first_asked("a").await.unwrap();
    let kept = guarded.create("a", false).await.unwrap();
    for secret in [predicted, kept] {
        let touched = secret.annotations().get("webhook.test/touched");
        assert_eq!(touched.map(String::as_str), Some("true"), "{secret:?}");
    }
}

#[tokio::test]
async fn a_denial_reaches_whoever_writes_with_the_reason_for_it() {
    let guarded = Guarded::new("deny").await;
    let declared = json!({"sideEffects": "None"});
    guarded.configure::<ValidatingWebhookConfiguration>("/deny", declared).await.unwrap();
    let (code, message) = refusal(guarded.first_asked("a").await);
    assert_eq!(code, 400);
    let reason =
        r#"admission webhook "secrets.webhook.test" denied the request: the hook at /deny denies everything"#;
    assert_eq!(message, reason);
}
