//! Users try what they can't do through Baton, as `docs/threat-model.md` promises.

use std::{
    collections::BTreeSet,
    io::{Read as _, Write as _},
    net::TcpStream,
    path::{Path, PathBuf},
};

use baton_apply::LiveObject;
use baton_controller::{HANDOVER_MANAGER, decide::child::ChildKind};
use baton_crd::Workload;
use baton_e2e::{Environment, environment::replicas, scenarios, web};
use baton_testbed::{AuditEntry, Cluster, eventually, memory};
use k8s_openapi::api::{
    core::v1::{Event, Namespace, Pod},
    rbac::v1::{Role, RoleBinding},
};
use kube::{
    Api, Client, Config, ResourceExt as _,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
    core::{ApiResource, DynamicObject},
};
use serde_json::{Value, json};

scenarios! {
    a_workload_reaches_nothing_outside_its_namespace,
    forged_ownership_costs_no_replica_and_is_corrected,
    metrics_show_no_name_of_a_workload,
    twenty_thousand_overwritten_fields_delay_no_other_workload,
}
scenarios! {
    only real, because "of admission, of a port, or of an object that the server in the process refuses":
    owners_of_deeply_nested_fields_hide_no_change,
    an_author_who_may_not_create_deployments_may_not_have_baton_create_one,
    an_author_who_may_not_update_and_delete_an_object_may_not_have_baton_adopt_it,
    a_service_that_its_author_may_not_update_keeps_its_selector,
    rights_by_name_are_enough_for_the_workload_of_that_name,
    an_author_who_changes_a_spec_needs_the_rights_for_the_writes_that_follow,
    an_author_who_may_not_scale_deployments_may_not_have_baton_scale_one,
    a_pod_that_the_namespace_refuses_is_refused_to_baton_too,
    thousands_of_connections_to_the_admin_port_block_no_request_and_cost_little_memory,
}

/// A user who has only the rights that a test gives.
const AUTHOR: &str = "author";

/// A client that acts as the author.
pub async fn as_author(env: &Environment) -> Client {
    let kubeconfig = Kubeconfig::read_from(env.cluster.real().kubeconfig()).unwrap();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    config.auth_info.impersonate = Some(AUTHOR.to_owned());
    Client::try_from(config).unwrap()
}

/// Gives the author these rights in the environment's namespace, and no others.
pub async fn entitle(env: &Environment, rules: &Value) {
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": AUTHOR}, "rules": rules,
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": {"name": AUTHOR},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": AUTHOR},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": AUTHOR}],
    });
    let params = PatchParams::apply("administrator").force();
    let api: Api<Role> = env.api();
    api.patch(AUTHOR, &params, &Patch::Apply(&role)).await.unwrap();
    let api: Api<RoleBinding> = env.api();
    api.patch(AUTHOR, &params, &Patch::Apply(&binding)).await.unwrap();
}

pub fn rights(groups: &[&str], resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": groups, "resources": resources, "verbs": verbs})
}

/// Waits until the author's dry run of this spec is refused with this text, or accepted if there is none. Rights and policies
/// take a moment until the API server applies them.
async fn expect_create(env: &Environment, author: &Client, spec: &Value, text: Option<&str>) {
    let workloads: Api<Workload> = Api::namespaced(author.clone(), env.ns());
    let workload: Workload = serde_json::from_value(web(spec)).unwrap();
    let dry_run = PostParams { dry_run: true, ..PostParams::default() };
    eventually(&format!("the refusal {text:?} of {spec}"), async || {
        match (workloads.create(&dry_run, &workload).await, text) {
            (Ok(_), None) => Ok(()),
            (Err(kube::Error::Api(refusal)), Some(text))
                if refusal.code == 403 && refusal.message.contains(text) =>
            {
                Ok(())
            }
            (response, _) => Err(response.map(|workload| workload.spec)),
        }
    })
    .await;
}

/// Installs the policy on authors. The administrator of the other scenarios may do everything, so it doesn't affect them.
pub async fn install_policy(env: &Environment) {
    let policy = concat!(env!("CARGO_MANIFEST_DIR"), "/../manifests/policies/authors.yaml");
    let install = ["apply", "--server-side", "-f", policy];
    env.cluster.real().kubectl(install).await.unwrap().success().unwrap();
}

