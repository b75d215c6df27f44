//! The steps of most scenarios: an operator in a namespace, its Workload `web`, and ways to act and to wait that read like sentences.
//!
//! All of it ends the scenario when it fails.
#![expect(clippy::missing_panics_doc, clippy::unwrap_used, reason = "a failure ends the scenario")]

use std::time::Duration;

use baton_apply::LiveObject;
use baton_controller::decide::child::ChildKind;
use baton_crd::{HandoverPhase, ReplicaOwnership, Workload};
use baton_testbed::{AuditEntries, Cluster, Mark, eventually};
use k8s_openapi::{api::events::v1::Event, apimachinery::pkg::apis::meta::v1::Condition};
use kube::{
    Api,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    core::DynamicObject,
};
use serde_json::{Value, json};

use super::{Environment, web};
use crate::{End, Operator, OperatorOptions};

/// Effects of a write come sooner: an operator that does nothing for this long has nothing to do.
const MOMENT: Duration = Duration::from_millis(300);

impl Environment {
    /// A new namespace with an operator that watches it.
    pub async fn start(cluster: &Cluster, name: &str) -> Self {
        Self::start_with(cluster, name, OperatorOptions::default()).await
    }

    /// As [`start`](Self::start), with an operator without predictions, which sends every apply in each pass: to see the
    /// effect of an apply that should change nothing.
    pub async fn start_sending(cluster: &Cluster, name: &str) -> Self {
        Self::start_with(cluster, name, OperatorOptions::with_flags("--predict false")).await
    }

    /// As [`start`](Self::start), with these options of the operator.
    pub async fn start_with(cluster: &Cluster, name: &str, options: OperatorOptions) -> Self {
        let mut environment = Self::new(cluster, name).await.unwrap();
        environment.operator = Some(environment.start_operator(options.clone()).await.unwrap());
        environment.options = options;
        environment
    }

    /// The operator, unless the scenario starts its operators itself.
    pub fn operator(&self) -> &Operator {
        self.operator.as_ref().unwrap()
    }

    /// Ends the operator as a rollout does, and starts it again as the same user.
    pub async fn restart(&mut self) {
        assert_eq!(self.operator().stop().await.unwrap(), End::Success);
        self.operator = Some(self.start_operator(self.options.clone()).await.unwrap());
    }

    /// The Workloads of the namespace.
    pub fn workloads(&self) -> Api<Workload> {
        self.api()
    }

