//! The resource metrics API (`metrics.k8s.io/v1beta1`), which metrics-server serves in real clusters: the HorizontalPodAutoscaler
//! controller reads from it how much CPU pods use. Here a test sets that.
//!
//! A test sets the load of [all pods with a label](MetricsApi::set_cpu), as the users of an application do. The pods share it evenly, so
//! more pods mean less for each, and a real autoscaler finds the right count.
//!
//! [`documents`] has the API's objects, [`server`] responds, and this module registers with the API server's aggregator.

mod documents;
mod server;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use baton_apiserver::Load;
use k8s_openapi::{
    ByteString,
    api::core::v1::{Service, ServicePort, ServiceSpec},
    kube_aggregator::pkg::apis::apiregistration::v1::{APIService, APIServiceSpec, ServiceReference},
};
use kube::{
    Api, Client, Resource,
    api::{ListParams, Patch, PatchParams, Request},
    core::ObjectMeta,
};
use serde::{Serialize, de::DeserializeOwned};
use tokio::{
    runtime::{Builder, Runtime},
    sync::OnceCell,
};

use self::documents::{GROUP, PATH, VERSION};
use crate::{Cluster, ControlPlane, Embedded, Error, PATIENCE, lock, wait_for};

/// The Service that leads the aggregator here, and its namespace.
const SERVICE: &str = "baton-testbed-metrics";
const NAMESPACE: &str = "kube-system";
/// The field manager of what is registered.
const MANAGER: &str = "baton-testbed";

/// The name by which the API server knows the server: what its certificate has to be for.
pub(crate) fn host() -> String {
    format!("{SERVICE}.{NAMESPACE}.svc")
}

/// How much CPU all pods with a label use, in millicores, by namespace and label.
type Loads = Mutex<HashMap<(String, String), u32>>;

/// A metrics API that a control plane has, for as long as this lives.
///
/// It runs on a thread of its own and belongs to no tokio runtime, so that a static one can serve tests that each have
/// theirs. Pods without a load have no metrics, as those that just started: for an autoscaler this is as if
/// there was no metrics API.
///
/// ```no_run
/// # async fn example() -> Result<(), baton_testbed::Error> {
/// let metrics = baton_testbed::MetricsApi::of(&baton_testbed::Cluster::shared().await).await;
/// metrics.set_cpu("shop", "app=web", 700);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct MetricsApi(Metrics);

#[derive(Debug)]
enum Metrics {
    Served {
        loads: Arc<Loads>,
        /// Always there, but while it is dropped.
        runtime: Option<Runtime>,
    },
    /// The autoscaler of a server inside this process gets loads without an API.
    InProcess(Arc<Embedded>),
}

impl MetricsApi {
    /// Serves the API on a free port of 127.0.0.1, registers it, and waits until the API server passes requests on.
    ///
    /// # Errors
    /// When the control plane was given rather than started here, since it may have metrics of its own; or when a step
    /// fails.
    pub async fn start(control_plane: &ControlPlane) -> Result<Self, Error> {
        let credentials = control_plane.metrics_api_credentials()?;
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(Error::file("start a runtime for", "the metrics API"))?;
        let loads = Arc::new(Loads::default());
        let kubeconfig = control_plane.kubeconfig().to_owned();
        // What it is made of belongs to the runtime that it runs in.
        let listening = runtime.spawn(server::start(kubeconfig, loads.clone(), credentials.clone()));
        // Before anything can fail: a runtime must not be dropped in another one as if it were anything.
        let metrics = Self(Metrics::Served { loads, runtime: Some(runtime) });
        let port = listening.await.map_err(Error::parse("how the metrics API started"))??;
        register(&control_plane.admin().await?, port, &credentials.authority).await?;
        Ok(metrics)
    }

