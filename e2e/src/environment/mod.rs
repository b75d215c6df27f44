//! The environment of a scenario: a namespace of its own on a cluster, what users do there, and the operator that watches it.

mod objects;
mod web;

use baton_crd::Workload;
use baton_testbed::{Cluster, Error, Mark, Namespace, ReplicaWatch};
use kube::{
    Api, Client, Resource,
    api::{Patch, PatchParams},
    core::NamespaceResourceScope,
};
use serde_json::{Value, json};

pub use self::{
    objects::{autoscaler, autoscaling, web, workload},
    web::{entries_of, image, replicas},
};
use crate::{Operator, OperatorOptions, apply, client_side_apply};

/// A namespace for one scenario, and the operator in it.
///
/// [`start`](Self::start) is what most scenarios begin with. [`new`](Self::new) is for those that start their operators themselves.
pub struct Environment {
    // Dropped first: a running operator recreates what is deleted with the namespace.
    operator: Option<Operator>,
    /// How the operator was started.
    options: OperatorOptions,
    /// The cluster that it is in.
    pub cluster: Cluster,
    /// The administrator's client.
    pub client: Client,
    /// The namespace, for this scenario alone.
    pub namespace: Namespace,
    /// The start of this environment in the audit log, which all scenarios share; absent if the log can't be read.
    begin: Option<Mark>,
}

impl Environment {
    /// A new namespace, whose name begins with `name`, without an operator.
    pub async fn new(cluster: &Cluster, name: &str) -> Result<Self, Error> {
        let (operator, options) = (None, OperatorOptions::default());
        let client = cluster.admin().await?;
        let namespace = cluster.namespace(name).await?;
        let begin = cluster.audit().ok().map(|log| log.mark()).transpose()?;
        Ok(Self { operator, options, cluster: cluster.clone(), client, namespace, begin })
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
    pub async fn start_operator(&self, options: OperatorOptions) -> Result<Operator, Error> {
        let options = OperatorOptions {
            namespace: Some(self.ns().to_owned()),
            name: options.name.or_else(|| Some(format!("baton-{}", self.namespace))),
            ..options
        };
        Operator::start(&self.cluster, options).await
    }
}