/// What an author may do with Workloads.
pub fn workloads() -> Value {
    rights(&["baton.rs"], &["workloads"], &["create", "get", "patch"])
}

/// A part of a spec, the API group and the resource of its child, and two values of this part.
fn optional_parts() -> [(&'static str, &'static str, &'static str, Value, Value); 3] {
    let ports = |port: i32| json!({"ports": [{"port": port}]});
    let most = |most: i32| json!({"maxReplicas": most});
    let unavailable = |count: i32| json!({"maxUnavailable": count});
    [
        ("service", "", "services", ports(80), ports(81)),
        ("autoscaling", "autoscaling", "horizontalpodautoscalers", most(3), most(4)),
        ("disruptionBudget", "policy", "poddisruptionbudgets", unavailable(1), unavailable(2)),
    ]
}

/// A verb on a resource, as the policy's messages name it.
pub fn verb_on(verb: &str, group: &str, resource: &str) -> String {
    let dot = if group.is_empty() { "" } else { "." };
    format!("\"{verb}\" on {resource}{dot}{group}")
}

/// As [`expect_create`], with the author's dry run of this change of the Workload `web`, or of one of its subresources.
async fn expect_change(
    env: &Environment,
    author: &Client,
    subresource: Option<&str>,
    change: &Value,
    text: Option<&str>,
) {
    let workloads: Api<DynamicObject> =
        Api::namespaced_with(author.clone(), env.ns(), &ApiResource::erase::<Workload>(&()));
    let params = PatchParams { dry_run: true, ..PatchParams::default() };
    let patch = Patch::Merge(change);
    eventually(&format!("the refusal {text:?} of {subresource:?} {change}"), async || {
        let response = match subresource {
            None => workloads.patch("web", &params, &patch).await,
            Some(subresource) => workloads.patch_subresource(subresource, "web", &params, &patch).await,
        };
        match (response, text) {
            (Ok(_), None) => Ok(()),
            (Err(kube::Error::Api(refusal)), Some(text))
                if refusal.code == 403 && refusal.message.contains(text) =>
            {
                Ok(())
            }
            (response, _) => Err(response.map(|object| object.data)),
        }
    })
    .await;
}

async fn an_author_who_may_not_create_deployments_may_not_have_baton_create_one(cluster: Cluster) {
    let env = Environment::start(&cluster, "authors").await;
    install_policy(&env).await;
    let author = as_author(&env).await;
    let workloads = rights(&["baton.rs"], &["workloads"], &["create", "get", "patch"]);
    let everything = json!({
        "service": {"ports": [{"port": 80}]},
        "autoscaling": {"maxReplicas": 3},
        "disruptionBudget": {"maxUnavailable": 1},
        "adoption": "Adopt",
    });

    entitle(&env, &json!([workloads])).await;
    expect_create(&env, &author, &json!({}), Some("\"create\" on deployments.apps")).await;

    let deployments = rights(&["apps"], &["deployments"], &["create"]);
    entitle(&env, &json!([workloads, deployments])).await;
    expect_create(&env, &author, &json!({}), None).await;
    for (field, text) in [
        ("service", "\"create\" on services"),
        ("autoscaling", "\"create\" on horizontalpodautoscalers.autoscaling"),
        ("disruptionBudget", "\"create\" on poddisruptionbudgets.policy"),
        ("adoption", "\"update\" on deployments.apps"),
    ] {
        expect_create(&env, &author, &json!({field: everything[field]}), Some(text)).await;
    }
    expect_create(&env, &author, &json!({"autoscaling": {"external": {}}}), None).await;

    let all = rights(
        &["", "apps", "autoscaling", "policy"],
        &["services", "deployments", "horizontalpodautoscalers", "poddisruptionbudgets"],
        &["create", "update", "delete"],
    );
    entitle(&env, &json!([workloads, all])).await;
    expect_create(&env, &author, &everything, None).await;

    // The policy is about changes of the spec: controllers with few rights touch metadata.
    env.apply(&json!({})).await;
    entitle(&env, &json!([workloads])).await;
    expect_create(&env, &author, &json!({}), Some("\"create\" on deployments.apps")).await;
    let mine: Api<Workload> = Api::namespaced(author, env.ns());
    let merge = async |patch: Value| mine.patch("web", &PatchParams::default(), &Patch::Merge(patch)).await;
    merge(json!({"metadata": {"labels": {"team": "shop"}}})).await.unwrap();
    let refused = merge(json!({"spec": {"replicas": 5}})).await.unwrap_err();
    assert!(refused.to_string().contains("\"create\" on deployments.apps"), "{refused}");
}

async fn an_author_who_may_not_update_and_delete_an_object_may_not_have_baton_adopt_it(cluster: Cluster) {
    let env = Environment::start(&cluster, "adopting-authors").await;
    install_policy(&env).await;
    let author = as_author(&env).await;
    let deployments = rights(&["apps"], &["deployments"], &["create", "update", "delete"]);
    let update_only = rights(&["apps"], &["deployments"], &["create", "update"]);
    entitle(&env, &json!([workloads(), update_only])).await;
    expect_create(&env, &author, &json!({}), None).await;
    expect_create(&env, &author, &json!({"adoption": "Adopt"}), Some("\"delete\" on deployments.apps")).await;

    for (part, group, resource, value, _) in optional_parts() {
        let adopting = json!({"adoption": "Adopt", part: value});
        for (verbs, missing) in [
            (&["create"][..], Some("update")),
            (&["create", "delete"], Some("update")),
            (&["create", "update"], Some("delete")),
            (&["create", "patch"], Some("delete")),
            (&["create", "update", "delete"], None),
            // A patch can do all that an update can.
            (&["create", "patch", "delete"], None),
        ] {
            entitle(&env, &json!([workloads(), deployments, rights(&[group], &[resource], verbs)])).await;
            let text = missing.map(|verb| verb_on(verb, group, resource));
            expect_create(&env, &author, &adopting, text.as_deref()).await;
            expect_create(&env, &author, &json!({part: value}), None).await;
        }
    }
}

async fn a_service_that_its_author_may_not_update_keeps_its_selector(cluster: Cluster) {
    let env = Environment::start(&cluster, "hijack").await;
    install_policy(&env).await;
    let author = as_author(&env).await;
    let deployments = rights(&["apps"], &["deployments"], &["create", "update", "delete"]);
    let services = rights(&[""], &["services"], &["create"]);
    entitle(&env, &json!([workloads(), deployments, services])).await;
    let theirs = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
        "spec": {"selector": {"app": "shop"}, "ports": [{"port": 80}]},
    });
    env.server_side_apply(&[theirs]).await.unwrap();
    let service = json!({"ports": [{"port": 80}]});
    expect_create(&env, &author, &json!({"service": service}), None).await;

    // Both at once, then one after the other, in either order.
    let adopting = json!({"adoption": "Adopt", "service": service});
    expect_create(&env, &author, &adopting, Some("\"update\" on services")).await;
    let mine: Api<Workload> = Api::namespaced(author.clone(), env.ns());
    let apply = async |spec: &Value| {
        let workload: Workload = serde_json::from_value(web(spec)).unwrap();
        mine.patch("web", &PatchParams::apply("author").force(), &Patch::Apply(workload)).await
    };
    apply(&json!({"service": service})).await.unwrap();
    assert_eq!(env.condition("Applied", "False").await.reason, "NotOwned");
    let refused = apply(&adopting).await.unwrap_err();
    assert!(refused.to_string().contains("\"update\" on services"), "{refused}");
    env.api::<Workload>().delete("web", &DeleteParams::default()).await.unwrap();
    env.gone(ChildKind::Deployment).await;
    apply(&json!({"adoption": "Adopt"})).await.unwrap();
    env.condition("Applied", "True").await;
    let refused = apply(&adopting).await.unwrap_err();
    assert!(refused.to_string().contains("\"update\" on services"), "{refused}");
    // The author may still change what doesn't touch the Service.
    apply(&json!({"adoption": "Adopt", "replicas": 2})).await.unwrap();
    env.condition("Applied", "True").await;
    let service = env.child(ChildKind::Service).await.unwrap();
    assert_eq!(service.data["spec"]["selector"], json!({"app": "shop"}));
}