    /// The children of a kind.
    pub fn children(&self, kind: ChildKind) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), self.ns(), &kind.api_resource())
    }

    /// Applies the Workload `web` with one container and this on top of its spec, as a user.
    pub async fn apply(&self, spec: &Value) -> Workload {
        self.apply_as("user", &web(spec)).await.unwrap()
    }

    /// As [`apply`](Self::apply), and waits until this condition is true.
    pub async fn apply_until(&self, condition: &str, spec: &Value) {
        self.apply(spec).await;
        self.condition(condition, "True").await;
    }

    /// Changes the Workload `web` by a merge patch.
    pub async fn merge(&self, change: &Value) -> Workload {
        self.workloads().patch("web", &PatchParams::default(), &Patch::Merge(change)).await.unwrap()
    }

    /// Applies a Workload with a child of every kind, and waits until all are applied.
    pub async fn apply_with_every_child(&self) {
        let spec = json!({
            "service": {"ports": [{"port": 80}]},
            "autoscaling": {"minReplicas": 1, "maxReplicas": 2},
            "disruptionBudget": {"minAvailable": 1},
        });
        self.apply_until("Applied", &spec).await;
    }

    /// The Workload `web`.
    pub async fn workload(&self) -> Workload {
        self.workloads().get("web").await.unwrap()
    }

    /// A child of `web`, if it exists.
    pub async fn child(&self, kind: ChildKind) -> Option<DynamicObject> {
        self.children(kind).get_opt("web").await.unwrap()
    }

    /// The child as the operator sees it.
    pub async fn live(&self, kind: ChildKind) -> LiveObject {
        let api: Api<LiveObject> = Api::namespaced_with(self.client.clone(), self.ns(), &kind.api_resource());
        api.get("web").await.unwrap()
    }

    /// Writes the Deployment's replica count through its scale subresource, as this manager.
    pub async fn scale_as(&self, manager: &str, replicas: i32) {
        let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
        let scale = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        self.children(ChildKind::Deployment).patch_scale("web", &params, &scale).await.unwrap();
    }

    /// Changes a child by a patch of this manager.
    pub async fn edit_as(&self, manager: &str, kind: ChildKind, patch: &Patch<Value>) -> DynamicObject {
        let params = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
        self.children(kind).patch("web", &params, patch).await.unwrap()
    }

    /// Applies these fields of a child as another manager.
    pub async fn apply_child(&self, params: &PatchParams, kind: ChildKind, fields: &Value) -> DynamicObject {
        let (mut body, resource) = (fields.clone(), kind.api_resource());
        body["apiVersion"] = json!(resource.api_version);
        body["kind"] = json!(resource.kind);
        self.children(kind).patch("web", params, &Patch::Apply(body)).await.unwrap()
    }

    /// Waits until the child exists and this holds for it.
    pub async fn child_where(
        &self,
        what: &str,
        kind: ChildKind,
        holds: impl Fn(&DynamicObject) -> bool,
    ) -> DynamicObject {
        eventually(what, async || match self.child(kind).await {
            Some(child) if holds(&child) => Ok(child),
            seen => Err(seen.map(|seen| seen.data)),
        })
        .await
    }

    /// Waits until a child doesn't exist.
    pub async fn gone(&self, kind: ChildKind) {
        eventually(&format!("{kind} to be gone"), async || match self.child(kind).await {
            None => Ok(()),
            Some(child) => Err(child.metadata),
        })
        .await;
    }

    /// Waits until the Workload reports this phase and this replica count, for its current spec.
    pub async fn phase(&self, phase: HandoverPhase, replicas: i32) -> ReplicaOwnership {
        eventually(&format!("{phase:?} with {replicas} replicas"), async || {
            let workload = self.workload().await;
            let status = workload.status.unwrap_or_default();
            let is_current = status.observed_generation == workload.metadata.generation;
            match status.replica_ownership {
                Some(seen) if is_current && seen.phase == phase && seen.value == replicas => Ok(seen),
                seen => Err((is_current, seen)),
            }
        })
        .await
    }

    /// Creates or changes a user's autoscaler.
    pub async fn apply_autoscaler(&self, autoscaler: &Value) {
        let name = autoscaler["metadata"]["name"].as_str().unwrap();
        let params = PatchParams::apply("team").force();
        self.children(ChildKind::Autoscaler).patch(name, &params, &Patch::Apply(autoscaler)).await.unwrap();
    }

    /// Creates an object of one of the kinds that Baton writes, as a manager that doesn't apply.
    pub async fn create_as(&self, manager: &str, object: &Value) -> DynamicObject {
        let kind = ChildKind::ALL.into_iter().find(|kind| object["kind"] == kind.name()).unwrap();
        let params = PostParams { field_manager: Some(manager.to_owned()), ..PostParams::default() };
        let object = serde_json::from_value(object.clone()).unwrap();
        self.children(kind).create(&params, &object).await.unwrap()
    }

    /// Waits until the Deployment has this replica count.
    pub async fn has_replicas(&self, count: i64) -> DynamicObject {
        let what = format!("a replica count of {count}");
        self.child_where(&what, ChildKind::Deployment, |live| live.data["spec"]["replicas"] == count).await
    }

    /// Deletes an autoscaler.
    pub async fn delete_autoscaler(&self, name: &str) {
        self.children(ChildKind::Autoscaler).delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// Waits for a condition of the Workload that is about its current spec.
    pub async fn condition(&self, type_: &str, status: &str) -> Condition {
        eventually(&format!("condition {type_}={status}"), async || {
            let workload = self.workload().await;
            let conditions = workload.status.clone().unwrap_or_default().conditions;
            let current = |condition: &&Condition| {
                condition.type_ == type_
                    && condition.status == status
                    && condition.observed_generation == workload.metadata.generation
            };
            conditions.iter().find(current).cloned().ok_or(conditions)
        })
        .await
    }

    /// Waits until the Workload's current spec has no such condition.
    pub async fn no_condition(&self, type_: &str) {
        eventually(&format!("no condition {type_}"), async || {
            let workload = self.workload().await;
            let status = workload.status.unwrap_or_default();
            let is_current = status.observed_generation == workload.metadata.generation;
            let found = status.conditions.iter().any(|condition| condition.type_ == type_);
            if is_current && !found { Ok(()) } else { Err(status.conditions) }
        })
        .await;
    }

    /// The Events about the Workload, as `Type Reason: note`.
    pub async fn events(&self) -> Vec<String> {
        let text = |field: Option<String>| field.unwrap_or_default();
        let events = self.all_events().await.into_iter();
        events
            .map(|event| format!("{} {}: {}", text(event.type_), text(event.reason), text(event.note)))
            .collect()
    }

    /// Waits for an Event about the Workload with all of these texts in it.
    pub async fn event(&self, texts: &[&str]) {
        eventually(&format!("an Event with {texts:?}"), async || {
            let events = self.events().await;
            let is_there = events.iter().any(|event| texts.iter().all(|text| event.contains(text)));
            if is_there { Ok(()) } else { Err(events) }
        })
        .await;
    }

    /// The Events about the Workload with this reason, from the first to the last.
    pub async fn event_objects(&self, reason: &str) -> Vec<Event> {
        let mut events = self.all_events().await;
        events.retain(|event| event.reason.as_deref() == Some(reason));
        events.sort_by_key(|event| event.event_time.as_ref().map(|time| time.0));
        events
    }

    async fn all_events(&self) -> Vec<Event> {
        let api: Api<Event> = self.api();
        let is_about_it = |event: &Event| {
            event.regarding.as_ref().and_then(|about| about.kind.as_deref()) == Some("Workload")
        };
        api.list(&ListParams::default()).await.unwrap().into_iter().filter(is_about_it).collect()
    }

    /// Makes the operator reconcile the Workload, and waits until it has, with all writes.
    pub async fn reconcile(&self) {
        // A pass that is under way may have begun before the touch, and must not count as the one that sees it.
        let before = self.at_rest().await;
        let touched = json!({"metadata": {"annotations": {"touched": before.to_string()}}});
        self.merge(&touched).await;
        self.passes_to_end(before + 1).await;
    }

    /// As [`reconcile`](Self::reconcile), this many times.
    pub async fn reconcile_times(&self, times: usize) {
        for _ in 0..times {
            self.reconcile().await;
        }
    }

    /// Makes the operator reconcile all its Workloads, of which there are this many, and waits until it has.
    pub async fn reconcile_all(&self, workloads: u64) {
        let before = self.at_rest().await;
        self.operator().reconcile_all().unwrap();
        self.passes_to_end(before + workloads).await;
    }

    /// Waits until this many passes have ended since the operator was started, and it is at rest again.
    pub async fn passes_to_end(&self, count: u64) {
        eventually("the passes to end", async || {
            let passes = self.passes().await;
            if passes >= count { Ok(()) } else { Err(passes) }
        })
        .await;
        self.at_rest().await;
    }

    /// Waits until the operator has had nothing to do for a moment. Returns how many passes had ended by then.
    pub async fn at_rest(&self) -> u64 {
        eventually("the operator to be at rest", async || {
            let before = self.passes().await;
            tokio::time::sleep(MOMENT).await;
            let after = self.passes().await;
            if before == after { Ok(after) } else { Err((before, after)) }
        })
        .await
    }

    /// How many passes have ended since the operator was started.
    async fn passes(&self) -> u64 {
        self.operator().metrics().await.unwrap().count("baton_reconciles_total", &[])
    }

    /// The operator's writes to this resource, by the API server's audit log.
    pub fn writes(&self, resource: &str) -> AuditEntries {
        self.requests().writes().resource(resource)
    }

    /// Every request of the operator, by the API server's audit log.
    pub fn requests(&self) -> AuditEntries {
        self.requests_since(self.begin.expect("the cluster has an audit log"))
    }

    /// The end of the audit log now, for [`requests_since`](Self::requests_since).
    pub fn mark(&self) -> Mark {
        self.cluster.audit().unwrap().mark().unwrap()
    }

    /// The operator's requests that ended after the mark was made.
    pub fn requests_since(&self, mark: Mark) -> AuditEntries {
        self.cluster.audit().unwrap().by_since(self.operator().user(), mark).unwrap()
    }
}

/// The entries of a manager in an object's `managedFields`, as `(operation, subresource, fieldsV1)`.
pub fn entries_of(object: &DynamicObject, manager: &str) -> Vec<(String, Option<String>, Value)> {
    object
        .metadata
        .managed_fields
        .iter()
        .flatten()
        .filter(|entry| entry.manager.as_deref() == Some(manager))
        .map(|entry| {
            let fields = entry.fields_v1.clone().map(|fields| fields.0).unwrap_or_default();
            (entry.operation.clone().unwrap_or_default(), entry.subresource.clone(), fields)
        })
        .collect()
}

/// `spec.replicas` of a Deployment.
pub fn replicas(deployment: &DynamicObject) -> i64 {
    deployment.data["spec"]["replicas"].as_i64().unwrap()
}

/// The image of a Deployment's first container.
pub fn image(deployment: &DynamicObject) -> &Value {
    &deployment.data["spec"]["template"]["spec"]["containers"][0]["image"]
}
