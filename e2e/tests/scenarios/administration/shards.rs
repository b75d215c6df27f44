//! A shard beside the usual installation, installed either way: each has its own Lease, and the API server
//! assigns its requests to its own flow schemas.

use std::collections::BTreeMap;

use baton_crd::labels;
use baton_e2e::{End, Operator, OperatorOptions, guide};
use baton_testbed::{Cluster, Metrics, eventually};

use super::server::kubectl;

const HOME: &str = "baton-system";

/// The operator of an installation, as its pods would run it.
async fn operator(cluster: &Cluster, name: &str, args: &[&str]) -> Operator {
    let args = ["--leader-elect"].iter().chain(args).map(|arg| (*arg).to_owned()).collect();
    let (home, name) = (Some(HOME.to_owned()), Some(name.to_owned()));
    let options = OperatorOptions { home, name, args, installed: true, ..OperatorOptions::default() };
    Operator::start(cluster, options).await.unwrap()
}

/// How many requests of each `FlowSchema` the API server has dispatched, and at which priority level.
async fn dispatched(cluster: &Cluster) -> BTreeMap<(String, String), u64> {
    let text = kubectl(cluster, "get --raw /metrics").await;
    let metrics = Metrics::parse(&text).unwrap();
    let mut counts = BTreeMap::new();
    for (schema, level) in SCHEMAS {
        let labels = [("flow_schema", schema), ("priority_level", level)];
        let count = metrics.count("apiserver_flowcontrol_dispatched_requests_total", &labels);
        counts.insert((schema.to_owned(), level.to_owned()), count);
    }
    counts
}

/// The flow schemas that must match Baton's requests, each with its priority level.
const SCHEMAS: [(&str, &str); 4] = [
    ("baton", "baton"),
    ("baton-leader-election", "leader-election"),
    ("baton-second", "baton"),
    ("baton-leader-election-second", "leader-election"),
];

async fn follow(cluster: &Cluster, section: &str) {
    for commands in guide::commands("docs/install.md", section).unwrap() {
        let done = guide::run(cluster.real().kubeconfig(), &commands).await;
        done.unwrap_or_else(|error| panic!("{section}: {error}"));
    }
}

/// Asserts that both run, lead, and reconcile their own Workloads.
async fn both_work(cluster: &Cluster, way: &str) {
    let before = dispatched(cluster).await;
    let begin = cluster.audit().unwrap().mark().unwrap();
    let usual = operator(cluster, "baton", &[]).await;
    let second = operator(cluster, "baton-second", &["--shard=second"]).await;
    let namespace = cluster.namespace("shards").await.unwrap();
    let ns = namespace.name();
    for name in ["usual", "second"] {
        let sample = super::objects::repository("manifests/samples/minimal.yaml");
        let sample =
            std::fs::read_to_string(sample).unwrap().replace("name: minimal", &format!("name: {name}"));
        let args = ["apply", "--server-side", "--namespace", ns, "--filename", "-"];
        cluster.real().kubectl_command(args).unwrap().input(sample).run().await.unwrap().success().unwrap();
    }
    kubectl(cluster, &format!("label workloads.baton.rs second --namespace {ns} {}=second", labels::SHARD))
        .await;
    let wait = format!("wait --for=condition=Ready workloads.baton.rs --all --namespace {ns} --timeout 60s");
    kubectl(cluster, &wait).await;
    let column = format!("get deployments --namespace {ns} --label-columns {} --no-headers", labels::SHARD);
    eventually("each to have its own Deployment", async || {
        let shown = kubectl(cluster, &column).await;
        let shards: Vec<_> = shown.lines().map(|line| line.ends_with("second")).collect();
        if shards == [true, false] { Ok(()) } else { Err(shown) }
    })
    .await;
    let leases = kubectl(cluster, &format!("get leases --namespace {HOME} --output name")).await;
    let both = "lease.coordination.k8s.io/baton\nlease.coordination.k8s.io/baton-second\n";
    assert_eq!(leases, both, "{way}");

    eventually("requests of every FlowSchema", async || {
        let after = dispatched(cluster).await;
        if after.iter().all(|(schema, count)| *count > before[schema] + 2) {
            Ok(())
        } else {
            Err((before.clone(), after))
        }
    })
    .await;
    for operator in [&usual, &second] {
        assert_eq!(operator.stop().await.unwrap(), End::Success);
        let requests = cluster.audit().unwrap().by_since(operator.user(), begin).unwrap();
        assert!(!requests.is_empty());
        let denied = requests.code(403);
        assert!(denied.is_empty(), "{way}: {denied}");
    }
}

pub async fn a_shard_runs_beside_the_usual_installation_with_its_own_flow_schemas(cluster: &Cluster) {
    follow(cluster, "Install a shard").await;
    both_work(cluster, "kustomize").await;
    for folder in ["manifests/overlays/shard", "manifests"] {
        let folder = super::objects::repository(folder).display().to_string();
        kubectl(cluster, &format!("delete --ignore-not-found --kustomize {folder}")).await;
    }

    follow(cluster, "A shard with Helm").await;
    both_work(cluster, "Helm").await;
    let commands = "helm uninstall baton-second --namespace baton-system --wait\n\
                    helm uninstall baton --namespace baton-system --wait\n\
                    kubectl delete customresourcedefinition workloads.baton.rs\n\
                    kubectl delete namespace baton-system";
    guide::run(cluster.real().kubeconfig(), commands).await.unwrap_or_else(|error| panic!("{error}"));
}