async fn rights_by_name_are_enough_for_the_workload_of_that_name(cluster: Cluster) {
    let env = Environment::start(&cluster, "named-rights").await;
    install_policy(&env).await;
    let author = as_author(&env).await;
    let create = rights(
        &["", "apps", "autoscaling", "policy"],
        &["services", "deployments", "horizontalpodautoscalers", "poddisruptionbudgets"],
        &["create"],
    );
    let mut change = create.clone();
    // With the right to patch instead of that to update, the policy makes all its checks: their cost stays within the limit.
    change["verbs"] = json!(["patch", "delete"]);
    let adopting = json!({
        "adoption": "Adopt",
        "service": {"ports": [{"port": 80}]},
        "autoscaling": {"maxReplicas": 3},
        "disruptionBudget": {"maxUnavailable": 1},
    });
    change["resourceNames"] = json!(["another"]);
    entitle(&env, &json!([workloads(), create, change])).await;
    expect_create(&env, &author, &adopting, Some("\"update\" on ")).await;
    change["resourceNames"] = json!(["web"]);
    entitle(&env, &json!([workloads(), create, change])).await;
    expect_create(&env, &author, &adopting, None).await;

    // The policy also knows a name that the server generates.
    let mut generated = web(&json!({}));
    generated["metadata"] = json!({"generateName": "web-"});
    let generated: Workload = serde_json::from_value(generated).unwrap();
    let mine: Api<Workload> = Api::namespaced(author, env.ns());
    mine.create(&PostParams::default(), &generated).await.unwrap();
}

