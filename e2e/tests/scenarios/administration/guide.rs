//! `docs/install.md` as people follow it, command for command. The nodes are simulated here, so the operator's pods don't run its
//! image: it runs as a process beside them, as the ServiceAccount that the installation created.

use baton_e2e::{End, Operator, OperatorOptions, guide};
use baton_merge::yaml;
use baton_testbed::{Cluster, eventually};
use serde_json::{Value, json};

use super::{
    objects::{Objects, kustomized, repository},
    server::kubectl,
};

const PAGE: &str = "docs/install.md";

/// A Workload with every child. Its autoscaler scales at once: there are fewer pods than its minimum.
const WEB: &str = r#"{
  "apiVersion": "baton.rs/v1alpha1", "kind": "Workload", "metadata": {"name": "web"},
  "spec": {
    "replicas": 2,
    "template": {"spec": {"containers": [{"name": "app", "image": "app:1", "ports": [{"containerPort": 80}]}]}},
    "service": {"ports": [{"port": 80}]},
    "autoscaling": {"minReplicas": 3, "maxReplicas": 4},
    "disruptionBudget": {"maxUnavailable": 1}
  }
}"#;

const CHILDREN: &str = "deployment/web service/web horizontalpodautoscaler/web poddisruptionbudget/web";

/// Types a block of commands of a section, as the user of the kubeconfig.
async fn follow(kubeconfig: &std::path::Path, section: &str, block: usize) -> String {
    let commands = guide::commands(PAGE, section).unwrap();
    guide::run(kubeconfig, &commands[block]).await.unwrap_or_else(|error| panic!("{section}: {error}"))
}

/// The operator of the installation in this namespace.
pub(super) async fn operator(cluster: &Cluster, home: &str, namespace: Option<&str>) -> Operator {
    let options = OperatorOptions {
        home: Some(home.to_owned()),
        name: Some("baton".to_owned()),
        namespace: namespace.map(str::to_owned),
        installed: true,
        // As in the manifests, so that the permissions for that are used too.
        args: vec!["--leader-elect".to_owned()],
        ..OperatorOptions::default()
    };
    Operator::start(cluster, options).await.unwrap()
}

async fn apply(cluster: &Cluster, namespace: &str, object: &str) {
    let args = ["apply", "--server-side", "--namespace", namespace, "--filename", "-"];
    cluster.real().kubectl_command(args).unwrap().input(object).run().await.unwrap().success().unwrap();
}

async fn object(cluster: &Cluster, what: &str, namespace: &str) -> Value {
    let text = kubectl(cluster, &format!("get {what} --namespace {namespace} --output json")).await;
    serde_json::from_str(&text).unwrap()
}

/// Waits until the Workload has this condition.
async fn reached(cluster: &Cluster, condition: &str, namespace: &str) {
    let what = format!("--for=condition={condition} workloads.baton.rs/web");
    kubectl(cluster, &format!("wait {what} --namespace {namespace} --timeout 60s")).await;
}

/// Waits until none of these exists.
async fn gone(cluster: &Cluster, what: &str, namespace: &str) {
    let line = format!("get {what} --namespace {namespace} --ignore-not-found --output name");
    eventually("all to be gone", async || {
        let left = kubectl(cluster, &line).await;
        if left.is_empty() { Ok(()) } else { Err(left) }
    })
    .await;
}

/// Asserts that no child in this namespace has an owner reference.
async fn assert_orphans(cluster: &Cluster, namespace: &str) {
    for child in CHILDREN.split(' ') {
        let left = object(cluster, child, namespace).await;
        assert_eq!(left["metadata"]["ownerReferences"], Value::Null, "{child}");
    }
}

pub async fn an_uninstall_can_leave_everything_running(cluster: &Cluster) {
    let admin = cluster.real().kubeconfig();
    follow(admin, "Install", 0).await;
    let operator = operator(cluster, "baton-system", None).await;
    follow(admin, "See that it works", 0).await;
    gone(cluster, "deployment/minimal", "default").await;

    let namespace = cluster.namespace("left").await.unwrap();
    let ns = namespace.name();
    apply(cluster, ns, WEB).await;
    reached(cluster, "HandedOver", ns).await;
    reached(cluster, "Ready", ns).await;
    let before = object(cluster, "deployment/web", ns).await;

    // The first of the commands ends the operator's pods.
    assert_eq!(operator.stop().await.unwrap(), End::Success);
    follow(admin, "Uninstall and leave everything running", 0).await;

    assert_orphans(cluster, ns).await;
    let after = object(cluster, "deployment/web", ns).await;
    for field in ["/metadata/uid", "/metadata/generation", "/spec"] {
        assert_eq!(before.pointer(field), after.pointer(field), "{field}");
    }
    let rest =
        kubectl(cluster, "get crd,clusterroles,clusterrolebindings,priorityclasses,prioritylevelconfigurations,flowschemas,namespaces --output name")
            .await;
    assert!(!rest.contains("/baton"), "{rest}");
    assert!(!rest.contains("baton.rs"), "{rest}");
}

