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
use serde_json::{Value, json};

scenarios! {
    the_crd_is_structural_and_established,
    a_name_fits_into_a_label,
    a_name_fits_a_service_where_there_is_one,
    the_selector_label_names_the_workload,
    replicas_are_not_negative,
    an_autoscaler_has_a_maximum,
    the_minimum_is_not_above_the_maximum,
    an_external_autoscaler_excludes_other_settings,
    managers_are_retired_only_by_an_adoption_and_never_batons_own,
    a_disruption_budget_has_exactly_one_limit,
    a_disruption_budget_is_a_number_or_a_percentage,
    a_rolling_update_needs_the_type_rolling_update,
    a_rolling_update_can_make_progress,
    a_progress_deadline_is_longer_than_min_ready_seconds,
    a_service_has_a_port,
    several_ports_have_distinct_names,
    a_port_is_listed_once,
    a_node_port_needs_a_type_that_has_one,
    a_headless_service_has_the_type_cluster_ip,
    an_external_traffic_policy_needs_traffic_from_outside,
    settings_of_a_load_balancer_need_one,
    a_health_check_port_needs_local_traffic,
    an_affinity_timeout_needs_an_affinity,
    two_ip_families_need_a_policy_that_allows_them,
    a_key_below_the_template_is_not_left_out,
    a_key_with_a_default_may_be_left_out,
    nothing_but_list_keys_is_defaulted_below_the_template,
    a_quantity_is_valid,
    null_below_the_template_is_accepted_as_in_a_deployment,
    a_number_fits_into_the_type_that_reads_it,
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

async fn assert_accepted(cluster: &Cluster, spec: Value) {
    create(cluster, "shop", spec.clone()).await.unwrap_or_else(|error| panic!("{spec}: {error}"));
}

async fn assert_refused_named(cluster: &Cluster, name: &str, spec: Value, advice: &str) {
    match create(cluster, name, spec.clone()).await {
        Err(kube::Error::Api(status)) => {
            assert_eq!(status.code, 422, "{status:?}");
            assert!(status.message.contains(advice), "wanted: {advice}\n   got: {}", status.message);
        }
        other => panic!("{spec} should be refused with `{advice}`, but: {other:?}"),
    }
}

/// The API server refuses the spec, with a message that has `advice` in it.
async fn assert_refused(cluster: &Cluster, spec: Value, advice: &str) {
    assert_refused_named(cluster, "shop", spec, advice).await;
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

async fn a_name_fits_into_a_label(cluster: Cluster) {
    let advice = "use at most 63 characters";
    assert_refused_named(&cluster, &"a".repeat(64), json!({}), advice).await;
    create(&cluster, &"a".repeat(63), json!({})).await.unwrap();
}

async fn a_name_fits_a_service_where_there_is_one(cluster: Cluster) {
    let service = json!({"service": {"ports": [{"port": 80}]}});
    assert_refused_named(
        &cluster,
        "shop.v2",
        service.clone(),
        "beginning with a letter, or remove spec.service",
    )
    .await;
    assert_refused_named(&cluster, "2shop", service, "beginning with a letter, or remove spec.service").await;
    create(&cluster, "shop.v2", json!({})).await.unwrap();
}

async fn the_selector_label_names_the_workload(cluster: Cluster) {
    let labelled = |name: &str| {
        let mut spec = template(json!({"name": "app"}));
        spec["template"]["metadata"] = json!({"labels": {"baton.rs/workload": name, "team": "a"}});
        spec
    };
    assert_refused(&cluster, labelled("other"), "remove it, or set it to the Workload's name").await;
    assert_accepted(&cluster, labelled("shop")).await;
}

async fn replicas_are_not_negative(cluster: Cluster) {
    assert_refused(&cluster, json!({"replicas": -1}), "greater than or equal to 0").await;
    assert_accepted(&cluster, json!({"replicas": 0})).await;
}

async fn an_autoscaler_has_a_maximum(cluster: Cluster) {
    assert_refused(
        &cluster,
        json!({"autoscaling": {"minReplicas": 2}}),
        "or set external if another autoscaler scales",
    )
    .await;
    assert_refused(&cluster, json!({"autoscaling": {}}), "or set external if another autoscaler scales")
        .await;
}

async fn the_minimum_is_not_above_the_maximum(cluster: Cluster) {
    let limits = |min: i32, max: i32| json!({"autoscaling": {"minReplicas": min, "maxReplicas": max}});
    assert_refused(&cluster, limits(5, 4), "lower it, or raise maxReplicas").await;
    assert_accepted(&cluster, limits(4, 4)).await;
}

async fn an_external_autoscaler_excludes_other_settings(cluster: Cluster) {
    let advice = "remove the other fields of autoscaling, or remove external";
    assert_refused(&cluster, json!({"autoscaling": {"external": {}, "maxReplicas": 3}}), advice).await;
    assert_refused(&cluster, json!({"autoscaling": {"external": {}, "behavior": {}}}), advice).await;
    assert_accepted(&cluster, json!({"autoscaling": {"external": {}}})).await;
}

async fn managers_are_retired_only_by_an_adoption_and_never_batons_own(cluster: Cluster) {
    let retired = |adoption: &str, manager: &str| json!({"adoption": adoption, "retiredManagers": [manager]});
    assert_refused(&cluster, retired("Refuse", "helm"), "set adoption to Adopt, or remove retiredManagers")
        .await;
    assert_refused(&cluster, retired("Adopt", "baton"), "are Baton's own managers").await;
    assert_refused(&cluster, retired("Adopt", "handover-to-hpa"), "are Baton's own managers").await;
    assert_refused(&cluster, retired("Adopt", ""), "at least 1 chars long").await;
    assert_refused(&cluster, json!({"retiredManagers": ["helm"]}), "set adoption to Adopt").await;
    assert_accepted(&cluster, retired("Adopt", "helm")).await;
}

async fn a_disruption_budget_has_exactly_one_limit(cluster: Cluster) {
    let advice = "exactly one of minAvailable and maxUnavailable";
    assert_refused(&cluster, json!({"disruptionBudget": {}}), advice).await;
    assert_refused(&cluster, json!({"disruptionBudget": {"minAvailable": 1, "maxUnavailable": 1}}), advice)
        .await;
}

async fn a_disruption_budget_is_a_number_or_a_percentage(cluster: Cluster) {
    let budget = |value: Value| json!({"disruptionBudget": {"minAvailable": value}});
    let advice = "a percentage from 0% to 100%";
    assert_refused(&cluster, budget(json!("150%")), advice).await;
    assert_refused(&cluster, budget(json!("most")), advice).await;
    assert_refused(&cluster, budget(json!(-1)), "greater than or equal to 0").await;
    assert_accepted(&cluster, budget(json!("100%"))).await;
    assert_accepted(&cluster, budget(json!(2))).await;
}

async fn a_rolling_update_needs_the_type_rolling_update(cluster: Cluster) {
    let strategy =
        |type_: &str| json!({"rollout": {"strategy": {"type": type_, "rollingUpdate": {"maxSurge": 1}}}});
    assert_refused(&cluster, strategy("Recreate"), "remove it, or set the type to RollingUpdate").await;
    assert_accepted(&cluster, strategy("RollingUpdate")).await;
    assert_accepted(&cluster, json!({"rollout": {"strategy": {"rollingUpdate": {"maxSurge": "150%"}}}}))
        .await;
}

async fn a_rolling_update_can_make_progress(cluster: Cluster) {
    let update = |surge: Value, unavailable: Value| json!({"rollout": {"strategy": {"rollingUpdate": {"maxSurge": surge, "maxUnavailable": unavailable}}}});
    assert_refused(&cluster, update(json!(0), json!("0%")), "make one of them greater than 0").await;
    assert_refused(&cluster, update(json!("ten"), json!(1)), "write a number such as 2").await;
    assert_refused(&cluster, update(json!(1), json!("101%")), "a percentage from 0% to 100%").await;
    assert_accepted(&cluster, update(json!(0), json!("25%"))).await;
}

async fn a_progress_deadline_is_longer_than_min_ready_seconds(cluster: Cluster) {
    let rollout = |deadline: Option<i32>, ready: i32| {
        json!({"rollout": deadline.map_or_else(
            || json!({"minReadySeconds": ready}),
            |deadline| json!({"minReadySeconds": ready, "progressDeadlineSeconds": deadline}),
        )})
    };
    let advice = "greater than minReadySeconds";
    assert_refused(&cluster, rollout(Some(30), 30), advice).await;
    assert_refused(&cluster, rollout(None, 600), advice).await;
    assert_accepted(&cluster, rollout(Some(31), 30)).await;
}

async fn a_service_has_a_port(cluster: Cluster) {
    assert_refused(&cluster, json!({"service": {}}), "add one to ports, or set headless").await;
    assert_refused(&cluster, json!({"service": {"ports": []}}), "add one to ports, or set headless").await;
    assert_accepted(&cluster, json!({"service": {"headless": true}})).await;
}

async fn several_ports_have_distinct_names(cluster: Cluster) {
    let ports = |ports: Value| json!({"service": {"ports": ports}});
    assert_refused(&cluster, ports(json!([{"port": 80, "name": "http"}, {"port": 81}])), "set ports[].name")
        .await;
    assert_refused(
        &cluster,
        ports(json!([{"port": 80, "name": "http"}, {"port": 81, "name": "http"}])),
        "give each port another name",
    )
    .await;
    assert_accepted(&cluster, ports(json!([{"port": 80, "name": "http"}, {"port": 81, "name": "more"}])))
        .await;
}

async fn a_port_is_listed_once(cluster: Cluster) {
    let ports = json!([{"port": 80, "name": "a"}, {"port": 80, "protocol": "TCP", "name": "b"}]);
    assert_refused(&cluster, json!({"service": {"ports": ports}}), "Duplicate value").await;
    let ports = json!([{"port": 80, "name": "a"}, {"port": 80, "protocol": "UDP", "name": "b"}]);
    assert_accepted(&cluster, json!({"service": {"ports": ports}})).await;
}

async fn a_node_port_needs_a_type_that_has_one(cluster: Cluster) {
    let service =
        |type_: &str| json!({"service": {"type": type_, "ports": [{"port": 80, "nodePort": 30080}]}});
    assert_refused(&cluster, service("ClusterIP"), "remove ports[].nodePort, or set the type").await;
    assert_accepted(&cluster, service("NodePort")).await;
    assert_accepted(&cluster, service("LoadBalancer")).await;
}

/// A Service of the given type and port 80, with other fields.
fn service(type_: &str, fields: Value) -> Value {
    let mut service = json!({"type": type_, "ports": [{"port": 80}]});
    service.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    json!({"service": service})
}

async fn a_headless_service_has_the_type_cluster_ip(cluster: Cluster) {
    let headless = json!({"headless": true});
    assert_refused(
        &cluster,
        service("LoadBalancer", headless.clone()),
        "set the type to ClusterIP, or remove headless",
    )
    .await;
    assert_accepted(&cluster, service("ClusterIP", headless)).await;
}

async fn an_external_traffic_policy_needs_traffic_from_outside(cluster: Cluster) {
    let policy = json!({"externalTrafficPolicy": "Local"});
    assert_refused(&cluster, service("ClusterIP", policy.clone()), "externalTrafficPolicy needs the type")
        .await;
    assert_accepted(&cluster, service("NodePort", policy)).await;
}

async fn settings_of_a_load_balancer_need_one(cluster: Cluster) {
    let class = json!({"loadBalancerClass": "example.com/internal"});
    assert_refused(
        &cluster,
        service("NodePort", class.clone()),
        "loadBalancerClass needs the type LoadBalancer",
    )
    .await;
    assert_accepted(&cluster, service("LoadBalancer", class)).await;

    let ranges = json!({"loadBalancerSourceRanges": ["10.0.0.0/8"]});
    assert_refused(&cluster, service("NodePort", ranges.clone()), "loadBalancerSourceRanges needs the type")
        .await;
    assert_accepted(&cluster, service("LoadBalancer", ranges)).await;
}

async fn a_health_check_port_needs_local_traffic(cluster: Cluster) {
    let port = json!({"healthCheckNodePort": 30090});
    assert_refused(
        &cluster,
        service("LoadBalancer", port),
        "needs the type LoadBalancer and externalTrafficPolicy",
    )
    .await;
    let local = json!({"healthCheckNodePort": 30090, "externalTrafficPolicy": "Local"});
    assert_accepted(&cluster, service("LoadBalancer", local)).await;
}

async fn an_affinity_timeout_needs_an_affinity(cluster: Cluster) {
    let timeout = json!({"sessionAffinityTimeoutSeconds": 60});
    assert_refused(&cluster, service("ClusterIP", timeout), "needs sessionAffinity ClientIP").await;
    let both = json!({"sessionAffinityTimeoutSeconds": 60, "sessionAffinity": "ClientIP"});
    assert_accepted(&cluster, service("ClusterIP", both)).await;
}

async fn two_ip_families_need_a_policy_that_allows_them(cluster: Cluster) {
    let families = json!({"ipFamilies": ["IPv4", "IPv6"]});
    assert_refused(&cluster, service("ClusterIP", families), "set it, or remove one family").await;
    let both = json!({"ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "PreferDualStack"});
    assert_accepted(&cluster, service("ClusterIP", both)).await;
}

async fn a_key_below_the_template_is_not_left_out(cluster: Cluster) {
    assert_refused(
        &cluster,
        template(json!({"image": "nginx:1.29"})),
        "spec.template.spec.containers[0].name",
    )
    .await;
    let env = json!({"name": "app", "env": [{"value": "x"}]});
    assert_refused(&cluster, template(env), "containers[0].env[0].name").await;
    let port = json!({"name": "app", "ports": [{"name": "web"}]});
    assert_refused(&cluster, template(port), "containers[0].ports[0].containerPort").await;
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

async fn a_quantity_is_valid(cluster: Cluster) {
    let limit = |cpu: Value| template(json!({"name": "app", "resources": {"limits": {"cpu": cpu}}}));
    assert_refused(&cluster, limit(json!("two")), "resources.limits.cpu").await;
    for cpu in [json!(2), json!("500m"), json!("1.5"), json!("+.5e3"), json!("1Gi"), json!("2E6")] {
        assert_accepted(&cluster, limit(cpu)).await;
    }
}

async fn null_below_the_template_is_accepted_as_in_a_deployment(cluster: Cluster) {
    let nulls = json!({"template": {
        "metadata": {"creationTimestamp": null, "labels": null},
        "spec": {"affinity": null, "nodeSelector": null, "containers": [{"name": "app", "env": null, "resources": null}]}
    }});
    assert_accepted(&cluster, nulls.clone()).await;
    apply(&cluster, "shop", nulls).await.unwrap();

    let no_metadata = json!({"template": {"metadata": null, "spec": {"containers": [{"name": "app"}]}}});
    assert_accepted(&cluster, no_metadata.clone()).await;
    apply(&cluster, "shop", no_metadata).await.unwrap();
}

async fn a_number_fits_into_the_type_that_reads_it(cluster: Cluster) {
    let probe = json!({"name": "app", "livenessProbe": {"httpGet": {"port": 5_000_000_000_i64}}});
    assert_refused(&cluster, template(probe), "livenessProbe.httpGet.port").await;
    let port = json!({"name": "app", "ports": [{"containerPort": 5_000_000_000_i64}]});
    assert_refused(&cluster, template(port), "ports[0].containerPort").await;
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