async fn an_author_who_changes_a_spec_needs_the_rights_for_the_writes_that_follow(cluster: Cluster) {
    let env = Environment::start(&cluster, "changing-authors").await;
    install_policy(&env).await;
    let author = as_author(&env).await;
    let create = rights(
        &["", "apps", "autoscaling", "policy"],
        &["services", "deployments", "horizontalpodautoscalers", "poddisruptionbudgets"],
        &["create"],
    );
    let deployments = rights(&["apps"], &["deployments"], &["update"]);
    let mut everything = json!({});
    for (part, _, _, value, _) in optional_parts() {
        everything[part] = value;
    }
    env.apply(&everything).await;
    // The policy ignores Baton's own writes, of the status.
    env.condition("Applied", "True").await;
    let change = async |spec: &Value, text: Option<&str>| {
        expect_change(&env, &author, None, &json!({"spec": spec}), text).await;
    };

    entitle(&env, &json!([workloads(), create])).await;
    change(&json!({"replicas": 5}), Some("\"update\" on deployments.apps")).await;
    for verb in ["update", "patch"] {
        let deployments = rights(&["apps"], &["deployments"], &[verb]);
        entitle(&env, &json!([workloads(), create, deployments])).await;
        change(&json!({"replicas": 5}), None).await;
        entitle(&env, &json!([workloads(), create])).await;
        change(&json!({"replicas": 5}), Some("\"update\" on deployments.apps")).await;
    }
    for (part, group, resource, _, other) in optional_parts() {
        let may = async |verb: &str| {
            let verb = rights(&[group], &[resource], &[verb]);
            entitle(&env, &json!([workloads(), create, deployments, verb])).await;
        };
        may("delete").await;
        change(&json!({part: other}), Some(&verb_on("update", group, resource))).await;
        change(&json!({part: null}), None).await;
        may("update").await;
        change(&json!({part: null}), Some(&verb_on("delete", group, resource))).await;
        change(&json!({part: other}), None).await;
        change(&json!({"replicas": 5}), None).await;
    }
    // These are about every child.
    entitle(&env, &json!([workloads(), create, deployments])).await;
    change(&json!({"adoption": "Adopt"}), Some("\"delete\" on deployments.apps")).await;
    change(&json!({"mode": "Paused"}), None).await;
    everything["mode"] = json!("Paused");
    everything["adoption"] = json!("Adopt");
    env.apply(&everything).await;
    change(&json!({"mode": "Enforce"}), Some("\"delete\" on deployments.apps")).await;
    change(&json!({"retiredManagers": ["helm"]}), Some("\"delete\" on deployments.apps")).await;
    change(&json!({"replicas": 5}), None).await;
    change(&json!({"adoption": "Refuse"}), None).await;
    change(&json!({"adoption": "Refuse", "mode": "Enforce"}), Some("\"update\" on services")).await;
    // An external autoscaler replaces Baton's, which is deleted.
    let external = json!({"autoscaling": {"external": {}, "maxReplicas": null}});
    change(&external, Some("\"delete\" on horizontalpodautoscalers.autoscaling")).await;
}

