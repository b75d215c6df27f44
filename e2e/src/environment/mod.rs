//! The place of a test: a namespace of its own, what users do there, and an operator for it alone.

use baton_crd::Workload;
use baton_testbed::{Cluster, Error, Namespace, ReplicaWatch};
use kube::{
    Api, Client, Resource,
    api::{Patch, PatchParams},
    core::NamespaceResourceScope,
};
use serde_json::{Value, json};

use crate::{Operator, OperatorOptions, apply, client_side_apply};

/// A namespace for one test.
pub struct Place {
    /// The cluster that it is in.
    pub cluster: Cluster,
    /// The administrator's client.
    pub client: Client,
    /// The namespace, for this test alone.
    pub namespace: Namespace,
}

impl Place {
    /// A new namespace, whose name begins with `name`.
    pub async fn new(cluster: &Cluster, name: &str) -> Result<Self, Error> {
        let client = cluster.admin().await?;
        let namespace = cluster.namespace(name).await?;
        Ok(Self { cluster: cluster.clone(), client, namespace })
    }

    /// The namespace's name.
    pub fn ns(&self) -> &str {
        self.namespace.name()
    }

    /// Objects of this type in the namespace.
    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.client.clone(), self.ns())
    }

    /// Applies a Workload as this manager, not forced.
    ///
    /// # Panics
    /// When the Workload has no name.
    pub async fn apply_as(&self, manager: &str, workload: &Value) -> kube::Result<Workload> {
        let name = workload["metadata"]["name"].as_str().expect("a Workload has a name");
        self.api::<Workload>().patch(name, &PatchParams::apply(manager), &Patch::Apply(workload)).await
    }

    /// Watches the replica count of the Deployment `web` from now on.
    pub async fn watch(&self) -> Result<ReplicaWatch, Error> {
        ReplicaWatch::start(&self.cluster, self.ns(), "web").await
    }

    /// `kubectl apply -f -` of new objects: by kubectl on a real control plane, and otherwise by the requests that kubectl sends.
    pub async fn client_side_apply(&self, objects: &[Value]) -> Result<(), Error> {
        if let Cluster::Real(_) = self.cluster {
            return self.kubectl("apply -f -", objects).await.map(drop);
        }
        for object in objects {
            client_side_apply::create(&self.client, self.ns(), object).await?;
        }
        Ok(())
    }

    /// `kubectl apply --server-side -f -`, like [`client_side_apply`](Self::client_side_apply).
    pub async fn server_side_apply(&self, objects: &[Value]) -> Result<(), Error> {
        if let Cluster::Real(_) = self.cluster {
            return self.kubectl("apply --server-side -f -", objects).await.map(drop);
        }
        for object in objects {
            let mut object = object.clone();
            object["metadata"]["namespace"] = json!(self.ns());
            apply(&self.client, object, &PatchParams::apply("kubectl")).await?;
        }
        Ok(())
    }

    /// Runs kubectl in the namespace with these objects as its input, and returns what it printed.
    pub async fn kubectl(&self, line: &str, objects: &[Value]) -> Result<String, Error> {
        let args = line.split(' ').chain(["--namespace", self.ns()]);
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        self.cluster.real().kubectl_command(args)?.input(list.to_string()).run().await?.success()
    }

    /// Starts an operator for this namespace alone. Unless the options name it, it has the same user each time.
    pub async fn operator(&self, options: OperatorOptions) -> Result<Operator, Error> {
        let options = OperatorOptions {
            namespace: Some(self.ns().to_owned()),
            name: options.name.or_else(|| Some(format!("baton-{}", self.namespace))),
            ..options
        };
        Operator::start(&self.cluster, options).await
    }
}

/// The Workload `web` with one container and these fields in its spec.
///
/// # Panics
/// When `spec` isn't an object.
pub fn web(spec: &Value) -> Value {
    workload("web", spec)
}

/// Like [`web`], with this name.
///
/// # Panics
/// When `spec` isn't an object.
pub fn workload(name: &str, spec: &Value) -> Value {
    let mut workload = json!({
        "apiVersion": "baton.rs/v1alpha1",
        "kind": "Workload",
        "metadata": {"name": name},
        "spec": {"template": {"spec": {"containers": [{"name": "app", "image": "app:1"}]}}},
    });
    for (field, value) in spec.as_object().expect("a spec is an object") {
        workload["spec"][field] = value.clone();
    }
    workload
}

/// A user's HorizontalPodAutoscaler of this name for a Deployment, with the rest of its spec.
pub fn autoscaler(name: &str, deployment: &str, mut spec: Value) -> Value {
    spec["scaleTargetRef"] = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": deployment});
    json!({
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name},
        "spec": spec,
    })
}

/// The common fields of a HorizontalPodAutoscaler and of `spec.autoscaling`: limits, the target for the CPU, and the fastest steps,
/// because the API server's default is one in 15 s.
pub fn autoscaling(min: i32, max: i32, target: &Value) -> Value {
    let at_once = json!({
        "stabilizationWindowSeconds": 0,
        "policies": [{"type": "Pods", "value": 100, "periodSeconds": 1}],
    });
    json!({
        "minReplicas": min,
        "maxReplicas": max,
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
        "behavior": {"scaleUp": at_once, "scaleDown": at_once},
    })
}
