//! The place in which a case is played: a namespace, the actions of users and other controllers, and the state of the objects.

use std::fmt::Debug;

use baton_crd::Workload;
use baton_e2e::{Environment, Operator, OperatorOptions, web};
use baton_testbed::{Cluster, Proxy, ReplicaOwner, ReplicaWatch, eventually};
use k8s_openapi::api::{apps::v1::Deployment, autoscaling::v2::HorizontalPodAutoscaler};
use kube::{
    Resource,
    api::{Patch, PatchParams},
    core::NamespaceResourceScope,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::cases::{HandoverCase, HandoverStep, State};

/// The one Workload, and its children.
const NAME: &str = "web";

pub struct Attempt {
    /// Which run this is, for messages.
    pub title: String,
    env: Environment,
}

impl Attempt {
    pub async fn new(cluster: &Cluster, title: String) -> Self {
        Self { title, env: Environment::new(cluster, "crash").await.unwrap() }
    }

    pub fn cluster(&self) -> &Cluster {
        &self.env.cluster
    }

    /// Starts the operator for this namespace alone, always as the same user.
    pub async fn operator(&self, proxy: Option<&Proxy>) -> Operator {
        let by_way_of = proxy.map(Proxy::route);
        let options = OperatorOptions { by_way_of, ..OperatorOptions::default() };
        match self.env.start_operator(options).await {
            Ok(operator) => operator,
            Err(error) => panic!("{}: {}", self.title, error.report()),
        }
    }

    pub async fn watch(&self) -> ReplicaWatch {
        self.env.watch().await.unwrap()
    }

    /// Takes these steps, one after the other.
    pub async fn act(&self, steps: &[HandoverStep]) {
        for step in steps {
            match step {
                HandoverStep::Apply(spec) => self.apply(spec).await,
                HandoverStep::ClientSideApply(objects) => self.env.client_side_apply(objects).await.unwrap(),
                HandoverStep::ServerSideApply(objects) => self.env.server_side_apply(objects).await.unwrap(),
                HandoverStep::Scale(replicas) => self.scale(*replicas).await,
                HandoverStep::Await(state) => self.reach(state).await,
                HandoverStep::AwaitReplicas(replicas) => self.reach_replicas(*replicas).await,
            }
        }
    }

    async fn apply(&self, spec: &Value) {
        let workload = web(spec);
        self.retry("apply the Workload", async || self.env.apply_as("user", &workload).await).await;
    }

    async fn scale(&self, replicas: i32) {
        let params = PatchParams { field_manager: Some("keda".to_owned()), ..PatchParams::default() };
        let scale = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        self.retry("scale the Deployment", async || {
            self.env.api::<Deployment>().patch_scale(NAME, &params, &scale).await
        })
        .await;
    }

    /// Waits for this state.
    pub async fn reach(&self, wanted: &State) {
        self.eventually(&format!("{wanted:?}"), async || self.has_reached(wanted).await).await;
    }

    async fn reach_replicas(&self, replicas: i32) {
        self.eventually(&format!("{replicas} replicas"), async || {
            let count = self.get::<Deployment>().await?.and_then(|deployment| deployment.spec?.replicas);
            if count == Some(replicas) { Ok(()) } else { Err(format!("{count:?}")) }
        })
        .await;
    }

    /// Checks for this state; the error describes another.
    async fn has_reached(&self, wanted: &State) -> Result<(), String> {
        let workload = self.get::<Workload>().await?.ok_or("there is no Workload")?;
        let status = workload.status.clone().unwrap_or_default();
        let is_current = status.observed_generation.is_some()
            && status.observed_generation == workload.metadata.generation;
        let is_ready = status.conditions.iter().any(|one| one.type_ == "Ready" && one.status == "True");
        let ownership = status.replica_ownership.as_ref();
        // The rest is read only if the status allows this state.
        if !is_current || !is_ready || ownership.is_none_or(|seen| seen.phase != wanted.phase) {
            return Err(format!("the status is current: {is_current}, and {status:?}"));
        }
        let deployment = self.get::<Deployment>().await?.ok_or("there is no Deployment")?;
        let autoscaler = self.get::<HorizontalPodAutoscaler>().await?;
        let spec = deployment.spec.unwrap_or_default();
        let seen = State {
            phase: wanted.phase,
            replicas: spec.replicas.unwrap_or_default(),
            owners: ReplicaOwner::all(&deployment.metadata).iter().map(ReplicaOwner::to_string).collect(),
            has_autoscaler: autoscaler.is_some(),
        };
        if seen == *wanted { Ok(()) } else { Err(format!("{seen:?}; {status:?}")) }
    }

    /// As [`eventually`], with the title in the message.
    async fn eventually<T, E: Debug>(&self, what: &str, probe: impl AsyncFn() -> Result<T, E>) -> T {
        eventually(&format!("{what} in {}", self.title), probe).await
    }

    /// Retries while the API server can't be reached.
    async fn retry<T>(&self, what: &str, request: impl AsyncFn() -> kube::Result<T>) -> T {
        self.eventually(what, async || match request().await {
            Err(kube::Error::Api(refusal)) => panic!("{}: can't {what}: {refusal}", self.title),
            outcome => outcome,
        })
        .await
    }

    async fn get<K>(&self) -> Result<Option<K>, String>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + Debug + DeserializeOwned,
    {
        self.env.api::<K>().get_opt(NAME).await.map_err(|error| error.to_string())
    }

    /// Compares all replica counts that were stored with those that the case allows.
    pub async fn judge(&self, watch: &ReplicaWatch, case: &HandoverCase) {
        let history = match watch.history().await {
            Ok(history) => history,
            Err(error) => panic!("{}: {}", self.title, error.report()),
        };
        assert_eq!(
            history.values(),
            case.values,
            "{}: a replica count that nothing asked for:\n{history}",
            self.title
        );
    }
}
