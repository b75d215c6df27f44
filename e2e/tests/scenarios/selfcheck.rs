//! At its start the operator reports what is wrong with a cluster, and continues without a restart once it is fixed.

use baton_e2e::{End, Operator, OperatorOptions, apply_manifests, scenarios};
use baton_testbed::{Cluster, eventually};
use k8s_openapi::{
    api::rbac::v1::{ClusterRole, PolicyRule},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client,
    api::{DeleteParams, Patch, PatchParams},
};
use serde_json::json;

use crate::skew::{
    a_spec_that_never_had_what_managed_fields_name_is_applied,
    a_spec_that_was_stored_under_an_older_crd_is_held,
    a_workload_that_this_version_cannot_read_is_reported_and_hides_no_other,
    under_an_older_crd_nothing_is_written, while_the_crd_cannot_be_read_nothing_is_written,
};

scenarios! {
    what_is_wrong_with_a_cluster_and_what_cannot_be_read_is_reported,
}

const CRD: &str = "workloads.baton.rs";

/// A cluster of its own, since the CRD and the permissions are cluster-wide.
struct WholeCluster {
    cluster: Cluster,
    client: Client,
}

impl WholeCluster {
    /// A cluster in which everything is installed.
    async fn start(cluster: &Cluster) -> Self {
        let cluster = cluster.alone().await.unwrap();
        let client = cluster.admin().await.unwrap();
        let operator = Operator::start(&cluster, options(false)).await.unwrap();
        assert_eq!(operator.readiness().await, Some((200, "ok\n".to_owned())));
        assert_eq!(operator.stop().await.unwrap(), End::Success);
        Self { cluster, client }
    }

    /// Starts an operator that can't work. It has to report why, and to become ready after `fix`.
    async fn reports_until_fixed(&self, texts: &[&str], fix: impl AsyncFnOnce()) {
        let operator = Operator::start(&self.cluster, options(true)).await.unwrap();
        eventually("the reasons to be reported", async || match operator.readiness().await {
            Some((503, body)) => {
                // All clients of the port may read the response.
                assert!(!body.contains("apiGroups"), "{body}");
                let logs = operator.logs();
                let is_reported =
                    body.contains("see the log") && texts.iter().all(|text| logs.contains(text));
                if is_reported { Ok(()) } else { Err((body, logs)) }
            }
            other => Err((format!("{other:?}"), operator.logs())),
        })
        .await;
        fix().await;
        operator.wait_until_ready().await.unwrap();
        assert!(operator.end().is_none(), "the same run");
    }

    fn crds(&self) -> Api<CustomResourceDefinition> {
        Api::all(self.client.clone())
    }

    async fn install(&self) {
        apply_manifests(&self.cluster).await.unwrap();
    }

    /// The API server's response at this path, or nothing if it is an error.
    async fn raw(&self, path: &str) -> Option<String> {
        self.client.request_text(http::Request::get(path).body(Vec::new()).unwrap()).await.ok()
    }
}

fn removal(path: &str) -> Patch<()> {
    Patch::Json(serde_json::from_value(json!([{"op": "remove", "path": path}])).unwrap())
}

fn options(unready: bool) -> OperatorOptions {
    OperatorOptions { name: Some("baton-selfcheck".to_owned()), unready, ..OperatorOptions::default() }
}

/// One after the other; the one that leaves another CRD behind comes last.
async fn what_is_wrong_with_a_cluster_and_what_cannot_be_read_is_reported(cluster: Cluster) {
    let whole = WholeCluster::start(&cluster).await;
    what_keeps_the_operator_from_working_is_reported_until_it_is_fixed(&whole).await;
    under_an_older_crd_nothing_is_written(&whole.cluster).await;
    while_the_crd_cannot_be_read_nothing_is_written(&whole.cluster).await;
    a_spec_that_was_stored_under_an_older_crd_is_held(&whole.cluster).await;
    a_spec_that_never_had_what_managed_fields_name_is_applied(&whole.cluster).await;
    a_workload_that_this_version_cannot_read_is_reported_and_hides_no_other(&whole.cluster).await;
}

async fn what_keeps_the_operator_from_working_is_reported_until_it_is_fixed(whole: &WholeCluster) {
    let params = PatchParams::default();
    let fields = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    let older = removal(&format!("{fields}/rollout"));
    whole.crds().patch(CRD, &params, &older).await.unwrap();
    // The API server publishes a changed CRD a moment later.
    eventually("the changed CRD to be published", async || {
        let published = whole.raw("/openapi/v3/apis/baton.rs/v1alpha1").await;
        if published.is_some_and(|text| text.contains("\"rollout\"")) {
            Err("the old one is")
        } else {
            Ok(())
        }
    })
    .await;
    let texts = ["older than this operator", ".spec.rollout", "kubectl apply --server-side"];
    whole.reports_until_fixed(&texts, async || whole.install().await).await;

    let cluster_roles: Api<ClusterRole> = Api::all(whole.client.clone());
    let rules = cluster_roles.get("baton").await.unwrap().rules.unwrap();
    let is_it = |rule: &PolicyRule| rule.resources.as_deref() == Some(&["services".to_owned()]);
    let services = rules.iter().position(is_it).unwrap();
    cluster_roles.patch("baton", &params, &removal(&format!("/rules/{services}"))).await.unwrap();
    let texts = ["apiGroups: [\"\"], resources: [services]", "ClusterRole"];
    whole.reports_until_fixed(&texts, async || whole.install().await).await;

    whole.crds().delete(CRD, &DeleteParams::default()).await.unwrap();
    eventually("the API server to serve no Workloads", async || {
        whole.raw("/apis/baton.rs/v1alpha1").await.map_or(Ok(()), |_| Err("it serves them"))
    })
    .await;
    let texts = ["the CRD isn't installed"];
    whole.reports_until_fixed(&texts, async || whole.install().await).await;
}
