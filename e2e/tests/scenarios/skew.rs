//! Under a newer CRD, the operator reports what it can't read, and reconciles the rest. Under an older one, it writes nothing.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use baton_controller::decide::child::ChildKind;
use baton_crd::Workload;
use baton_e2e::{Environment, Operator, OperatorOptions, web};
use baton_testbed::{Action, Cluster, Proxy, RequestInfo, eventually};
use k8s_openapi::{
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::apis::meta::v1::Condition,
};
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams, PostParams},
    core::{ApiResource, DynamicObject},
    runtime::wait::await_condition,
};
use serde_json::{Value, json};

pub async fn a_workload_that_this_version_cannot_read_is_reported_and_hides_no_other(cluster: &Cluster) {
    let client = cluster.admin().await.unwrap();
    // The first write of the report fails, and is retried.
    let was_refused = Arc::new(AtomicBool::new(false));
    let is_refused = was_refused.clone();
    let proxy = Proxy::start(cluster, move |request| {
        let is_first = request.path.ends_with("/newer/status") && !is_refused.swap(true, Ordering::Relaxed);
        if is_first { Action::fail(503, "ServiceUnavailable", "not today") } else { Action::Forward }
    });
    let proxy = proxy.await.unwrap();
    let options = OperatorOptions::by_way_of(&proxy);
    let _operator = Operator::start(cluster, options).await.unwrap();

    let at = |path: &str| format!("/spec/versions/0/schema/openAPIV3Schema/properties/{path}");
    let open: json_patch::Patch = serde_json::from_value(json!([
        {"op": "remove", "path": at("spec/properties/mode/enum")},
        {"op": "add", "path": at("spec/properties/newer"), "value": {"type": "string"}},
        {"op": "add", "path": at("spec/properties/template/properties/spec/properties/newer"), "value": {"type": "string"}},
        {"op": "remove", "path": at("status/properties/children/items/properties/state/enum")},
        {"op": "remove", "path": at("status/properties/replicaOwnership/properties/phase/enum")},
    ]))
    .unwrap();
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    crds.patch("workloads.baton.rs", &PatchParams::default(), &Patch::Json::<()>(open)).await.unwrap();

    let workloads: Api<DynamicObject> =
        Api::default_namespaced_with(client, &ApiResource::erase::<Workload>(&()));
    let mut newer = web(&json!({"mode": "Dream"}));
    newer["metadata"]["name"] = json!("newer");
    for workload in [newer, web(&json!({"replicas": 1}))] {
        // The API server takes a moment to see the changed CRD.
        let created = async || {
            workloads.create(&PostParams::default(), &serde_json::from_value(workload.clone()).unwrap()).await
        };
        while let Err(error) = created().await {
            assert!(error.to_string().contains("Unsupported value"), "{error}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    let has = |type_: &'static str, status: &'static str| {
        move |workload: Option<&DynamicObject>| {
            let conditions = workload.and_then(|workload| workload.data["status"]["conditions"].as_array());
            conditions.is_some_and(|conditions| {
                conditions.iter().any(|condition| condition["type"] == type_ && condition["status"] == status)
            })
        }
    };
    let limit = Duration::from_mins(1);
    let web = tokio::time::timeout(limit, await_condition(workloads.clone(), "web", has("Ready", "True")));
    web.await.unwrap().unwrap();
    let newer =
        tokio::time::timeout(limit, await_condition(workloads.clone(), "newer", has("Applied", "False")));
    let newer = newer.await.unwrap().unwrap().unwrap();
    let condition = |workload: &DynamicObject, type_: &str| {
        let conditions = workload.data["status"]["conditions"].as_array().unwrap();
        conditions.iter().find(|condition| condition["type"] == type_).cloned().unwrap()
    };
    let applied = condition(&newer, "Applied");
    assert!(was_refused.load(Ordering::Relaxed), "the first write of the report has failed");
    assert_eq!(applied["reason"], "Undecodable");
    assert!(applied["message"].as_str().unwrap().contains("Dream"), "{applied}");
    assert_eq!(condition(&newer, "Ready")["status"], "Unknown", "no condition would mean that it is ready");

    // It is reported once.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let later = workloads.get("newer").await.unwrap();
    assert_eq!(later.resource_version(), newer.resource_version());

    let merge = async |patch: Value, subresource: Option<&str>| {
        let (params, patch) = (PatchParams::default(), Patch::Merge(patch));
        match subresource {
            None => workloads.patch("web", &params, &patch).await.unwrap(),
            Some(_) => workloads.patch_status("web", &params, &patch).await.unwrap(),
        }
    };
    // A status of another version is replaced.
    let ownership = json!({"phase": "Newer", "owner": "baton", "value": 1, "since": "2026-01-02T03:04:05Z"});
    let child = json!({"kind": "Deployment", "name": "web", "apiVersion": "apps/v1", "state": "Dreaming"});
    merge(json!({"status": {"replicaOwnership": ownership, "children": [child]}}), Some("status")).await;
    eventually("a status that can be read", async || {
        let status = workloads.get("web").await.unwrap().data["status"].clone();
        let is_own =
            status["children"][0]["state"] == "Applied" && status["replicaOwnership"]["phase"] == "Fixed";
        if is_own { Ok(()) } else { Err(status) }
    })
    .await;

    // The rest of the status stays while the spec can't be read, here because of a field outside the template.
    let known = merge(json!({"spec": {"newer": "yes"}}), None).await;
    let unread =
        tokio::time::timeout(limit, await_condition(workloads.clone(), "web", has("Applied", "False")));
    let unread = unread.await.unwrap().unwrap().unwrap();
    assert!(condition(&unread, "Applied")["message"].as_str().unwrap().contains("unknown field `newer`"));
    assert_eq!(condition(&unread, "Ready")["status"], "Unknown");
    for field in ["replicas", "readyReplicas", "selector", "children"] {
        assert_eq!(unread.data["status"][field], known.data["status"][field], "{field}");
    }

    // An unknown field in the template is passed on. The API server of this test refuses it in a Deployment.
    merge(json!({"spec": {"newer": null, "template": {"spec": {"newer": "yes"}}}}), None).await;
    eventually("the API server's refusal", async || {
        let workload = workloads.get("web").await.unwrap();
        let applied = condition(&workload, "Applied");
        let message = applied["message"].as_str().unwrap();
        if applied["reason"] == "Rejected" && message.contains("newer") { Ok(()) } else { Err(applied) }
    })
    .await;
}

/// The API server drops what an older CRD lacks from all Workloads at once, and for good from each that is written. Nothing is
/// written until the CRD is complete again; then everything is as before.
pub async fn under_an_older_crd_nothing_is_written(cluster: &Cluster) {
    let skewed = Older::start(cluster, "older", |_| Action::Forward).await;
    let before = skewed.objects().await;
    let mark = skewed.env.mark();

    skewed.make_older().await;
    skewed.is_unready("older than this operator").await;
    // The message names the missing field.
    skewed.env.event(&["OutdatedCRD", ".spec.service"]).await;
    assert_eq!(skewed.crd_usable().await, 0);
    let touched = Patch::Merge(json!({"metadata": {"labels": {"touched": "yes"}}}));
    skewed.env.edit_as("user", ChildKind::Deployment, &touched).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    let sent = skewed.env.requests_since(mark).writes();
    let written: Vec<_> = sent.iter().filter(|entry| entry.resource.as_deref() != Some("events")).collect();
    assert!(written.is_empty(), "{written:#?}");

    skewed.make_complete().await;
    skewed.env.operator().wait_until_ready().await.unwrap();
    assert_eq!(skewed.crd_usable().await, 1);
    assert_eq!(skewed.objects().await, before, "the Workload's spec and the uid of its Service");
    skewed.scale(2).await;
    skewed.env.has_replicas(2).await;
    assert_eq!(skewed.objects().await.1, before.1, "the Service is the same");
    assert_eq!(skewed.env.event_objects("OutdatedCRD").await.len(), 1);
}

/// A Workload that is written under an older CRD loses its Service for good. That isn't what its author wants: the Service stays,
/// also after other edits and restarts, until the manifest is applied again.
pub async fn a_spec_that_was_stored_under_an_older_crd_is_held(cluster: &Cluster) {
    let skewed = Older::start(cluster, "lost", |_| Action::Forward).await;
    let (spec, service) = skewed.objects().await;
    // The watch of Workloads goes on, as it may on a real control plane.
    skewed.replace(&skewed.older()).await;
    skewed.scale(2).await;
    skewed.is_unready("older than this operator").await;
    skewed.env.operator().stop().await.unwrap();
    let operator = skewed.start_unready().await;
    skewed.make_complete().await;
    let is_reported = async || {
        let workload = skewed.env.workload().await;
        assert!(workload.spec.service.is_none(), "the server has dropped it");
        let conditions = workload.status.unwrap_or_default().conditions;
        let is_lost = |one: &Condition| {
            one.type_ == "Applied" && one.reason == "SpecLost" && one.message.contains(".spec.service")
        };
        if conditions.iter().any(is_lost) { Ok(()) } else { Err(conditions) }
    };
    eventually("the loss to be reported", is_reported).await;
    skewed.env.event(&["SpecLost", "Apply the manifest again"]).await;
    skewed.scale(3).await;

    operator.stop().await.unwrap();
    let _operator = skewed.env.start_operator(skewed.options.clone()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(skewed.objects().await.1, service, "the Service is the same");
    is_reported().await.unwrap();

    skewed.env.merge(&json!({"spec": spec})).await;
    skewed.env.condition("Applied", "True").await;
    assert_eq!(skewed.objects().await, (spec, service));
}

/// A creator may name any owners of fields, and admission may remove a field without its owner. Nothing was lost.
pub async fn a_spec_that_never_had_what_managed_fields_name_is_applied(cluster: &Cluster) {
    let mut env = Environment::start(cluster, "never-had").await;
    let mut workload = web(&json!({"replicas": 1}));
    workload["metadata"]["managedFields"] = json!([{
        "manager": "backup", "operation": "Update", "apiVersion": "baton.rs/v1alpha1", "fieldsType": "FieldsV1",
        "time": "2026-01-02T03:04:05Z",
        "fieldsV1": {"f:spec": {"f:replicas": {}, "f:template": {}, "f:service": {"f:ports": {}}}},
    }]);
    env.workloads().create(&PostParams::default(), &serde_json::from_value(workload).unwrap()).await.unwrap();
    for replicas in [2, 3] {
        env.merge(&json!({"spec": {"replicas": replicas}})).await;
        env.condition("Applied", "True").await;
        let workload = env.workload().await;
        let entries = workload.managed_fields().iter();
        let fields: Vec<_> = entries.filter_map(|entry| Some(entry.fields_v1.clone()?.0)).collect();
        assert!(fields.iter().any(|fields| fields["f:spec"].get("f:service").is_some()), "{fields:?}");
        env.restart().await;
    }
}

/// A server that is starting or overloaded doesn't show its schemas: Baton waits.
pub async fn while_the_crd_cannot_be_read_nothing_is_written(cluster: &Cluster) {
    for code in [429, 500, 503] {
        let is_failing = Arc::new(AtomicBool::new(false));
        let fails = is_failing.clone();
        let skewed = Older::start(cluster, &format!("unread-{code}"), move |request| {
            if request.path == "/openapi/v3" && fails.load(Ordering::Relaxed) {
                Action::fail(code, "Failure", "not today")
            } else {
                Action::Forward
            }
        })
        .await;
        let before = skewed.objects().await;
        is_failing.store(true, Ordering::Relaxed);
        skewed.make_older().await;
        skewed.is_unready("can't read the schema of Workloads").await;
        assert_eq!(skewed.crd_usable().await, 0, "{code}");
        assert_eq!(skewed.objects().await.1, before.1, "{code}: the Service is there");

        // The same at a start.
        skewed.env.operator().stop().await.unwrap();
        let operator = skewed.start_unready().await;
        tokio::time::sleep(Duration::from_secs(15)).await;
        let (ready, body) = operator.readiness().await.unwrap();
        let logs = operator.logs();
        assert!(ready == 503 && logs.contains("not today"), "{code}: {body}\n{logs}");
        assert_eq!(skewed.objects().await.1, before.1, "{code}: the Service is still there");

        skewed.make_complete().await;
        is_failing.store(false, Ordering::Relaxed);
        operator.wait_until_ready().await.unwrap();
        assert_eq!(skewed.objects().await, before, "{code}");
    }
}

/// A Workload with a Service, under a CRD that can lose `spec.service`.
struct Older {
    env: Environment,
    options: OperatorOptions,
    crds: Api<CustomResourceDefinition>,
    complete: CustomResourceDefinition,
    /// Whether the next watch of Workloads can't be resumed. That is so on a real control plane after each change of the CRD.
    is_changed: Arc<AtomicBool>,
    _proxy: Proxy,
}

impl Older {
    async fn start(
        cluster: &Cluster,
        name: &str,
        rules: impl Fn(&RequestInfo) -> Action + Send + Sync + 'static,
    ) -> Self {
        let is_changed = Arc::new(AtomicBool::new(false));
        let changed = is_changed.clone();
        let rules = move |request: &RequestInfo| {
            let is_watch = request.is_watch() && request.path.ends_with("/workloads");
            if is_watch && changed.swap(false, Ordering::Relaxed) {
                Action::gone_event()
            } else {
                rules(request)
            }
        };
        let proxy = Proxy::start(cluster, rules).await.unwrap();
        let options =
            OperatorOptions { name: Some(format!("baton-{name}")), ..OperatorOptions::by_way_of(&proxy) };
        let env = Environment::start_with(cluster, name, options.clone()).await;
        let crds: Api<CustomResourceDefinition> = Api::all(env.client.clone());
        let complete = crds.get("workloads.baton.rs").await.unwrap();
        let web = web(&json!({"replicas": 1, "service": {"ports": [{"port": 80}]}}));
        env.workloads().create(&PostParams::default(), &serde_json::from_value(web).unwrap()).await.unwrap();
        env.condition("Applied", "True").await;
        Self { env, options, crds, complete, is_changed, _proxy: proxy }
    }

    /// Starts another operator, which may not be ready.
    async fn start_unready(&self) -> Operator {
        self.env.start_operator(OperatorOptions { unready: true, ..self.options.clone() }).await.unwrap()
    }

    async fn scale(&self, replicas: i32) {
        self.env.merge(&json!({"spec": {"replicas": replicas}})).await;
    }

    /// The CRD without the Service, and without the rule about it.
    fn older(&self) -> Value {
        let mut spec = self.complete();
        let schema = &mut spec["versions"][0]["schema"]["openAPIV3Schema"];
        schema["properties"]["spec"]["properties"].as_object_mut().unwrap().remove("service").unwrap();
        let rules = schema["x-kubernetes-validations"].as_array_mut().unwrap();
        rules.retain(|rule| !rule["rule"].as_str().unwrap().contains("self.spec.service"));
        spec
    }

    fn complete(&self) -> Value {
        serde_json::to_value(&self.complete.spec).unwrap()
    }

    async fn make_older(&self) {
        self.is_changed.store(true, Ordering::Relaxed);
        self.replace(&self.older()).await;
    }

    async fn make_complete(&self) {
        self.is_changed.store(true, Ordering::Relaxed);
        self.replace(&self.complete()).await;
    }

    /// Waits until the operator reports with this text that it isn't ready.
    async fn is_unready(&self, text: &str) {
        eventually("readiness to report it", async || match self.env.operator().readiness().await {
            Some((503, body)) if body.contains(text) => Ok(()),
            other => Err(other),
        })
        .await;
    }

    async fn replace(&self, spec: &Value) {
        let spec = Patch::Merge(json!({"spec": spec}));
        self.crds.patch("workloads.baton.rs", &PatchParams::default(), &spec).await.unwrap();
        // The API server takes a moment to serve Workloads by the changed CRD.
        tokio::time::sleep(Duration::from_secs(2)).await;
    }

    /// The spec of the Workload, and the uid of its Service.
    async fn objects(&self) -> (Value, Option<String>) {
        let service = self.env.child(ChildKind::Service).await;
        (serde_json::to_value(self.env.workload().await.spec).unwrap(), service.and_then(|one| one.uid()))
    }

    async fn crd_usable(&self) -> u64 {
        self.env.operator().metrics().await.unwrap().count("baton_crd_usable", &[])
    }
}