pub async fn an_uninstall_can_remove_everything(cluster: &Cluster) {
    let admin = cluster.real().kubeconfig();
    follow(admin, "Install", 0).await;
    let operator = operator(cluster, "baton-system", None).await;
    let namespace = cluster.namespace("gone").await.unwrap();
    apply(cluster, namespace.name(), WEB).await;
    reached(cluster, "Ready", namespace.name()).await;
    // An upgrade to the same version changes nothing.
    follow(admin, "Upgrade", 0).await;

    assert_eq!(operator.stop().await.unwrap(), End::Success);
    follow(admin, "Uninstall and take everything along", 0).await;
    gone(cluster, CHILDREN, namespace.name()).await;
    gone(cluster, "pods", namespace.name()).await;
}

pub async fn helm_uninstall_keeps_the_workloads_and_their_children_can_be_orphaned(cluster: &Cluster) {
    let admin = cluster.real().kubeconfig();
    follow(admin, "Install with Helm", 0).await;
    let operator = operator(cluster, "baton-system", None).await;
    let namespace = cluster.namespace("helm").await.unwrap();
    apply(cluster, namespace.name(), WEB).await;
    reached(cluster, "Ready", namespace.name()).await;
    follow(admin, "Upgrade", 1).await;

    assert_eq!(operator.stop().await.unwrap(), End::Success);
    follow(admin, "Uninstall and leave everything running", 1).await;
    object(cluster, "workloads.baton.rs/web", namespace.name()).await;
    follow(admin, "Uninstall and leave everything running", 2).await;
    assert_orphans(cluster, namespace.name()).await;
    follow(admin, "Install with Helm", 0).await;
    follow(admin, "Uninstall and take everything along", 1).await;
    kubectl(cluster, "delete namespace baton-system").await;
}

