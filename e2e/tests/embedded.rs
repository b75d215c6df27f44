//! The operator as it is, on an API server in the same process: nothing but its client is another one.
#![allow(missing_docs, clippy::unwrap_used)]

use std::{
    fmt::Debug,
    sync::{Arc, Mutex},
};

use baton_apiserver::{Actor, ApiServer};
use baton_controller::process::{
    self, Cluster, Signals,
    cli::{Cli, Command},
};
use baton_crd::Workload;
use clap::Parser as _;
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::{
    NamespaceResourceScope,
    api::{apps::v1::Deployment, autoscaling::v2::HorizontalPodAutoscaler},
};
use kube::{
    Api, Resource,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    runtime::{WatchStreamExt as _, watcher},
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::task::AbortHandle;

const WORKLOAD_CRD: &str = include_str!("../../manifests/crd/workloads.baton.rs.yaml");

/// A kind that a Workload has to do with.
trait Child:
    Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static
{
}

impl Child for Workload {}
impl Child for Deployment {}
impl Child for HorizontalPodAutoscaler {}

/// An operator at work. It ends with this.
struct Baton {
    server: ApiServer,
    operator: AbortHandle,
}

impl Drop for Baton {
    fn drop(&mut self) {
        self.operator.abort();
    }
}

impl Baton {
    fn start() -> Self {
        let actors = [
            Actor::Deployments,
            Actor::Pods,
            Actor::Autoscaler,
            Actor::DisruptionBudgets,
            Actor::GarbageCollector,
        ];
        let server = ApiServer::builder().actors(actors).load(WORKLOAD_CRD).unwrap().start().unwrap();
        let Command::Run(args) = Cli::parse_from(["baton", "run", "--admin-addr=127.0.0.1:0"]).command else {
            unreachable!()
        };
        let cluster = Cluster::of(server.client());
        let operator =
            tokio::spawn(async move { process::run_in(&cluster, &args, Signals::none()).await.unwrap() });
        Self { server, operator: operator.abort_handle() }
    }

    fn api<K: Child>(&self) -> Api<K> {
        Api::default_namespaced(self.server.client())
    }

    async fn apply(&self, spec: Value) {
        let web = json!({"apiVersion": "baton.rs/v1alpha1", "kind": "Workload", "metadata": {"name": "web"}, "spec": spec});
        let params = PatchParams::apply("author").force();
        self.api::<Workload>().patch("web", &params, &Patch::Apply(web)).await.unwrap();
    }

    /// Waits until an object of this name is as it should be.
    async fn until<K: Child>(&self, what: impl Fn(&K) -> bool) -> K {
        let config = watcher::Config::default().fields("metadata.name=web");
        let mut seen = watcher(self.api::<K>(), config).boxed();
        loop {
            match seen.try_next().await.unwrap().unwrap() {
                watcher::Event::Apply(object) | watcher::Event::InitApply(object) if what(&object) => {
                    return object;
                }
                _ => {}
            }
        }
    }

    /// Waits until the Workload says this of itself, for its spec as it is.
    async fn says(&self, condition: &str, status: &str) -> Workload {
        self.until(|workload: &Workload| {
            let told = workload.status.as_ref();
            let told = told.filter(|told| told.observed_generation == workload.metadata.generation);
            let mut conditions = told.into_iter().flat_map(|told| &told.conditions);
            conditions.any(|told| told.type_ == condition && told.status == status)
        })
        .await
    }

    /// Waits until there is no such object any more.
    async fn gone<K: Child>(&self) {
        let is_gone = |object: Option<&K>| object.is_none();
        kube::runtime::wait::await_condition(self.api::<K>(), "web", is_gone).await.unwrap();
    }
}

/// The replica counts that a watcher of the Deployment sees.
struct ReplicaCounts(Arc<Mutex<Vec<i32>>>);

impl ReplicaCounts {
    fn watch(baton: &Baton) -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (counts, deployments) = (seen.clone(), baton.api::<Deployment>());
        tokio::spawn(async move {
            let mut events = watcher(deployments, watcher::Config::default()).applied_objects().boxed();
            while let Ok(Some(deployment)) = events.try_next().await {
                let mut counts = counts.lock().unwrap();
                counts.extend(replicas(&deployment));
                counts.dedup();
            }
        });
        Self(seen)
    }

    fn seen(self) -> Vec<i32> {
        self.0.lock().unwrap().clone()
    }
}