async fn an_author_who_may_not_scale_deployments_may_not_have_baton_scale_one(cluster: Cluster) {
    let env = Environment::start(&cluster, "scaling").await;
    install_policy(&env).await;
    let author = as_author(&env).await;
    env.apply(&json!({"replicas": 1, "autoscaling": {"external": {}}})).await;
    env.condition("Applied", "True").await;
    let scale = rights(&["baton.rs"], &["workloads/scale"], &["get", "patch", "update"]);
    let five = json!({"spec": {"replicas": 5}});
    let missing = Some("\"update\" on deployments.apps/scale");

    entitle(&env, &json!([scale])).await;
    expect_change(&env, &author, Some("scale"), &five, missing).await;
    for (resource, verb) in [
        ("deployments/scale", "update"),
        ("deployments/scale", "patch"),
        ("deployments", "update"),
        ("deployments", "patch"),
    ] {
        let mut scaling = rights(&["apps"], &[resource], &[verb]);
        scaling["resourceNames"] = json!(["another"]);
        entitle(&env, &json!([scale, scaling])).await;
        expect_change(&env, &author, Some("scale"), &five, missing).await;
        scaling["resourceNames"] = json!(["web"]);
        entitle(&env, &json!([scale, scaling])).await;
        expect_change(&env, &author, Some("scale"), &five, None).await;
    }

    // The autoscaler's controller may scale everything that has a scale.
    let workload = json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "theirs"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "baton.rs/v1alpha1", "kind": "Workload", "name": "web"},
            "minReplicas": 3, "maxReplicas": 4,
        },
    });
    env.server_side_apply(&[workload]).await.unwrap();
    eventually("the autoscaler to scale the Workload", async || {
        let replicas = env.workload().await.spec.replicas;
        if replicas == Some(3) { Ok(()) } else { Err(replicas) }
    })
    .await;
}

