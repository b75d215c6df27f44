//! The server that all scenarios share, with its schemas and the merge core. Of the controllers, only the autoscaler writes to the
//! objects of scenarios.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, AtomicU32, Ordering},
    },
    time::Duration,
};

use baton_apiserver::{Actor, ApiServer, Release};

use baton_merge_driver::Session;
use baton_testbed::{
    AuditLog, Cluster, ControlPlane, Error, Json, Mark, PATIENCE, crd, lock,
    prediction::{Accuracy, Done, Resource, Schema},
    raw::{Request, openapi_document},
    wait_for, workspace,
};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::{Api, Client, api::PostParams};
use tempfile::TempDir;

use super::{Crd, kinds::BuiltIn, record::Tally};

/// Without the other controllers, only scenarios and the autoscaler write to their objects.
const CONTROLLERS: &str = "--controllers=namespace-controller,serviceaccount-controller,node-lifecycle-controller,\
    resourcequota-controller,horizontal-pod-autoscaler-controller,clusterrole-aggregation-controller";

/// Baton's CRD, relative to the workspace.
const WORKLOAD_CRD: &str = "manifests/crd/workloads.baton.rs.yaml";

/// The policy of the audit log.
const AUDIT_POLICY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/scenario/audit-policy.yaml");

/// The release of the control plane.
const RELEASE: Release = Release::new(36, 3);

/// Longer than a second: entries of `managedFields` that are written after it have another time.
const NEXT_SECOND: Duration = Duration::from_millis(1050);

/// An API server for scenarios.
pub struct SeedServer {
    backend: Backend,
    client: Client,
    release: String,
    /// The files with the OpenAPI documents that were read, by group and version.
    documents: Mutex<BTreeMap<String, String>>,
    core: Mutex<Session>,
    tally: Tally,
}

enum Backend {
    Real(Cluster),
    /// It has no audit log: the writes of other clients are read, but not compared with a prediction.
    InProcess {
        clock: Arc<AtomicI64>,
        namespaces: AtomicU32,
        folder: TempDir,
    },
}

impl SeedServer {
    /// Starts a control plane.
    pub async fn start() -> Result<Self, Error> {
        let control_plane = ControlPlane::options()
            .controller_manager_arg(CONTROLLERS)
            .api_server_arg(format!("--audit-policy-file={AUDIT_POLICY}"))
            .start()
            .await?;
        let client = control_plane.admin().await?;
        let release = control_plane.version().await?;
        crd::install(&control_plane, &workspace().join(WORKLOAD_CRD)).await?;
        Ok(Self::on(Backend::Real(control_plane.into()), client, release))
    }

    /// Starts an API server inside this process.
    pub fn start_in_process() -> Result<Self, anyhow::Error> {
        let clock = Arc::new(AtomicI64::new(0));
        let ahead = clock.clone();
        let now = move || {
            let ahead = SignedDuration::from_millis(ahead.load(Ordering::Relaxed));
            Timestamp::now().saturating_add(ahead).unwrap_or(Timestamp::MAX)
        };
        let actors = [Actor::Namespaces, Actor::Quotas, Actor::AccessControl];
        let crd = std::fs::read_to_string(workspace().join(WORKLOAD_CRD))?;
        let server = ApiServer::builder().release(RELEASE).clock(now).actors(actors).load(&crd)?.start()?;
        let folder = tempfile::tempdir()?;
        let client = server.client();
        let namespaces = AtomicU32::new(0);
        Ok(Self::on(Backend::InProcess { clock, namespaces, folder }, client, format!("v{RELEASE}")))
    }

    fn on(backend: Backend, client: Client, release: String) -> Self {
        let (documents, core, tally) = (Mutex::default(), Mutex::new(Session::new()), Tally::default());
        Self { backend, client, release, documents, core, tally }
    }

    /// The cluster with the control plane.
    ///
    /// # Panics
    /// Where there is none.
    pub fn cluster(&self) -> &Cluster {
        match &self.backend {
            Backend::Real(cluster) => cluster,
            Backend::InProcess { .. } => panic!("this scenario needs a control plane"),
        }
    }