    /// The metrics API of a cluster. On the shared control plane it is one for all, started by the first caller, and ends with the
    /// process.
    ///
    /// # Panics
    /// When it can't be started; all later callers get the same reason.
    pub async fn of(cluster: &Cluster) -> Arc<Self> {
        static SHARED: OnceCell<Result<Arc<MetricsApi>, String>> = OnceCell::const_new();
        let control_plane = match cluster {
            Cluster::Real(control_plane) => control_plane,
            Cluster::InProcess(server) => return Arc::new(Self(Metrics::InProcess(server.clone()))),
        };
        let start = async || Self::start(control_plane).await.map(Arc::new).map_err(|error| error.report());
        match SHARED.get_or_init(start).await {
            Ok(metrics) => metrics.clone(),
            Err(report) => panic!("no metrics API: {report}"),
        }
    }

    /// Sets how much CPU all pods with a label, such as `app=web`, use together from now on. On a server inside this process these
    /// have to be the pods of the Deployment `web`.
    pub fn set_cpu(&self, namespace: &str, label: &str, millicores: u32) {
        match &self.0 {
            Metrics::Served { loads, .. } => {
                lock(loads).insert((namespace.to_owned(), label.to_owned()), millicores);
            }
            Metrics::InProcess(server) => {
                let name = label.split_once('=').map_or(label, |(_, value)| value);
                server.server().set_load(namespace, "Deployment", name, Load::Millicores(millicores));
            }
        }
    }
}

impl Drop for MetricsApi {
    fn drop(&mut self) {
        if let Metrics::Served { runtime, .. } = &mut self.0
            && let Some(runtime) = runtime.take()
        {
            runtime.shutdown_background();
        }
    }
}

/// Registers the API with the aggregator, and waits until it is available.
async fn register(client: &Client, port: u16, authority: &str) -> Result<(), Error> {
    let service = Service {
        metadata: ObjectMeta { name: Some(SERVICE.to_owned()), ..ObjectMeta::default() },
        spec: Some(ServiceSpec {
            type_: Some("ExternalName".to_owned()),
            external_name: Some("localhost".to_owned()),
            ports: Some(vec![ServicePort { port: port.into(), ..ServicePort::default() }]),
            ..ServiceSpec::default()
        }),
        ..Service::default()
    };
    apply(&Api::namespaced(client.clone(), NAMESPACE), SERVICE, &service).await?;
    let name = format!("{VERSION}.{GROUP}");
    let api_service = APIService {
        metadata: ObjectMeta { name: Some(name.clone()), ..ObjectMeta::default() },
        spec: Some(APIServiceSpec {
            group: Some(GROUP.to_owned()),
            version: Some(VERSION.to_owned()),
            // As upstream's metrics-server has them.
            group_priority_minimum: 100,
            version_priority: 100,
            service: Some(ServiceReference {
                namespace: Some(NAMESPACE.to_owned()),
                name: Some(SERVICE.to_owned()),
                port: Some(port.into()),
            }),
            ca_bundle: Some(ByteString(authority.as_bytes().to_vec())),
            ..APIServiceSpec::default()
        }),
        ..APIService::default()
    };
    apply(&Api::all(client.clone()), &name, &api_service).await?;
    until_passed_on(client).await
}

async fn apply<K>(api: &Api<K>, name: &str, object: &K) -> Result<(), Error>
where
    K: Resource<DynamicType = ()> + Clone + Serialize + DeserializeOwned + std::fmt::Debug,
{
    let applied = api.patch(name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(object)).await;
    applied.map(|_| ()).map_err(Error::api(format!("register the metrics API by {} {name}", K::kind(&()))))
}

/// Asks as an autoscaler will.
async fn until_passed_on(client: &Client) -> Result<(), Error> {
    let path = format!("{PATH}/namespaces/{NAMESPACE}/pods");
    wait_for("requests for metrics being passed on by the API server", PATIENCE, async || {
        let request = Request::new(path.as_str()).list(&ListParams::default());
        let request = request.map_err(Error::parse("the path of the metrics API"))?;
        Ok(client.request_text(request).await.map(drop).map_err(|error| error.to_string()))
    })
    .await
}
