//! How the API server admits a Workload: it refuses an invalid one with a message that says what to do, and accepts and
//! merges a valid one like the built-in kinds. `kubectl` can explain it.
//!
//! Baton doesn't run here, and all but the last tests store nothing: they use a dry run.

// `json!` as an argument reads better without a `&` before it.
#![allow(clippy::needless_pass_by_value)]

use std::fs;
use std::path::{Path, PathBuf};

use baton_crd::Workload;
use baton_e2e::{
    guide::{self, Block},
    install_manifests, scenarios,
};
use baton_merge::yaml;
use baton_testbed::{Cluster, eventually};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::ResourceExt;
use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use serde::Deserialize;
use serde_json::{Value, json};

scenarios! {
    the_crd_is_structural_and_established,
    a_spec_that_breaks_a_rule_is_refused_with_what_to_do,
    a_key_with_a_default_may_be_left_out,
    nothing_but_list_keys_is_defaulted_below_the_template,
    null_below_the_template_is_accepted_as_in_a_deployment,
    a_field_that_is_left_out_gets_its_default,
    a_template_is_owned_as_in_a_deployment,
    the_samples_are_accepted_also_from_two_teams,
}
scenarios! {
    only real, because "by kubectl":
    kubectl_explains_a_workload,
    kubectl_scales_a_workload_and_lists_its_columns,
}

/// Workloads as they are on the wire, in a cluster with their CRD: the tests are about what people write, not about
/// what our types can hold.
async fn workloads(cluster: &Cluster, namespace: &str) -> Api<DynamicObject> {
    install_manifests(cluster).await.unwrap();
    let client = cluster.admin().await.unwrap();
    Api::namespaced_with(client, namespace, &ApiResource::erase::<Workload>(&()))
}

/// The smallest valid Workload, with its spec overlaid by `spec`.
fn workload(name: &str, spec: Value) -> DynamicObject {
    serde_json::from_value(baton_e2e::workload(name, &spec)).unwrap()
}

/// Creates a Workload in a dry run.
async fn create(cluster: &Cluster, name: &str, spec: Value) -> kube::Result<DynamicObject> {
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    workloads(cluster, "default").await.create(&dry_run, &workload(name, spec)).await
}

/// As [`create`], by server-side apply.
async fn apply(cluster: &Cluster, name: &str, spec: Value) -> kube::Result<DynamicObject> {
    let dry_run = PatchParams { dry_run: true, ..PatchParams::apply("team") };
    workloads(cluster, "default").await.patch(name, &dry_run, &Patch::Apply(&workload(name, spec))).await
}

/// A row of `admission.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    /// `$9` is a name of so many letters.
    name: Option<String>,
    spec: Value,
    /// Part of the message with which the spec is refused; if absent, the spec is accepted.
    advice: Option<String>,
}

fn template(container: Value) -> Value {
    json!({"template": {"spec": {"containers": [container]}}})
}

async fn the_crd_is_structural_and_established(cluster: Cluster) {
    install_manifests(&cluster).await.unwrap();
    let crds: Api<CustomResourceDefinition> = Api::all(cluster.admin().await.unwrap());
    let conditions = crds.get("workloads.baton.rs").await.unwrap().status.unwrap().conditions.unwrap();
    let status =
        |type_: &str| conditions.iter().find(|one| one.type_ == type_).map(|one| one.status.as_str());
    assert_eq!(status("NonStructuralSchema"), None, "{conditions:?}");
    assert_eq!(status("NamesAccepted"), Some("True"), "{conditions:?}");
    assert_eq!(status("Established"), Some("True"), "{conditions:?}");
}

