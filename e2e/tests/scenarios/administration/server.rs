//! The API server accepts every installation without a warning, and its pods are admitted.

use baton_e2e::guide;
use baton_testbed::{Cluster, ControlPlane};

use super::objects::{INSTALLATIONS, Installation, helm, repository};

/// The Prometheus operator's CRDs, with just enough of a schema to store objects of them.
fn prometheus_crds() -> String {
    let crd = |kind: &str, plural: &str| {
        format!(
            r#"{{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
              "metadata": {{"name": "{plural}.monitoring.coreos.com"}},
              "spec": {{"group": "monitoring.coreos.com", "scope": "Namespaced",
                "names": {{"kind": "{kind}", "plural": "{plural}", "singular": "{singular}"}},
                "versions": [{{"name": "v1", "served": true, "storage": true, "schema": {{"openAPIV3Schema":
                  {{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}}]}}}}"#,
            singular = kind.to_lowercase(),
        )
    };
    [crd("ServiceMonitor", "servicemonitors"), crd("PrometheusRule", "prometheusrules")].join("\n---\n")
}

/// A control plane with the Prometheus operator's CRDs.
pub async fn start() -> Cluster {
    // As in OpenShift. The plugin refuses more than others do, so what works with it works without.
    let enforced = "--enable-admission-plugins=OwnerReferencesPermissionEnforcement";
    let cluster: Cluster = ControlPlane::options().api_server_arg(enforced).start().await.unwrap().into();
    let apply = ["apply", "--server-side", "--filename", "-"];
    let applied =
        cluster.real().kubectl_command(apply).unwrap().input(prometheus_crds()).run().await.unwrap();
    applied.success().unwrap();
    kubectl(&cluster, "wait --for=condition=Established crd --all --timeout=30s").await;
    cluster
}

pub async fn kubectl(cluster: &Cluster, line: &str) -> String {
    cluster.real().kubectl(line.split(' ')).await.unwrap().success().unwrap()
}

pub async fn every_kustomization_is_accepted_without_a_warning_and_its_pods_are_admitted(cluster: &Cluster) {
    for installation in INSTALLATIONS {
        let Installation { section, namespace, .. } = installation;
        let folder = installation.folder();
        for commands in guide::commands("docs/install.md", section).unwrap() {
            let commands = format!("exec 2>&1\n{commands}");
            let output = guide::run(cluster.real().kubeconfig(), &commands)
                .await
                .unwrap_or_else(|error| panic!("{error}"));
            assert!(!output.contains("Warning"), "{section}: {output}");
            if output.contains(&format!("namespace/{namespace} created")) {
                // From now on, pods that break the strictest standard are refused.
                let label = "pod-security.kubernetes.io/enforce=restricted";
                kubectl(cluster, &format!("label namespace {namespace} {label}")).await;
            }
        }
        let mut left = vec![format!("manifests/{folder}")];
        if folder == "overlays/single-namespace" {
            kubectl(cluster, &format!("delete namespace {namespace}")).await;
            left = vec!["manifests/crd".to_owned(), "manifests/policies".to_owned()];
        }
        if folder == "overlays/shard" {
            left.push("manifests".to_owned());
        }
        for folder in left {
            let folder = repository(&folder).display().to_string();
            kubectl(cluster, &format!("delete --ignore-not-found --kustomize {folder}")).await;
        }
    }
}

/// Runs Helm as administrator.
async fn helm_on(cluster: &Cluster, args: &[&str]) -> String {
    let mut command = helm();
    command.args(args).env("KUBECONFIG", cluster.real().kubeconfig());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert!(output.status.success(), "helm {args:?}: {stdout}{stderr}");
    stdout
}

pub async fn helm_installs_upgrades_rolls_back_and_uninstalls_and_the_crd_stays(cluster: &Cluster) {
    let chart = repository("charts/baton").display().to_string();
    let release = ["--namespace", "baton-system"];
    let with = |args: &[&'static str], more: &[&'static str]| {
        let args: Vec<String> = [args, &release, more].concat().into_iter().map(str::to_owned).collect();
        args.into_iter().map(|arg| if arg == "CHART" { chart.clone() } else { arg }).collect::<Vec<_>>()
    };
    let run = async |args: Vec<String>| {
        helm_on(cluster, &args.iter().map(String::as_str).collect::<Vec<_>>()).await
    };
    let replicas = "get deployment baton --namespace baton-system --output jsonpath={.spec.replicas}";

    let output = run(with(
        &["install", "baton", "CHART", "--create-namespace", "--wait"],
        &["--set", "monitoring.enabled=true"],
    ))
    .await;
    assert!(output.contains("Workloads of all namespaces"), "{output}");
    kubectl(cluster, "wait --for=condition=Established crd/workloads.baton.rs --timeout=30s").await;

    // A release is kept in a Secret, which can't be larger than 1 MiB. It has the whole chart, and all rendered objects.
    let size = "get secrets --namespace baton-system --selector owner=helm --output jsonpath={.items[0].data.release}";
    let size = kubectl(cluster, size).await.len();
    assert!(size < 700_000, "{size} bytes");

    run(with(&["upgrade", "baton", "CHART", "--wait"], &["--reuse-values", "--set", "replicas=3"])).await;
    assert_eq!(kubectl(cluster, replicas).await, "3");
    run(with(&["rollback", "baton", "--wait"], &[])).await;
    assert_eq!(kubectl(cluster, replicas).await, "2");

    let sample = repository("manifests/samples/minimal.yaml").display().to_string();
    kubectl(cluster, &format!("apply --server-side --filename {sample}")).await;
    run(with(&["uninstall", "baton", "--wait"], &[])).await;
    kubectl(cluster, "get bwl minimal").await;
    assert_eq!(
        kubectl(cluster, "get clusterroles,priorityclasses --output name").await.matches("baton").count(),
        0
    );

    // Helm recognizes the CRD that stayed by its labels.
    run(with(&["install", "baton", "CHART", "--wait"], &["--set", "crds.keep=false"])).await;
    run(with(&["uninstall", "baton", "--wait"], &[])).await;
    assert!(!kubectl(cluster, "get crd --output name").await.contains("workloads.baton.rs"));
    kubectl(cluster, "delete namespace baton-system").await;
}
