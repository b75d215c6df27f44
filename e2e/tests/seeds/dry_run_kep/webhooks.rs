//! Dry runs in the reviews of webhooks, and what webhooks have to declare about them.

use baton_e2e::{
    scenario::{Subject, builtin::SERVICE_ACCOUNT},
    scenario_list,
};
use baton_testbed::{AdmissionWebhook, PATIENCE, Review, poll};
use hyper::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, api::PostParams};
use serde_json::{Value, json};

scenario_list! {
    only real, because "of a webhook":
    a_mutating_webhook_changes_a_dry_run, a_validating_webhook_denies_a_dry_run,
    a_webhook_has_to_declare_that_dry_runs_are_safe, both_declarations_allow_dry_runs,
    a_webhook_with_side_effects_stops_dry_runs, a_review_says_whether_the_request_is_a_dry_run,
    a_request_that_is_no_dry_run_may_be_refused_later;
}

const VALIDATING: &str = "ValidatingWebhookConfiguration";
pub const MUTATING: &str = "MutatingWebhookConfiguration";

/// A configuration that registers the webhook at `path` for objects of the scenario.
fn configuration(s: &Subject, webhook: &AdmissionWebhook, kind: &str, path: &str) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": s.namespace()},
        "webhooks": [{
            "name": "dry-run.webhook.test",
            "clientConfig": webhook.client_config(path),
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": s.namespace()}},
            "rules": [{"operations": ["*"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
            "admissionReviewVersions": ["v1"],
        }],
    })
}

async fn register(s: &Subject, configuration: &Value) -> kube::Result<Value> {
    let plural = format!("{}s", configuration["kind"].as_str().unwrap().to_lowercase());
    let uri = format!("/apis/admissionregistration.k8s.io/v1/{plural}?fieldValidation=Strict");
    s.server()
        .client()
        .request(Request::post(uri).body(configuration.to_string().into_bytes()).unwrap())
        .await
}

/// A dry run of a creation, of an object that isn't the subject.
async fn probe(s: &Subject) -> kube::Result<ConfigMap> {
    let objects: Api<ConfigMap> = Api::namespaced(s.server().client().clone(), s.namespace());
    let object = serde_json::from_value(json!({"metadata": {"name": "probe"}})).unwrap();
    objects.create(&PostParams { dry_run: true, ..PostParams::default() }, &object).await
}

/// Registers a webhook with this declaration, and waits until the server calls it.
pub async fn install(s: &Subject, webhook: &AdmissionWebhook, kind: &str, path: &str, declared: &str) {
    let mut configuration = configuration(s, webhook, kind, path);
    configuration["webhooks"][0]["sideEffects"] = json!(declared);
    register(s, &configuration).await.unwrap();
    let is_called = poll(PATIENCE, async || {
        let response = probe(s).await;
        if webhook.reviews().iter().any(|review| review.path == path) { Ok(()) } else { Err(response) }
    });
    is_called
        .await
        .unwrap_or_else(|response| panic!("the server doesn't call {path}; last response: {response:?}"));
}

/// The calls of a webhook about the subject: the path, the operation, and whether it is a dry run.
fn calls(s: &Subject, webhook: &AdmissionWebhook) -> Vec<(String, String, Option<bool>)> {
    let about_subject = |review: &Review| {
        let object = (review.namespace.as_deref(), review.kind.as_str(), review.name.as_deref());
        object == (Some(s.namespace()), "ConfigMap", Some(s.name())) && review.user == "baton-testbed:admin"
    };
    let reviews = webhook.reviews().into_iter().filter(about_subject);
    reviews.map(|review| (review.path, review.operation, review.dry_run)).collect()
}

async fn a_mutating_webhook_changes_a_dry_run(s: &mut Subject) {
    let webhook = AdmissionWebhook::start().await.unwrap();
    install(s, &webhook, MUTATING, "/mutate", "None").await;
    let created =
        s.rehearse(|s| s.create_as("me", "data: {key: a}").admission_adds(".metadata.annotations")).await;
    created.dry_run.expect(".metadata.annotations", "{webhook.test/touched: 'true'}");
    s.named("other").await;
    s.rehearse(|s| s.apply_as("me", "data: {key: a}").admission_adds(".metadata.annotations")).await;
    s.expect(".metadata.annotations", "{webhook.test/touched: 'true'}");
}

async fn a_validating_webhook_denies_a_dry_run(s: &mut Subject) {
    s.create_as("me", "data: {key: a}").await;
    let webhook = AdmissionWebhook::start().await.unwrap();
    install(s, &webhook, VALIDATING, "/deny", "None").await;
    let message = "denied the request: the hook at /deny denies everything";
    s.rehearse(|s| s.create_as("me", "data: {key: a}").is_refused(400, message)).await;
    s.rehearse(|s| s.update_as("me", "data: {key: b}").is_refused(400, message)).await;
    s.rehearse(|s| s.apply_as("me", "data: {other: b}").is_refused(400, message)).await;
    s.rehearse(|s| s.delete().is_refused(400, message)).await;
    s.expect(".data", "{key: a}");
}

