//! What all scenarios share: a control plane where nobody writes unasked but the autoscaler, the schemas that it serves, and
//! the merge core.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicU32, Ordering},
    },
};

use baton_merge_driver::Session;
use baton_testbed::{
    ControlPlane, Error, Json, PATIENCE, definition, lock,
    prediction::{Accuracy, Done, Resource, Schema},
    raw::{Request, openapi_document},
    wait_for, workspace,
};
use kube::Client;

use super::{Definition, kinds::BuiltIn, record::Tally};

/// Without the other controllers nobody else writes to what scenarios are about.
const CONTROLLERS: &str = "--controllers=namespace-controller,serviceaccount-controller,node-lifecycle-controller,\
    resourcequota-controller,horizontal-pod-autoscaler-controller,clusterrole-aggregation-controller";

/// Baton's own definition, relative to the workspace.
const WORKLOAD_CRD: &str = "manifests/crd/workloads.baton.rs.yaml";

/// What is written into the audit log.
const AUDIT_POLICY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/scenario/audit-policy.yaml");

/// A control plane for scenarios.
pub struct Stage {
    control_plane: ControlPlane,
    client: Client,
    release: String,
    /// The OpenAPI documents that were asked for, by group and version.
    documents: Mutex<BTreeMap<String, String>>,
    core: Mutex<Session>,
    tally: Tally,
}

impl Stage {
    /// Starts one.
    pub async fn start() -> Result<Self, Error> {
        let control_plane = ControlPlane::options()
            .controller_manager_arg(CONTROLLERS)
            .api_server_arg(format!("--audit-policy-file={AUDIT_POLICY}"))
            .start()
            .await?;
        let client = control_plane.admin().await?;
        let release = control_plane.version().await?;
        definition::install(&control_plane, &workspace().join(WORKLOAD_CRD)).await?;
        Ok(Self {
            control_plane,
            client,
            release,
            documents: Mutex::default(),
            core: Mutex::new(Session::new()),
            tally: Tally::default(),
        })
    }

    /// The control plane itself.
    pub fn control_plane(&self) -> &ControlPlane {
        &self.control_plane
    }

    /// A client as administrator.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The release of the API server, such as `v1.36.3`.
    pub fn release(&self) -> &str {
        &self.release
    }

    /// What has been counted.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// What the merge core predicts of a write, where that can be asked, and what becomes of the prediction.
    pub(super) fn predict(&self, done: Option<&Done<'_>>) -> Option<(Json, Accuracy)> {
        let judged = done.and_then(Done::asked).map(|asked| {
            let mut core = lock(&self.core);
            let prediction = core.answer(&asked.question.to_string()).parse().unwrap_or(Json::Null);
            let accuracy = asked.judge(&prediction);
            (prediction, accuracy)
        });
        self.tally.add(judged.as_ref().map(|(_, accuracy)| accuracy));
        judged
    }

    /// A kind that every API server has, or Baton's own, as this one serves it.
    pub(super) async fn resource(&self, kind: BuiltIn) -> Result<Resource, Error> {
        let mut resource = Resource {
            group: kind.group.to_owned(),
            version: kind.version.to_owned(),
            kind: kind.kind.to_owned(),
            plural: kind.plural.to_owned(),
            namespaced: kind.namespaced,
            schema: Schema::Crd(
                Json::object().with("file", workspace().join(WORKLOAD_CRD).display().to_string()),
            ),
            has_status: true,
        };
        if kind.group != "baton.rs" {
            resource.schema = Schema::OpenApi(self.document(&resource).await?);
        }
        Ok(resource)
    }

    /// The file with the OpenAPI document of a group and version.
    async fn document(&self, resource: &Resource) -> Result<String, Error> {
        let api_version = resource.api_version();
        let known = lock(&self.documents).get(&api_version).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let file = openapi_document(&self.client, &api_version, self.control_plane.dir()).await?;
        let name = file.display().to_string();
        lock(&self.documents).insert(api_version, name.clone());
        Ok(name)
    }

    /// Installs a definition, or changes the one that there is, and waits until it is in use in every version. The outcome is
    /// what the server was told.
    pub(super) async fn define(&self, definition: &Definition, namespace: &str) -> Result<Json, Error> {
        static PROBES: AtomicU32 = AtomicU32::new(1);
        let probe = format!("probe{}", PROBES.fetch_add(1, Ordering::Relaxed));
        let object = definition.object(&probe);
        let name = definition.name();
        let request = Request {
            method: "PATCH",
            uri: format!(
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}?fieldManager=scenario&force=true"
            ),
            headers: vec![("content-type", "application/apply-patch+yaml".to_owned())],
            body: object.to_string(),
        };
        request.send(&self.client).await?.success(&format!("define {name}"))?;
        let resource = definition.resource(definition.stored(), object.clone());
        let body = Json::object()
            .with("apiVersion", resource.api_version())
            .with("kind", resource.kind.as_str())
            .with("metadata", Json::object().with("generateName", "probe-"))
            .with(&probe, true)
            .to_string();
        let trial = Request {
            method: "POST",
            uri: format!("{}?dryRun=All&fieldValidation=Strict", resource.path(namespace)),
            headers: vec![("content-type", "application/json".to_owned())],
            body,
        };
        // Whether the rest is valid is no concern of the probe's: an unknown field is told before.
        wait_for(&format!("the definition of {name}"), PATIENCE, async || {
            Ok::<_, Error>(match trial.clone().send(&self.client).await {
                Ok(reply) if matches!(reply.code, 201 | 422) => Ok(()),
                Ok(reply) => Err(reply.text),
                Err(error) => Err(error.report()),
            })
        })
        .await?;
        Ok(object)
    }
}