pub async fn on_openshift_a_deployment_is_adopted_once_baton_may_delete_deployments(cluster: &Cluster) {
    let admin = cluster.real().kubeconfig();
    follow(admin, "Install", 0).await;
    let operator = operator(cluster, "baton-system", None).await;
    let namespace = cluster.namespace("moved").await.unwrap();
    let ns = namespace.name();
    for (kind, name) in
        [("deployment", "web --image app:1 --replicas 2"), ("service clusterip", "web --tcp 80")]
    {
        kubectl(cluster, &format!("create {kind} {name} --namespace {ns}")).await;
    }
    kubectl(
        cluster,
        &format!("wait --for=condition=Available deployment/web --namespace {ns} --timeout 60s"),
    )
    .await;
    let before = object(cluster, "deployment/web", ns).await;
    let adopting = r#""spec": {"adoption": "Adopt", "retiredManagers": ["kubectl-create"],"#;
    apply(cluster, ns, &WEB.replacen(r#""spec": {"#, adopting, 1)).await;

    let refused = eventually("the Deployment to be refused", async || {
        let workload = object(cluster, "workloads.baton.rs/web", ns).await;
        let conditions = workload["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let applied = conditions.into_iter().find(|one| one["type"] == "Applied" && one["status"] == "False");
        applied.ok_or(workload)
    })
    .await;
    assert_eq!(refused["reason"], "Rejected", "{refused}");
    let message = refused["message"].as_str().unwrap();
    assert!(message.contains("cannot set an ownerRef on a resource you can't delete"), "{message}");
    // The Service waits for the selector of the pods.
    let service = object(cluster, "service/web", ns).await;
    assert!(service["metadata"]["ownerReferences"].is_null(), "{service}");

    follow(admin, "Install on OpenShift", 0).await;
    reached(cluster, "Applied", ns).await;
    reached(cluster, "Ready", ns).await;
    for what in ["deployment/web", "service/web"] {
        let adopted = object(cluster, what, ns).await;
        assert_eq!(adopted["metadata"]["ownerReferences"][0]["kind"], "Workload", "{adopted}");
    }
    let after = object(cluster, "deployment/web", ns).await;
    assert_eq!(after["metadata"]["uid"], before["metadata"]["uid"]);

    assert_eq!(operator.stop().await.unwrap(), End::Success);
    follow(admin, "Uninstall and take everything along", 0).await;
    gone(cluster, CHILDREN, ns).await;
}

pub async fn in_one_namespace_baton_needs_nothing_cluster_wide_but_the_crd(cluster: &Cluster) {
    follow(cluster.real().kubeconfig(), "Install for one namespace", 0).await;

    // A user who may do everything in the namespace, and nothing outside of it.
    kubectl(cluster, "create serviceaccount owner --namespace default").await;
    let binding = "create rolebinding owner --namespace shop --clusterrole cluster-admin --serviceaccount default:owner";
    kubectl(cluster, binding).await;
    let owner = cluster.real().kubeconfig_for_service_account("default", "owner").await.unwrap();
    follow(&owner, "Install for one namespace", 1).await;

    let begin = cluster.audit().unwrap().mark().unwrap();
    let operator = operator(cluster, "shop", Some("shop")).await;
    apply(cluster, "shop", WEB).await;
    reached(cluster, "HandedOver", "shop").await;
    let fixed = WEB.replace(r#""autoscaling": {"minReplicas": 3, "maxReplicas": 4},"#, "");
    apply(cluster, "shop", &fixed).await;
    gone(cluster, "horizontalpodautoscaler/web", "shop").await;
    kubectl(cluster, "wait --for=jsonpath={.spec.replicas}=2 deployment/web --namespace shop --timeout 60s")
        .await;
    kubectl(cluster, "delete workloads.baton.rs web --namespace shop").await;
    gone(cluster, CHILDREN, "shop").await;
    assert_eq!(operator.stop().await.unwrap(), End::Success);

    let requests = cluster.audit().unwrap().since(begin).unwrap().by(operator.user());
    assert!(!requests.clone().writes().is_empty());
    let denied = requests.clone().code(403);
    assert!(denied.is_empty(), "{denied}");
    let elsewhere =
        requests.that(|request| request.resource.is_some() && request.namespace.as_deref() != Some("shop"));
    // Any user may read its own permissions.
    let elsewhere = elsewhere.that(|request| request.resource.as_deref() != Some("selfsubjectaccessreviews"));
    assert!(elsewhere.is_empty(), "{elsewhere}");

    kubectl(cluster, "delete namespace shop").await;
    kubectl(cluster, "delete serviceaccount owner --namespace default").await;
    for folder in ["manifests/crd", "manifests/policies"] {
        let folder = repository(folder).display().to_string();
        kubectl(cluster, &format!("delete --kustomize {folder}")).await;
    }
}

#[test]
#[ignore = "by kustomize"]
fn the_kustomization_on_the_page_works() {
    let page = std::fs::read_to_string(repository(PAGE)).unwrap();
    let (_, yaml) = page.split_once("```yaml\n# my-baton/kustomization.yaml\n").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mine = folder.path().join("my-baton");
    std::fs::create_dir(&mine).unwrap();
    std::fs::write(mine.join("kustomization.yaml"), yaml.split("```").next().unwrap()).unwrap();
    std::os::unix::fs::symlink(repository("").canonicalize().unwrap(), folder.path().join("baton")).unwrap();

    let objects = kustomized(&mine);
    let (_, deployment) = objects.iter().find(|(id, _)| id.kind == "Deployment").unwrap();
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(pod["containers"][0]["image"], "registry.example/baton:0.1.0");
    assert_eq!(pod["imagePullSecrets"][0]["name"], "registry");
    let variables = pod["containers"][0]["env"].as_array().unwrap();
    assert!(
        variables.iter().any(|one| one["name"] == "BATON_LOG" && one["value"] == "debug"),
        "{variables:?}"
    );
    assert!(objects.keys().any(|id| id.kind == "PrometheusRule"));
}

/// The addition to a kustomization that the page shows below this heading.
fn addition(heading: &str) -> Value {
    let page = std::fs::read_to_string(repository(PAGE)).unwrap();
    let (_, below) = page.split_once(&format!("# {heading}\n")).unwrap();
    let (_, yaml) = below.split_once("```yaml\n# add to my-baton/kustomization.yaml\n").unwrap();
    yaml::from_str(yaml.split("```").next().unwrap()).unwrap()
}

/// The installation with monitoring and secure metrics, and with an addition of the page.
fn with_addition(heading: &str) -> Objects {
    let folder = tempfile::tempdir().unwrap();
    let mine = folder.path().join("my-baton");
    std::fs::create_dir(&mine).unwrap();
    std::os::unix::fs::symlink(repository("").canonicalize().unwrap(), folder.path().join("baton")).unwrap();
    let mut kustomization = addition(heading);
    kustomization["resources"] = json!(["../baton/manifests/overlays/secure-metrics"]);
    // JSON is YAML, too.
    std::fs::write(mine.join("kustomization.yaml"), kustomization.to_string()).unwrap();
    kustomized(&mine)
}

#[test]
#[ignore = "by kustomize"]
fn secure_metrics_are_not_for_the_one_namespace_that_baton_watches() {
    let folder = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(repository("manifests").canonicalize().unwrap(), folder.path().join("m"))
        .unwrap();
    let kustomization = |name: &str, overlay: &str| {
        let mine = folder.path().join(name);
        std::fs::create_dir(&mine).unwrap();
        let content = json!({
            "resources": [format!("../m/overlays/{overlay}")],
            "components": ["../m/components/secure-metrics"],
        });
        std::fs::write(mine.join("kustomization.yaml"), content.to_string()).unwrap();
        mine
    };
    let error = super::objects::kustomize(&kustomization("one", "single-namespace")).unwrap_err();
    assert!(error.contains("testing value /kind failed"), "{error}");
    let all = super::objects::kustomize(&kustomization("all", "high-availability")).unwrap();
    assert!(all.keys().any(|id| id.name == "baton-metrics-auth"));
}

fn of_kind<'a>(objects: &'a Objects, kind: &str) -> &'a Value {
    objects.iter().find(|(id, _)| id.kind == kind).map(|(_, object)| object).unwrap()
}

#[test]
#[ignore = "by kustomize"]
fn each_addition_that_the_page_shows_does_what_it_says() {
    let objects = with_addition("The API server's addresses");
    let egress = &of_kind(&objects, "NetworkPolicy")["spec"]["egress"];
    assert_eq!(egress[0]["to"][0]["ipBlock"]["cidr"], "10.96.0.1/32");
    assert_eq!(egress[0]["ports"][1]["port"], 6443);

    let objects = with_addition("Who may scrape");
    let from = &of_kind(&objects, "NetworkPolicy")["spec"]["ingress"][0]["from"];
    assert_eq!(from[0]["namespaceSelector"]["matchLabels"]["kubernetes.io/metadata.name"], "observability");

    let objects = with_addition("User namespaces");
    assert_eq!(of_kind(&objects, "Deployment")["spec"]["template"]["spec"]["hostUsers"], false);

    let objects = with_addition("A certificate of your own");
    let pod = &of_kind(&objects, "Deployment")["spec"]["template"]["spec"];
    let (container, volume) = (&pod["containers"][0], &pod["volumes"][0]);
    let folder = &container["volumeMounts"][0];
    assert_eq!(folder["name"], volume["name"]);
    let variables = container["env"].as_array().unwrap();
    let variable = variables.iter().find(|one| one["name"] == "BATON_METRICS_CERT_DIR").unwrap();
    assert_eq!(variable["value"], folder["mountPath"]);
    let tls = &of_kind(&objects, "ServiceMonitor")["spec"]["endpoints"][0]["tlsConfig"];
    assert_eq!(tls["ca"]["secret"]["name"], volume["secret"]["secretName"]);
    assert_eq!(tls["insecureSkipVerify"], Value::Null);

    let objects = with_addition("A token in a Secret");
    let endpoint = &of_kind(&objects, "ServiceMonitor")["spec"]["endpoints"][0];
    assert_eq!(
        endpoint["authorization"]["credentials"],
        json!({"name": "baton-metrics-token", "key": "token"})
    );
    assert_eq!(endpoint["bearerTokenFile"], Value::Null);

    let objects = with_addition("Where the alerts' runbooks are");
    let groups = of_kind(&objects, "PrometheusRule")["spec"]["groups"].as_array().unwrap();
    for alert in groups.iter().flat_map(|group| group["rules"].as_array().unwrap()) {
        let anchor = alert["alert"].as_str().unwrap().to_lowercase();
        let url = format!("https://wiki.example/baton/operations#{anchor}");
        assert_eq!(alert["annotations"]["runbook_url"], url);
    }
}
