//! What is wrong with a cluster is said at the start, and once it is mended the operator goes on without being started again.

use baton_e2e::{Operator, OperatorOptions};
use baton_testbed::{ControlPlane, eventually};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, api::DeleteParams};
use serde_json::{Value, json};

use crate::skew::{
    a_workload_that_this_version_cannot_read_is_reported_and_hides_no_other,
    under_an_older_definition_nothing_is_written,
};

const DEFINITION: &str = "workloads.baton.rs";

/// A cluster of its own, since the definition and the permissions are the whole cluster's.
struct Scene {
    cluster: ControlPlane,
}

impl Scene {
    /// A cluster in which everything is installed.
    async fn start() -> Self {
        let cluster = ControlPlane::start().await.unwrap();
        let operator = Operator::start(&cluster, options(false)).await.unwrap();
        assert_eq!(operator.readiness().await, Some((200, "ok\n".to_owned())));
        assert!(operator.stop().await.unwrap().success());
        Self { cluster }
    }

    /// Starts an operator that can't work; it has to say this, and to become ready once it is mended.
    async fn says_until_mended(&self, words: &[&str], mend: impl AsyncFnOnce()) {
        let operator = Operator::start(&self.cluster, options(true)).await.unwrap();
        says(&operator, |code, body| code == 503 && words.iter().all(|word| body.contains(word))).await;
        mend().await;
        says(&operator, |code, _| code == 200).await;
        assert!(operator.status().is_none(), "the same process");
    }

    async fn kubectl(&self, line: &str) -> String {
        self.cluster.kubectl(line.split(' ')).await.unwrap().success().unwrap()
    }

    async fn patch(&self, what: &str, operations: Value) {
        let [kind, name] = what.split('/').collect::<Vec<_>>()[..] else { panic!("{what}") };
        let operations = operations.to_string();
        let args = ["patch", kind, name, "--type", "json", "--patch", &operations];
        self.cluster.kubectl(args).await.unwrap().success().unwrap();
    }

    async fn install(&self) {
        let manifests = concat!(env!("CARGO_MANIFEST_DIR"), "/../manifests");
        let install = ["apply", "--server-side", "--force-conflicts", "-k", manifests];
        self.cluster.kubectl(install).await.unwrap().success().unwrap();
    }
}

fn options(unready: bool) -> OperatorOptions {
    OperatorOptions { name: Some("baton-selfcheck".to_owned()), unready, ..OperatorOptions::default() }
}

/// Waits until its readiness is like this.
async fn says(operator: &Operator, holds: impl Fn(u16, &str) -> bool) {
    eventually("the operator's readiness", async || match operator.readiness().await {
        Some((code, body)) if holds(code, &body) => Ok(()),
        said => Err((said, operator.log_tail(30))),
    })
    .await;
}

/// One after the other, and the one that leaves another definition behind comes last.
#[tokio::test]
async fn what_is_wrong_with_a_cluster_and_what_cannot_be_read_is_said() {
    let scene = Scene::start().await;
    what_keeps_the_operator_from_working_is_said_until_it_is_mended(&scene).await;
    under_an_older_definition_nothing_is_written(&scene.cluster).await;
    a_workload_that_this_version_cannot_read_is_reported_and_hides_no_other(&scene.cluster).await;
}

async fn what_keeps_the_operator_from_working_is_said_until_it_is_mended(scene: &Scene) {
    let fields = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    let older = json!([{"op": "remove", "path": format!("{fields}/rollout")}]);
    scene.patch(&format!("crd/{DEFINITION}"), older).await;
    scene.published_without_rollout().await;
    let words = ["older than this operator", ".spec.rollout", "kubectl apply --server-side"];
    scene.says_until_mended(&words, async || scene.install().await).await;

    let rules = scene.kubectl("get clusterrole baton --output jsonpath={.rules}").await;
    let rules: Vec<Value> = serde_json::from_str(&rules).unwrap();
    let services = rules.iter().position(|rule| rule["resources"] == json!(["services"])).unwrap();
    let fewer = json!([{"op": "remove", "path": format!("/rules/{services}")}]);
    scene.patch("clusterrole/baton", fewer).await;
    let words = ["apiGroups: [\"\"], resources: [services]", "ClusterRole"];
    scene.says_until_mended(&words, async || scene.install().await).await;

    let definitions: Api<CustomResourceDefinition> = Api::all(scene.cluster.admin().await.unwrap());
    definitions.delete(DEFINITION, &DeleteParams::default()).await.unwrap();
    eventually("the API server to serve no Workloads", async || {
        let served = scene.cluster.kubectl(["get", "--raw", "/apis/baton.rs/v1alpha1"]).await.unwrap();
        if served.success().is_ok() { Err("it serves them") } else { Ok(()) }
    })
    .await;
    let words = ["CustomResourceDefinition isn't installed"];
    scene.says_until_mended(&words, async || scene.install().await).await;
}

impl Scene {
    /// The API server publishes a changed definition a moment later.
    async fn published_without_rollout(&self) {
        eventually("the changed definition to be published", async || {
            let published = self.kubectl("get --raw /openapi/v3/apis/baton.rs/v1alpha1").await;
            if published.contains("\"rollout\"") { Err("the old one is") } else { Ok(()) }
        })
        .await;
    }
}
