//! Sends requests to the API server and says how each ended.
//!
//! Every request has a time limit. One that fails is an [`Outcome`], not an error: the caller goes on with the other
//! children. This module decides nothing.

use std::{fmt::Debug, time::Duration};

use baton_crd::Workload;
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, Preconditions},
    core::{ApiResource, Status},
    runtime::events::{Event, Recorder, Reporter},
};
use serde::Serialize;
use serde_json::Value;

use crate::{
    FIELD_MANAGER,
    autoscalers::{Autoscaler, Target},
    child::ChildKind,
    live::{Live, Revision},
    request::{Request, Write},
};

/// Whether a request counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// It is stored.
    Stored,
    /// The server does everything but store it.
    DryRun,
}

/// How a request ended.
#[derive(Debug)]
pub enum Outcome {
    /// Done; the child as the server returned it, absent where it is gone.
    Done(Option<Live>),
    /// The live object isn't what the plan saw: read it again and plan anew.
    Stale(ActError),
    /// It failed; [`ActError::is_rejection`] tells whether trying again as it is can help.
    Failed(ActError),
}

/// A request that didn't do what it should.
#[derive(Debug, thiserror::Error)]
pub enum ActError {
    /// The API server answered with a failure; its message is passed on as it is.
    #[error("{}", .0.message)]
    Answer(Box<Status>),
    /// No answer within the time limit.
    #[error("the API server did not answer within {0:?}")]
    Timeout(Duration),
    /// The request could not be sent or its answer not be read.
    #[error("the request to the API server failed")]
    Client(#[source] kube::Error),
}

/// The rim of the operator towards the API server.
#[derive(Clone)]
pub struct Actor {
    client: Client,
    recorder: Recorder,
    request_timeout: Duration,
}

impl Actor {
    /// An actor that gives each request this long, and signs its Events with the name of its pod if it has one.
    pub fn new(client: Client, request_timeout: Duration) -> Self {
        let instance = std::env::var("HOSTNAME").ok();
        let reporter = Reporter { controller: "baton.rs/baton".to_owned(), instance };
        Self { recorder: Recorder::new(client.clone(), reporter), client, request_timeout }
    }

    /// Reads a child from the API server, past every cache; absent where there is none.
    ///
    /// # Errors
    /// When the request fails.
    pub async fn read(&self, workload: &Workload, kind: ChildKind) -> Result<Option<Live>, ActError> {
        let api = self.children(workload, kind);
        self.bounded(api.get_opt(&workload.name_any())).await
    }

    /// Reads the Workload itself from the API server; absent where it is gone.
    ///
    /// # Errors
    /// When the request fails.
    pub async fn read_workload(&self, workload: &Workload) -> Result<Option<Workload>, ActError> {
        let namespace = workload.namespace().unwrap_or_default();
        let api: Api<Workload> = Api::namespaced(self.client.clone(), &namespace);
        self.bounded(api.get_opt(&workload.name_any())).await
    }

    /// Reads from the API server which HorizontalPodAutoscalers scale the Workload's Deployment.
    ///
    /// # Errors
    /// When the request fails.
    pub async fn read_autoscalers(&self, workload: &Workload) -> Result<Vec<Autoscaler>, ActError> {
        let api = self.children(workload, ChildKind::Autoscaler);
        let all = self.bounded(api.list(&ListParams::default())).await?;
        let target = Target::of(workload);
        let scaling = all.iter().filter_map(Autoscaler::of).filter(|(scaled, _)| *scaled == target);
        Ok(scaling.map(|(_, autoscaler)| autoscaler).collect())
    }

    /// Sends a request, or has the server try it without storing anything.
    pub async fn send(&self, workload: &Workload, request: Request, effect: Effect) -> Outcome {
        let Request { child, write } = request;
        let dry_run = effect == Effect::DryRun;
        let result = match write {
            Write::Apply { body, manager, force } => {
                let params = PatchParams { dry_run, force, ..PatchParams::apply(manager) };
                self.patch(workload, child, &params, &Patch::Apply(&body)).await
            }
            Write::Patch(patch) => {
                let field_manager = Some(FIELD_MANAGER.to_owned());
                let params = PatchParams { dry_run, field_manager, ..PatchParams::default() };
                self.patch(workload, child, &params, &Patch::Json::<()>(patch)).await
            }
            Write::Delete(revision) => self.delete(workload, child, revision, dry_run).await,
        };
        match result {
            Ok(live) => Outcome::Done(live),
            Err(error) if error.is_stale() => Outcome::Stale(error),
            Err(error) => Outcome::Failed(error),
        }
    }

    /// Applies a Workload's status as `baton`; returns the Workload as it was stored.
    ///
    /// # Errors
    /// When the request fails.
    pub async fn apply_status(&self, workload: &Workload, body: &Value) -> Result<Live, ActError> {
        let resource = ApiResource::erase::<Workload>(&());
        let namespace = workload.namespace().unwrap_or_default();
        let api: Api<Live> = Api::namespaced_with(self.client.clone(), &namespace, &resource);
        let params = PatchParams::apply(FIELD_MANAGER).force();
        self.bounded(api.patch_status(&workload.name_any(), &params, &Patch::Apply(body))).await
    }