async fn a_spec_that_breaks_a_rule_is_refused_with_what_to_do(cluster: Cluster) {
    let rules: Vec<Rule> = yaml::from_str(include_str!("admission.yaml")).unwrap();
    let mut wrong = Vec::new();
    for rule in &rules {
        let name = rule.name.as_deref().unwrap_or("shop");
        let letters = name.strip_prefix('$').map(|count| "a".repeat(count.parse().unwrap()));
        let response = create(&cluster, letters.as_deref().unwrap_or(name), rule.spec.clone()).await;
        let is_right = match (&response, &rule.advice) {
            (Ok(_), None) => true,
            (Err(kube::Error::Api(status)), Some(advice)) => {
                status.code == 422 && status.message.contains(advice)
            }
            _ => false,
        };
        if !is_right {
            wrong.push(format!("{rule:?}\n   got: {response:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

async fn a_key_with_a_default_may_be_left_out(cluster: Cluster) {
    let port = json!({"name": "app", "ports": [{"containerPort": 80}]});
    let created = create(&cluster, "shop", template(port)).await.unwrap();
    let ports = &created.data["spec"]["template"]["spec"]["containers"][0]["ports"];
    assert_eq!(ports, &json!([{"containerPort": 80, "protocol": "TCP"}]));
}

async fn nothing_but_list_keys_is_defaulted_below_the_template(cluster: Cluster) {
    let spec = template(json!({"name": "app", "image": "nginx:1.29"}));
    let created = create(&cluster, "shop", spec.clone()).await.unwrap();
    assert_eq!(created.data["spec"]["template"], spec["template"]);
}

async fn null_below_the_template_is_accepted_as_in_a_deployment(cluster: Cluster) {
    let nulls = json!({"template": {
        "metadata": {"creationTimestamp": null, "labels": null},
        "spec": {"affinity": null, "nodeSelector": null, "containers": [{"name": "app", "env": null, "resources": null}]}
    }});
    create(&cluster, "shop", nulls.clone()).await.unwrap();
    apply(&cluster, "shop", nulls).await.unwrap();

    let no_metadata = json!({"template": {"metadata": null, "spec": {"containers": [{"name": "app"}]}}});
    create(&cluster, "shop", no_metadata.clone()).await.unwrap();
    apply(&cluster, "shop", no_metadata).await.unwrap();
}

async fn a_field_that_is_left_out_gets_its_default(cluster: Cluster) {
    let spec =
        create(&cluster, "shop", json!({"service": {"ports": [{"port": 80}]}})).await.unwrap().data["spec"]
            .take();
    assert_eq!(
        (&spec["adoption"], &spec["mode"], spec.get("replicas")),
        (&json!("Refuse"), &json!("Enforce"), None)
    );
    assert_eq!(spec["service"], json!({"ports": [{"port": 80, "protocol": "TCP"}]}));
}

/// The part of `managedFields` that belongs to the template, of the only manager.
fn owned_template(object: &impl ResourceExt) -> Value {
    let [entry] = object.managed_fields() else { panic!("{:?}", object.managed_fields()) };
    entry.fields_v1.as_ref().unwrap().0["f:spec"]["f:template"].clone()
}

async fn a_template_is_owned_as_in_a_deployment(cluster: Cluster) {
    let template = json!({
        "metadata": {"labels": {"app": "shop"}, "annotations": {"a": "b"}},
        "spec": {
            "containers": [
                {
                    "name": "app", "image": "nginx:1.29", "command": ["a", "b"],
                    "env": [{"name": "A", "value": "1"},
                        {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}}],
                    "ports": [{"containerPort": 80}, {"containerPort": 53, "protocol": "UDP"}],
                    "resources": {"limits": {"cpu": 1, "memory": "1Gi"}},
                    "readinessProbe": {"httpGet": {"path": "/", "port": 80}},
                    "volumeMounts": [{"name": "data", "mountPath": "/data"}],
                    "securityContext": {"capabilities": {"drop": ["ALL"]}}
                },
                {"name": "side", "image": "nginx:1.29"}
            ],
            "imagePullSecrets": [{"name": "pull"}],
            "nodeSelector": {"disk": "ssd"},
            "tolerations": [{"key": "a", "operator": "Exists"}],
            "hostAliases": [{"ip": "127.0.0.1", "hostnames": ["a"]}],
            "topologySpreadConstraints": [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": {"matchLabels": {"app": "shop"}}}],
            "volumes": [{"name": "data", "emptyDir": {}},
                {"name": "all", "projected": {"sources": [{"secret": {"name": "s", "items": [{"key": "k", "path": "p"}]}}]}}],
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}]}}}
        }
    });
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop"},
        "spec": {"selector": {"matchLabels": {"app": "shop"}}, "template": template}
    });
    let deployments: Api<Deployment> = Api::namespaced(cluster.admin().await.unwrap(), "default");
    let dry_run = PatchParams { dry_run: true, ..PatchParams::apply("team") };
    let deployment = deployments.patch("shop", &dry_run, &Patch::Apply(&deployment)).await.unwrap();
    let workload = apply(&cluster, "shop", json!({"template": template})).await.unwrap();
    assert_eq!(owned_template(&workload), owned_template(&deployment), "Workload left, Deployment right");
}