async fn a_webhook_has_to_declare_that_dry_runs_are_safe(s: &mut Subject) {
    let webhook = AdmissionWebhook::start().await.unwrap();
    for kind in [VALIDATING, MUTATING] {
        let mut configuration = configuration(s, &webhook, kind, "/any");
        let mut refusal = async |field: &str, value: Value| {
            configuration["webhooks"][0][field] = value;
            match register(s, &configuration).await {
                Err(kube::Error::Api(status)) => (status.code, status.message.clone()),
                other => panic!("this should be refused: {other:?}"),
            }
        };
        let unsupported = |value: &str| {
            format!(r#"Unsupported value: "{value}": supported values: "None", "NoneOnDryRun""#)
        };
        for (declared, problem) in [
            (Value::Null, "Required value: must specify one of None, NoneOnDryRun".to_owned()),
            (json!("Some"), unsupported("Some")),
            (json!("Unknown"), unsupported("Unknown")),
        ] {
            let (code, message) = refusal("sideEffects", declared).await;
            let wanted = format!("webhooks[0].sideEffects: {problem}");
            assert!(code == 422 && message.ends_with(&wanted), "{code}: {message}");
        }
        let (code, message) = refusal("dryRunnable", json!(true)).await;
        assert!(
            code == 400 && message.contains(r#"unknown field "webhooks[0].dryRunnable""#),
            "{code}: {message}"
        );
    }
}

async fn both_declarations_allow_dry_runs(s: &mut Subject) {
    let webhook = AdmissionWebhook::start().await.unwrap();
    install(s, &webhook, VALIDATING, "/validate", "None").await;
    install(s, &webhook, MUTATING, "/any", "NoneOnDryRun").await;
    s.create_as("me", "data: {key: a}").dry_run().await;
    let created = |path: &str| (path.to_owned(), "CREATE".to_owned(), Some(true));
    assert_eq!(calls(s, &webhook), ["/any", "/validate"].map(created));
}

async fn a_webhook_with_side_effects_stops_dry_runs(s: &mut Subject) {
    let webhook = AdmissionWebhook::start().await.unwrap();
    // As a release before 1.22 stored it.
    let mut old = configuration(s, &webhook, VALIDATING, "/any");
    old["metadata"]["uid"] = json!("5d1f7f6e-3b3e-4d2f-9a51-0c4f5b1f0a1e");
    let hook = old["webhooks"][0].as_object_mut().unwrap();
    hook.extend([
        ("sideEffects".to_owned(), json!("Some")),
        ("failurePolicy".to_owned(), json!("Fail")),
        ("matchPolicy".to_owned(), json!("Equivalent")),
        ("objectSelector".to_owned(), json!({})),
        ("timeoutSeconds".to_owned(), json!(10)),
    ]);
    hook["rules"][0]["scope"] = json!("*");
    let key = format!("validatingwebhookconfigurations/{}", s.namespace());
    s.server().cluster().real().put_into_etcd(&key, &old).await.unwrap();
    let is_in_force = poll(PATIENCE, async || match probe(s).await {
        Err(error) => Ok(error),
        Ok(_) => Err("the dry run isn't refused"),
    });
    is_in_force.await.unwrap();

    let message = r#"admission webhook "dry-run.webhook.test" does not support dry run"#;
    let refused = s.create_as("me", "data: {key: a}").dry_run().is_refused(400, message).await;
    refused.expect(".reason", "BadRequest");
    assert_eq!(webhook.reviews(), []);
    s.create_as("me", "data: {key: a}").await;
    assert_eq!(calls(s, &webhook), [("/any".to_owned(), "CREATE".to_owned(), Some(false))]);
    s.apply_as("you", "data: {other: a}").dry_run().is_refused(400, message).await;
    s.delete().dry_run().is_refused(400, message).await;
    assert_eq!(webhook.reviews().len(), 1);
    // Dry runs that don't match the webhook still work.
    s.of(SERVICE_ACCOUNT).await;
    s.create_as("me", "automountServiceAccountToken: false").dry_run().creates().await;
}

async fn a_review_says_whether_the_request_is_a_dry_run(s: &mut Subject) {
    let webhook = AdmissionWebhook::start().await.unwrap();
    install(s, &webhook, VALIDATING, "/validate", "NoneOnDryRun").await;
    s.rehearse(|s| s.create_as("me", "data: {key: a}")).await;
    s.rehearse(|s| s.update_as("me", "data: {key: b}")).await;
    s.rehearse(|s| s.apply_as("you", "data: {other: b}")).await;
    s.rehearse(Subject::delete).await;
    let review = |operation: &str, dry_run| ("/validate".to_owned(), operation.to_owned(), Some(dry_run));
    let expected: Vec<_> = ["CREATE", "UPDATE", "UPDATE", "DELETE"]
        .into_iter()
        .flat_map(|operation| [review(operation, true), review(operation, false)])
        .collect();
    assert_eq!(calls(s, &webhook), expected);
}

async fn a_request_that_is_no_dry_run_may_be_refused_later(s: &mut Subject) {
    let webhook = AdmissionWebhook::start().await.unwrap();
    install(s, &webhook, MUTATING, "/any", "None").await;
    install(s, &webhook, VALIDATING, "/deny", "None").await;
    s.create_as("me", "data: {key: a}").is_refused(400, "denied the request").await;
    let created = |path: &str| (path.to_owned(), "CREATE".to_owned(), Some(false));
    assert_eq!(calls(s, &webhook), ["/any", "/deny"].map(created));
}