    /// The audit log, where there is one.
    pub(super) fn audit(&self) -> Result<Option<AuditLog>, Error> {
        match &self.backend {
            Backend::Real(cluster) => cluster.audit().map(Some),
            Backend::InProcess { .. } => Ok(None),
        }
    }

    /// The end of the audit log.
    pub(super) fn end_of_audit_log(&self) -> Result<Mark, Error> {
        self.audit()?.map_or_else(|| Ok(Mark::default()), |log| log.mark())
    }

    /// A new namespace. It exists as long as the server.
    pub(super) async fn namespace(&self) -> Result<String, Error> {
        match &self.backend {
            Backend::Real(cluster) => {
                let namespace = cluster.namespace("scene").await?;
                let name = namespace.name().to_owned();
                namespace.keep();
                Ok(name)
            }
            Backend::InProcess { namespaces, .. } => {
                let name = format!("scene-{}", namespaces.fetch_add(1, Ordering::Relaxed));
                let mut namespace = Namespace::default();
                namespace.metadata.name = Some(name.clone());
                let created = Api::all(self.client.clone()).create(&PostParams::default(), &namespace).await;
                created.map_err(Error::api(format!("create the namespace {name}")))?;
                // A controller creates it on a control plane.
                let mut account = ServiceAccount::default();
                account.metadata.name = Some("default".to_owned());
                let created = Api::namespaced(self.client.clone(), &name)
                    .create(&PostParams::default(), &account)
                    .await;
                created.map_err(Error::api(format!("create the service account of {name}")))?;
                Ok(name)
            }
        }
    }

    /// Advances the clock, so that the next write has another time.
    pub(super) async fn next_second(&self) {
        match &self.backend {
            Backend::Real(_) => tokio::time::sleep(NEXT_SECOND).await,
            Backend::InProcess { clock, .. } => {
                let step = i64::try_from(NEXT_SECOND.as_millis()).unwrap_or(i64::MAX);
                clock.fetch_add(step, Ordering::Relaxed);
            }
        }
    }

    fn folder(&self) -> &Path {
        match &self.backend {
            Backend::Real(cluster) => cluster.real().dir(),
            Backend::InProcess { folder, .. } => folder.path(),
        }
    }

    /// A client as administrator.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The release of the API server, such as `v1.36.3`.
    pub fn release(&self) -> &str {
        &self.release
    }

    /// The counts of all steps.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// The prediction of the merge core for a write, if it makes one, and its accuracy.
    pub(super) fn predict(&self, done: Option<&Done<'_>>) -> Option<(Json, Accuracy)> {
        let judged = done.and_then(Done::asked).map(|asked| {
            let mut core = lock(&self.core);
            let prediction = core.respond(&asked.question.to_string()).parse().unwrap_or(Json::Null);
            let accuracy = asked.judge(&prediction);
            (prediction, accuracy)
        });
        self.tally.add(judged.as_ref().map(|(_, accuracy)| accuracy));
        judged
    }

    /// The resource of a built-in kind, or of Baton's, as this API server serves it.
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
        let file = openapi_document(&self.client, &api_version, self.folder()).await?;
        let name = file.display().to_string();
        lock(&self.documents).insert(api_version, name.clone());
        Ok(name)
    }

    /// Creates or changes a CRD, and waits until the server uses it. Returns the object that was sent.
    pub(super) async fn define(&self, crd: &Crd, namespace: &str) -> Result<Json, Error> {
        static PROBES: AtomicU32 = AtomicU32::new(1);
        let probe = format!("probe{}", PROBES.fetch_add(1, Ordering::Relaxed));
        let object = crd.object(&probe);
        let name = crd.name();
        let request = Request {
            method: "PATCH",
            uri: format!(
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}?fieldManager=scenario&force=true"
            ),
            headers: vec![("content-type", "application/apply-patch+yaml".to_owned())],
            body: object.to_string(),
        };
        request.send(&self.client).await?.success(&format!("define {name}"))?;
        let resource = crd.resource(crd.stored(), object.clone());
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
        // The rest may be invalid: the server refuses an unknown field before.
        wait_for(&format!("the CRD of {name}"), PATIENCE, async || {
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