    /// Writes an Event about the Workload, or counts it up where the same was written a moment ago.
    ///
    /// # Errors
    /// When the request fails.
    pub async fn publish(&self, workload: &Workload, event: &Event) -> Result<(), ActError> {
        self.bounded(self.recorder.publish(event, &workload.object_ref(&()))).await
    }

    async fn patch<P: Serialize + Debug>(
        &self,
        workload: &Workload,
        child: ChildKind,
        params: &PatchParams,
        patch: &Patch<P>,
    ) -> Result<Option<Live>, ActError> {
        let api = self.children(workload, child);
        self.bounded(api.patch(&workload.name_any(), params, patch)).await.map(Some)
    }

    async fn delete(
        &self,
        workload: &Workload,
        child: ChildKind,
        revision: Revision,
        dry_run: bool,
    ) -> Result<Option<Live>, ActError> {
        let api = self.children(workload, child);
        let preconditions =
            Preconditions { uid: Some(revision.uid), resource_version: Some(revision.resource_version) };
        let params = DeleteParams { dry_run, ..DeleteParams::background().preconditions(preconditions) };
        match self.bounded(api.delete(&workload.name_any(), &params)).await {
            // What is returned still exists only if a finalizer keeps it.
            Ok(deleted) => Ok(deleted.left().filter(|live| !live.finalizers().is_empty())),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn children(&self, workload: &Workload, kind: ChildKind) -> Api<Live> {
        let namespace = workload.namespace().unwrap_or_default();
        Api::namespaced_with(self.client.clone(), &namespace, &kind.api_resource())
    }

    fn bounded<T>(
        &self,
        request: impl Future<Output = kube::Result<T>>,
    ) -> impl Future<Output = Result<T, ActError>> {
        bounded(self.request_timeout, request)
    }
}

/// The answer to a request, if it comes within a time limit.
///
/// # Errors
/// When it doesn't, or when the request fails.
pub(crate) async fn bounded<T>(
    limit: Duration,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, ActError> {
    match tokio::time::timeout(limit, request).await {
        Err(_) => Err(ActError::Timeout(limit)),
        Ok(Err(kube::Error::Api(status))) => Err(ActError::Answer(status)),
        Ok(Err(error)) => Err(ActError::Client(error)),
        Ok(Ok(answer)) => Ok(answer),
    }
}

impl ActError {
    /// Whether the object isn't what the writer saw. The server says it in three ways.
    pub fn is_stale(&self) -> bool {
        let Self::Answer(status) = self else { return false };
        let details = status.details.as_ref();
        match status.code {
            // A conflict of field owners, a resourceVersion that moved on, or a guarded object that is gone.
            409 => true,
            // A guard names the uid of an object that was replaced by another; or a JSON patch failed its own `test`,
            // which names no object, as validation always does.
            422 => details.is_none_or(|details| {
                details.kind.is_empty() || details.causes.iter().any(|cause| cause.field == "metadata.uid")
            }),
            _ => false,
        }
    }

    /// Whether other managers own what an apply sets.
    pub fn is_ownership_conflict(&self) -> bool {
        let Self::Answer(status) = self else { return false };
        let causes = status.details.iter().flat_map(|details| &details.causes);
        status.code == 409 && causes.into_iter().any(|cause| cause.reason == "FieldManagerConflict")
    }

    /// Whether there is no such object.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::Answer(status) if status.is_not_found())
    }

    /// Whether the server will go on refusing the request until something is mended. What an object's schema refuses in
    /// an apply is a 500.
    pub fn is_rejection(&self) -> bool {
        let Self::Answer(status) = self else { return false };
        !self.is_stale() && status.code != 429 && (400..=500).contains(&status.code)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer_with(code: u16, details: Value) -> ActError {
        let details = serde_json::from_value(details).unwrap();
        ActError::Answer(Status::failure("no", "Because").with_code(code).with_details(details).boxed())
    }

    /// A failure about an object, as validation and most else answers.
    fn answer(code: u16) -> ActError {
        answer_with(code, json!({"kind": "Deployment"}))
    }

    #[test]
    fn a_failure_is_told_once_in_the_servers_words() {
        assert_eq!(crate::causes::with_causes(&answer(422)), "no");
    }

    #[test]
    fn another_uid_and_a_failed_test_of_a_json_patch_mean_looking_again_too() {
        let another_uid = json!({"kind": "Deployment", "causes": [{"field": "metadata.uid"}]});
        assert!(answer_with(422, another_uid).is_stale());
        assert!(answer_with(422, json!({})).is_stale());
        assert!(!answer(422).is_stale());
    }

    #[test]
    fn a_conflict_means_looking_again_whatever_its_cause() {
        assert!(answer(409).is_stale() && !answer(409).is_rejection());
    }

    #[test]
    fn what_the_server_will_go_on_refusing_is_a_rejection_and_the_rest_is_worth_another_try() {
        for code in [400, 403, 404, 422, 500] {
            assert!(answer(code).is_rejection(), "{code}");
        }
        for code in [429, 503, 504] {
            assert!(!answer(code).is_rejection(), "{code}");
        }
        assert!(!ActError::Timeout(Duration::from_secs(1)).is_rejection());
    }
}