async fn a_pod_that_the_namespace_refuses_is_refused_to_baton_too(cluster: Cluster) {
    let env = Environment::start(&cluster, "privileged").await;
    let namespaces: Api<Namespace> = Api::all(env.client.clone());
    let restricted = json!({"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "restricted"}}});
    namespaces.patch(env.ns(), &PatchParams::default(), &Patch::Merge(restricted)).await.unwrap();
    let privileged = json!({"name": "app", "image": "app:1", "securityContext": {"privileged": true}});
    env.apply(&json!({"template": {"spec": {"hostNetwork": true, "containers": [privileged]}}})).await;

    let events: Api<Event> = env.api();
    eventually("the pod to be refused", async || {
        let all = events.list(&ListParams::default()).await.unwrap().items;
        let is_refusal = |event: &Event| {
            event.message.as_deref().unwrap_or_default().contains("violates PodSecurity \"restricted")
        };
        if all.iter().any(is_refusal) { Ok(()) } else { Err(all.len()) }
    })
    .await;
    let pods: Api<Pod> = env.api();
    assert_eq!(pods.list(&ListParams::default()).await.unwrap().items.len(), 0);
    env.condition("Ready", "False").await;
}

async fn a_workload_reaches_nothing_outside_its_namespace(cluster: Cluster) {
    // The operator has its permissions in every namespace, so only its own choice keeps it in one.
    let env = Environment::start(&cluster, "reach").await;
    let template = json!({
        "metadata": {"namespace": "kube-system", "name": "stray"},
        "spec": {"containers": [{"name": "app", "image": "app:1"}]},
    });
    env.apply(&json!({
        "template": template,
        "service": {"ports": [{"port": 80}]},
        "autoscaling": {"minReplicas": 2, "maxReplicas": 3},
        "disruptionBudget": {"maxUnavailable": 1},
    }))
    .await;
    env.condition("Applied", "True").await;
    let writes = env.requests().writes();
    let namespaces: BTreeSet<&str> =
        writes.iter().filter_map(|entry: &AuditEntry| entry.namespace.as_deref()).collect();
    assert_eq!(namespaces, BTreeSet::from([env.ns()]), "{writes}");
}

async fn forged_ownership_costs_no_replica_and_is_corrected(cluster: Cluster) {
    let env = Environment::start(&cluster, "forged").await;
    env.apply(&json!({"replicas": 4})).await;
    env.condition("Ready", "True").await;

    let owns_replicas = |manager: &str| {
        json!({
            "manager": manager, "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1",
            "time": "2026-01-01T00:00:00Z", "fieldsV1": {"f:spec": {"f:replicas": {}}},
        })
    };
    let forgeries =
        [json!([{}]), json!([owns_replicas(HANDOVER_MANAGER)]), json!([owns_replicas("somebody")])];
    for forgery in &forgeries {
        // The server accepts any entries.
        let forged = Patch::Merge(json!({"metadata": {"managedFields": forgery}}));
        env.edit_as("forger", ChildKind::Deployment, &forged).await;
        let corrected = env
            .child_where("Baton to own the replica count again", ChildKind::Deployment, |child| {
                let owners = baton_e2e::environment::entries_of(child, "baton");
                owners.iter().any(|(_, _, fields)| fields["f:spec"].get("f:replicas").is_some())
                    && baton_e2e::environment::entries_of(child, HANDOVER_MANAGER).is_empty()
            })
            .await;
        assert_eq!(replicas(&corrected), 4, "{forgery}: {:?}", corrected.name_any());
    }
}

async fn twenty_thousand_overwritten_fields_delay_no_other_workload(cluster: Cluster) {
    let env = Environment::start(&cluster, "overwritten").await;
    let annotations = |value: &str| -> Value {
        (0..20_000).map(|at| (format!("k{at:05}"), value.into())).collect::<serde_json::Map<_, _>>().into()
    };
    env.apply(&json!({"deployment": {"annotations": annotations("1")}})).await;
    env.condition("Applied", "True").await;
    let paused = Patch::Merge(json!({"spec": {"mode": "Paused"}}));
    env.workloads().patch("web", &PatchParams::default(), &paused).await.unwrap();
    env.condition("Applied", "Unknown").await;
    let overwrite = Patch::Merge(json!({"metadata": {"annotations": annotations("2")}}));
    env.edit_as("x", ChildKind::Deployment, &overwrite).await;
    eventually("all takeovers to be planned", async || {
        let plan = env.workload().await.status.unwrap_or_default().plan;
        let messages: Vec<String> = plan.into_iter().filter_map(|child| child.message).collect();
        let all = "it takes over 19900 more fields than are listed";
        if messages.iter().any(|message| message.contains(all)) { Ok(()) } else { Err(messages) }
    })
    .await;

    let mut other = web(&json!({"replicas": 2}));
    other["metadata"]["name"] = json!("other");
    env.apply_as("user", &other).await.unwrap();
    eventually("the other Workload to be applied", async || {
        env.children(ChildKind::Deployment).get_opt("other").await.unwrap().ok_or("no Deployment")
    })
    .await;
}

async fn owners_of_deeply_nested_fields_hide_no_change(cluster: Cluster) {
    const DEPTH: usize = 200;
    let env = Environment::start(&cluster, "nested").await;
    env.apply(&json!({"replicas": 2})).await;
    env.condition("Ready", "True").await;
    let params = PatchParams { field_manager: Some("nesting".to_owned()), ..PatchParams::default() };
    let workloads: Api<LiveObject> =
        Api::namespaced_with(env.client.clone(), env.ns(), &ApiResource::erase::<Workload>(&()));
    let deployments: Api<LiveObject> =
        Api::namespaced_with(env.client.clone(), env.ns(), &ChildKind::Deployment.api_resource());
    let nested = |api_version: &str| {
        let entry = json!({
            "manager": "nesting", "operation": "Apply", "apiVersion": api_version, "fieldsType": "FieldsV1",
            "time": "2026-01-01T00:00:00Z",
            "fieldsV1": (0..DEPTH).fold(json!({}), |below, _| json!({"f:a": below})),
        });
        let add = json!([{"op": "add", "path": "/metadata/managedFields/-", "value": entry}]);
        Patch::Json::<()>(serde_json::from_value(add).unwrap())
    };
    let is_at = |deployment: &LiveObject, image: &str| {
        deployment.as_text().contains(&format!("\"image\":\"{image}\""))
    };

    // Of a child: the next changes of others are corrected.
    let live = deployments.patch("web", &params, &nested("apps/v1")).await.unwrap();
    assert_eq!(
        live.managers().iter().filter(|manager| *manager == "nesting").count(),
        1,
        "the server takes it"
    );
    let image = env.workload().await.spec.template.0["spec"]["containers"][0]["image"].clone();
    let image = image.as_str().unwrap();
    for evil in ["evil:1", "evil:2"] {
        let template = json!({"spec": {"containers": [{"name": "app", "image": evil}]}});
        let edit = Patch::Strategic(json!({"spec": {"template": template}}));
        let edited = deployments.patch("web", &params, &edit).await.unwrap();
        assert!(is_at(&edited, evil));
        eventually("the image to be corrected", async || {
            let live = deployments.get("web").await.unwrap();
            if is_at(&live, image) { Ok(()) } else { Err(live.as_text().to_owned()) }
        })
        .await;
    }

    // Of a Workload: the next edits of its spec are applied.
    workloads.patch("web", &params, &nested("baton.rs/v1alpha1")).await.unwrap();
    for replicas in [3, 4] {
        let edit = Patch::Merge(json!({"spec": {"replicas": replicas}}));
        workloads.patch("web", &params, &edit).await.unwrap();
        eventually("the edit to be applied", async || {
            let live = deployments.get("web").await.unwrap();
            let count = live.number(&["spec", "replicas"]);
            if count == Some(replicas) { Ok(()) } else { Err(count) }
        })
        .await;
    }
}

/// So many that they fit into what a process may have open.
const HALF_OPEN: usize = 4000;

/// Thousands of connections with half a request each.
async fn thousands_of_connections_to_the_admin_port_block_no_request_and_cost_little_memory(
    cluster: Cluster,
) {
    let env = Environment::start(&cluster, "idle").await;
    let address = env.operator().health_address();
    let pid = env.operator().process().pid();
    let before = memory(pid).unwrap().resident;
    let half = format!("GET /metrics HTTP/1.1\r\nX-Long: {}\r\n", "x".repeat(3000));
    let open = || {
        let mut stream = TcpStream::connect(address).unwrap();
        // The operator may have ended the connection by now.
        let _ = stream.write_all(half.as_bytes());
        stream
    };
    let idle: Vec<TcpStream> = (0..HALF_OPEN).map(|_| open()).collect();
    let grown = memory(pid).unwrap().resident.saturating_sub(before);
    println!("{HALF_OPEN} connections: {} KiB more", grown / 1024);
    assert!(grown < 8 * 1024 * 1024, "{grown} bytes for {HALF_OPEN} connections");
    let ask = |request: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(format!("{request} HTTP/1.0\r\n\r\n").as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response.lines().next().unwrap_or_default().to_owned()
    };
    for (request, status) in [
        ("GET /healthz", "200"),
        ("GET /metrics", "200"),
        ("POST /metrics", "405"),
        ("DELETE /healthz", "405"),
        ("GET /", "404"),
        ("GET /debug/pprof", "404"),
        ("GET /../etc/passwd", "404"),
    ] {
        let response = ask(request);
        assert!(response.contains(status), "{request}: {response}");
    }
    drop(idle);
}

async fn metrics_show_no_name_of_a_workload(cluster: Cluster) {
    let env = Environment::start(&cluster, "unseen").await;
    let mut workload = web(&json!({"service": {"ports": [{"port": 80}]}}));
    workload["metadata"]["name"] = json!("very-secret-project");
    env.apply_as("user", &workload).await.unwrap();
    env.passes_to_end(1).await;
    let metrics = env.operator().metrics_text().await.unwrap();
    for name in ["very-secret-project", env.ns(), "app:1"] {
        assert!(!metrics.contains(name), "{name} in {metrics}");
    }
}

/// The threat model names a test for each promise. If the test is renamed, the promise has no proof.
#[test]
fn every_test_that_the_threat_model_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    let mut sources = String::new();
    let mut folders: Vec<PathBuf> =
        ["apply/src", "controller/src", "controller/tests", "e2e/tests", "runtime/src", "runtime/tests"]
            .map(|folder| root.join(folder))
            .into();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                sources.push_str(&read(&path));
            }
        }
    }
    let model = read(&root.join("docs/threat-model.md"));
    let rows = model.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| ---"));
    let tests = rows.filter_map(|row| row.trim_end_matches(" |").rsplit(" | ").next());
    let named: Vec<&str> =
        tests.flat_map(|cell| cell.split('`').skip(1).step_by(2)).filter(|name| name.contains('_')).collect();
    assert!(named.len() > 15, "{named:?}");
    for name in named {
        assert!(sources.contains(&format!("fn {name}(")), "no test is named {name}");
    }
}