fn samples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../manifests/samples")
}

async fn the_samples_are_accepted_also_from_two_teams(cluster: Cluster) {
    let namespace = cluster.namespace("samples").await.unwrap();
    let api = workloads(&cluster, namespace.name()).await;
    let mut paths: Vec<_> = fs::read_dir(samples()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let named = |path: PathBuf| {
        let text = fs::read_to_string(&path).unwrap();
        (path.file_stem().unwrap().to_str().unwrap().to_owned(), text)
    };
    let mut texts: Vec<(String, String)> = paths.into_iter().map(named).collect();
    let in_readme = |block: &Block| block.text.starts_with("apiVersion: baton.rs");
    let readme = guide::page("README.md").unwrap().into_iter().find(in_readme).unwrap();
    texts.push(("readme".to_owned(), readme.text));
    for (manager, text) in texts {
        let sample: DynamicObject = yaml::from_str(&text).unwrap();
        let accepted =
            api.patch(&sample.name_any(), &PatchParams::apply(&manager), &Patch::Apply(&sample)).await;
        assert!(accepted.is_ok(), "{manager}: {accepted:?}");
    }

    let both = api.get("two-teams").await.unwrap().data["spec"].take();
    let containers = &both["template"]["spec"]["containers"];
    assert_eq!(containers[0]["image"], "nginx:1.29");
    assert_eq!(containers[0]["env"].as_array().unwrap().len(), 2, "{containers}");
    assert_eq!(containers[0]["resources"]["limits"]["memory"], "128Mi");
    assert_eq!(containers[1]["name"], "metrics");
    assert_eq!(both["service"]["ports"].as_array().unwrap().len(), 2, "{both}");
}

async fn kubectl_explains_a_workload(cluster: Cluster) {
    install_manifests(&cluster).await.unwrap();
    let explain = async |path: &str| cluster.real().kubectl(["explain", path]).await.unwrap().success();
    // The API server publishes a new CRD a moment after it serves it.
    let spec = eventually("the CRD to be published", async || explain("workload.spec").await).await;
    for field in
        ["adoption", "autoscaling", "disruptionBudget", "mode", "replicas", "rollout", "service", "template"]
    {
        assert!(spec.contains(&format!("\n  {field}\t")), "{spec}");
    }
    let image = explain("bwl.spec.template.spec.containers.image").await.unwrap();
    assert!(image.contains("Container image name"), "{image}");
}

async fn kubectl_scales_a_workload_and_lists_its_columns(cluster: Cluster) {
    install_manifests(&cluster).await.unwrap();
    let namespace = cluster.namespace("columns").await.unwrap();
    let file = samples().join("minimal.yaml");
    let kubectl = async |args: &[&str]| {
        let args = args.iter().copied().chain(["--namespace", namespace.name()]);
        cluster.real().kubectl(args).await.unwrap().success().unwrap()
    };
    kubectl(&["apply", "--server-side", "--filename", file.to_str().unwrap()]).await;
    let scaled = kubectl(&["scale", "bwl/minimal", "--replicas=5"]).await;
    assert!(scaled.contains("scaled"), "{scaled}");
    let columns = |table: &str| {
        let header = table.lines().next().unwrap_or_default().to_owned();
        header
            .split("  ")
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        columns(&kubectl(&["get", "bwl"]).await),
        ["NAME", "READY", "REPLICAS", "SCALED BY", "STATUS", "AGE"]
    );
    assert_eq!(
        columns(&kubectl(&["get", "baton", "--output", "wide"]).await),
        ["NAME", "READY", "REPLICAS", "SCALED BY", "STATUS", "APPLIED", "PHASE", "MODE", "AGE"]
    );
}