fn image(deployment: &Deployment) -> Option<&str> {
    let pod = deployment.spec.as_ref()?.template.spec.as_ref()?;
    pod.containers.first()?.image.as_deref()
}

fn replicas(deployment: &Deployment) -> Option<i32> {
    deployment.spec.as_ref()?.replicas
}

/// The managers that own the replica count.
fn holders(deployment: &Deployment) -> Vec<&str> {
    let entries = deployment.metadata.managed_fields.iter().flatten();
    let holds = entries.filter(|entry| {
        entry.fields_v1.as_ref().is_some_and(|fields| !fields.0["f:spec"]["f:replicas"].is_null())
    });
    holds.filter_map(|entry| entry.manager.as_deref()).collect()
}

fn template(image: &str) -> Value {
    json!({"spec": {"containers": [{"name": "app", "image": image}]}})
}

#[tokio::test]
async fn a_workload_is_created_handed_over_previewed_and_deleted() {
    let baton = Baton::start();
    baton.apply(json!({"replicas": 3, "template": template("app:1")})).await;
    baton.says("Ready", "True").await;
    let counts = ReplicaCounts::watch(&baton);

    let autoscaling = json!({"minReplicas": 5, "maxReplicas": 8});
    let spec = |image| json!({"replicas": 3, "template": template(image), "autoscaling": autoscaling});
    baton.apply(spec("app:1")).await;
    baton.says("HandedOver", "True").await;
    let deployment: Deployment = baton.until(|live| replicas(live) == Some(5)).await;
    assert_eq!(holders(&deployment), ["kube-controller-manager"]);

    let mut preview = spec("app:2");
    preview["mode"] = json!("Preview");
    baton.apply(preview).await;
    let workload = baton.says("Applied", "Unknown").await;
    let plan = workload.status.unwrap().plan;
    let planned = plan.iter().find(|child| child.kind == "Deployment").unwrap();
    assert_eq!(planned.sets, [r#".spec.template.spec.containers[name="app"].image"#]);
    let untouched = baton.api::<Deployment>().get("web").await.unwrap();
    assert_eq!(untouched.metadata.generation, deployment.metadata.generation);

    baton.apply(spec("app:2")).await;
    baton.until(|live: &Deployment| image(live) == Some("app:2")).await;
    baton.says("Ready", "True").await;
    assert_eq!(counts.seen(), [3, 5], "the replica count never dropped");

    baton.api::<Workload>().delete("web", &DeleteParams::foreground()).await.unwrap();
    baton.gone::<Workload>().await;
    baton.gone::<Deployment>().await;
    baton.gone::<HorizontalPodAutoscaler>().await;
}

#[tokio::test]
async fn what_somebody_else_made_is_adopted() {
    let baton = Baton::start();
    let labels = json!({"app": "web", "team": "shop"});
    let made = serde_json::from_value(json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 4, "minReadySeconds": 1, "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": template("app:1")["spec"]},
        },
    }));
    let author = PostParams { field_manager: Some("kubectl-create".to_owned()), ..PostParams::default() };
    let made = baton.api::<Deployment>().create(&author, &made.unwrap()).await.unwrap();

    let adopting = json!({
        "adoption": "Adopt", "retiredManagers": ["kubectl-create"], "template": template("app:1"),
    });
    baton.apply(adopting).await;
    baton.says("Ready", "True").await;
    let adopted = baton.api::<Deployment>().get("web").await.unwrap();
    assert_eq!(adopted.metadata.uid, made.metadata.uid);
    assert_eq!(adopted.metadata.owner_references.as_ref().map(Vec::len), Some(1));
    assert_eq!(replicas(&adopted), Some(4), "the Workload names no replica count");
    assert_eq!(adopted.spec.unwrap().min_ready_seconds, None, "its author is retired");
}
