//! The Helm chart: it passes Helm's own checks, gives what kustomize gives, and does what its values say.

use std::collections::BTreeSet;

use baton_merge::yaml;
use serde_json::{Value, json};

use super::objects::{INSTALLATIONS, Id, Objects, helm, rendered, repository};

/// Labels that Helm adds, and kustomize doesn't.
const HELM_LABELS: [&str; 4] = [
    "app.kubernetes.io/instance",
    "app.kubernetes.io/managed-by",
    "app.kubernetes.io/version",
    "helm.sh/chart",
];
const HELM_ANNOTATIONS: [&str; 1] = ["helm.sh/resource-policy"];

/// Takes away what only Helm adds.
fn without_helm(mut objects: Objects) -> Objects {
    for (id, object) in &mut objects {
        let metadata = object["metadata"].as_object_mut().unwrap();
        for (field, names) in [("labels", &HELM_LABELS[..]), ("annotations", &HELM_ANNOTATIONS[..])] {
            let Some(map) = metadata.get_mut(field).and_then(Value::as_object_mut) else { continue };
            map.retain(|name, _| !names.contains(&name.as_str()));
            if id.kind == "CustomResourceDefinition" {
                // It is generated without any label.
                map.remove("app.kubernetes.io/name");
            }
            if map.is_empty() {
                metadata.remove(field);
            }
        }
    }
    objects
}

#[test]
#[ignore = "by Helm"]
fn helm_finds_nothing_wrong_with_the_chart() {
    let folder = repository("charts/baton");
    for args in INSTALLATIONS.map(|installation| installation.helm_args()) {
        let output = helm().args(["lint", "--strict"]).arg(&folder).args(args).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
#[ignore = "by Helm"]
fn helm_and_kustomize_install_the_same() {
    for installation in INSTALLATIONS {
        let mut kustomize = installation.by_kustomize();
        // Helm makes the namespace itself, with --create-namespace, before it reads the chart.
        kustomize.retain(|id, _| id.kind != "Namespace");
        let helm = without_helm(installation.by_helm());
        let names = |objects: &Objects| objects.keys().cloned().collect::<Vec<Id>>();
        assert_eq!(names(&kustomize), names(&helm), "{}", installation.folder());
        for (id, object) in &kustomize {
            let other = &helm[id];
            assert!(
                object == other,
                "{id} of {}\nby kustomize: {object:#}\nby Helm: {other:#}",
                installation.folder()
            );
        }
    }
}

/// The objects that the chart renders with these values.
fn with(values: &Value) -> Result<Objects, String> {
    let mut args = Vec::new();
    for (name, value) in values.as_object().unwrap() {
        args.extend(["--set-json".to_owned(), format!("{name}={value}")]);
    }
    rendered("baton-system", &args)
}

fn one<'a>(objects: &'a Objects, kind: &str, name: &str) -> &'a Value {
    let mut found = objects.iter().filter(|(id, _)| id.kind == kind && id.name == name);
    found.next().map_or_else(|| panic!("no {kind} {name}"), |(_, object)| object)
}

fn pod(objects: &Objects) -> &Value {
    &one(objects, "Deployment", "baton")["spec"]["template"]["spec"]
}

/// Checks these environment variables of the operator.
fn assert_variables(objects: &Objects, wanted: &[(&str, &str)]) {
    let variables = pod(objects)["containers"][0]["env"].as_array().unwrap();
    for (name, value) in wanted {
        assert!(variables.contains(&json!({"name": name, "value": value})), "{name}={value}: {variables:#?}");
    }
}

#[test]
#[ignore = "by Helm"]
fn a_list_of_namespaces_gives_a_role_in_each_and_nothing_in_the_cluster() {
    let objects = with(&json!({"watch.namespaces": ["shop", "blog"], "rbac.userRoles": false})).unwrap();
    assert!(!objects.keys().any(|id| id.kind.starts_with("ClusterRole")));
    let everywhere = with(&json!({})).unwrap();
    let rules = &one(&everywhere, "ClusterRole", "baton")["rules"];
    for namespace in ["shop", "blog"] {
        let named = |kind: &str| Id {
            kind: kind.to_owned(),
            namespace: Some(namespace.to_owned()),
            name: "baton".to_owned(),
        };
        assert_eq!(&objects[&named("Role")]["rules"], rules);
        let binding = &objects[&named("RoleBinding")];
        assert_eq!(binding["subjects"][0]["namespace"], "baton-system");
        assert_eq!(binding["roleRef"]["kind"], "Role");
    }
    assert_variables(&objects, &[("BATON_NAMESPACE", "shop,blog")]);
}

#[test]
#[ignore = "by Helm"]
fn every_setting_reaches_the_operator_under_the_name_of_a_flag() {
    let settings = json!({
        "leaderElection": {"leaseDuration": "30s", "renewDeadline": "20s", "retryPeriod": "5s"},
        "concurrency": 4,
        "writeRate": 50,
        "requestTimeout": "10s",
        "predict": false,
        "resync": "1h",
        "schemaRefresh": "10m",
        "log": {"format": "text", "level": "debug"},
        "extraEnv": [{"name": "BATON_ADMIN_ADDR", "value": "0.0.0.0:8080"}],
        "extraArgs": ["--resync=2h"],
    });
    let objects = with(&settings).unwrap();
    let wanted = [
        ("BATON_LEASE_DURATION", "30s"),
        ("BATON_RENEW_DEADLINE", "20s"),
        ("BATON_RETRY_PERIOD", "5s"),
        ("BATON_CONCURRENCY", "4"),
        ("BATON_WRITE_RATE", "50"),
        ("BATON_REQUEST_TIMEOUT", "10s"),
        ("BATON_PREDICT", "false"),
        ("BATON_RESYNC", "1h"),
        ("BATON_SCHEMA_REFRESH", "10m"),
        ("BATON_LOG_FORMAT", "text"),
        ("BATON_LOG", "debug"),
        ("BATON_ADMIN_ADDR", "0.0.0.0:8080"),
    ];
    assert_variables(&objects, &wanted);
    assert_eq!(pod(&objects)["containers"][0]["args"], json!(["run", "--leader-elect", "--resync=2h"]));
}

#[test]
#[ignore = "by Helm"]
fn a_shard_has_its_own_names_and_leaves_cluster_wide_objects_to_the_release_without_a_shard() {
    let everything = json!({"metrics.secure": true, "monitoring.enabled": true});
    let mut second = everything.clone();
    second["shard"] = json!("second");
    let (usual, second) = (with(&everything).unwrap(), with(&second).unwrap());
    let shared: Vec<&Id> = usual.keys().filter(|id| second.contains_key(id)).collect();
    assert!(shared.is_empty(), "{shared:?}");
    let is_renamed = |id: &&Id| id.name.ends_with("-second");
    assert_eq!(second.keys().filter(is_renamed).count(), second.len(), "{:?}", second.keys());
    let kinds = |objects: &Objects| objects.keys().map(|id| id.kind.clone()).collect::<BTreeSet<_>>();
    let only: BTreeSet<String> = kinds(&usual).difference(&kinds(&second)).cloned().collect();
    let clusters = [
        "ConfigMap",
        "CustomResourceDefinition",
        "PriorityClass",
        "PriorityLevelConfiguration",
        "PrometheusRule",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    ];
    assert_eq!(only, clusters.map(str::to_owned).into());

    // Each selects its own pods. The shard uses the PriorityClass of the other release.
    let pods = |objects: &Objects, name: &str| one(objects, "Deployment", name)["spec"].clone();
    let (first, second_pods) = (pods(&usual, "baton"), pods(&second, "baton-second"));
    assert_eq!(first["selector"]["matchLabels"], json!({"app.kubernetes.io/name": "baton"}));
    assert_eq!(second_pods["selector"]["matchLabels"], json!({"app.kubernetes.io/name": "baton-second"}));
    assert_eq!(second_pods["template"]["spec"]["priorityClassName"], "baton");
    for (kind, path) in [
        ("Service", "/spec/selector"),
        ("PodDisruptionBudget", "/spec/selector/matchLabels"),
        ("NetworkPolicy", "/spec/podSelector/matchLabels"),
        ("ServiceMonitor", "/spec/selector/matchLabels"),
    ] {
        let selector = one(&second, kind, "baton-second").pointer(path).unwrap();
        assert_eq!(selector, &second_pods["selector"]["matchLabels"], "{kind}");
    }
    let rules = &one(&second, "Role", "baton-leader-second")["rules"];
    assert_eq!(rules[1]["resourceNames"], json!(["baton-second"]));
    for name in ["baton-second", "baton-leader-election-second", "baton-reviews-second"] {
        let account = &one(&second, "FlowSchema", name)["spec"]["rules"][0]["subjects"][0]["serviceAccount"];
        assert_eq!(account, &json!({"name": "baton-second", "namespace": "baton-system"}));
    }
    assert!(!second.values().any(|object| object.to_string().contains("{{")), "a template is not rendered");
}

#[test]
#[ignore = "by Helm"]
fn without_leader_election_the_old_operator_stops_first() {
    let objects = with(&json!({"leaderElection.enabled": false, "replicas": 1})).unwrap();
    let deployment = one(&objects, "Deployment", "baton");
    assert_eq!(deployment["spec"]["strategy"], json!({"type": "Recreate"}));
    assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["args"], json!(["run"]));
    assert!(!objects.keys().any(|id| id.name == "baton-leader"));
}

#[test]
#[ignore = "by Helm"]
fn optional_objects_can_be_left_out() {
    let objects = with(&json!({
        "crds.install": false,
        "policies": {"authors": false, "replicas": false},
        "rbac": {"create": false, "userRoles": false},
        "priorityClass": {"create": false, "name": ""},
        "flowControl.enabled": false,
        "podDisruptionBudget.enabled": false,
        "networkPolicy.enabled": false,
    }))
    .unwrap();
    let kinds: Vec<&str> = objects.keys().map(|id| id.kind.as_str()).collect();
    assert_eq!(kinds, ["Deployment", "Service", "ServiceAccount"]);
    assert_eq!(pod(&objects)["priorityClassName"], Value::Null);
}

#[test]
#[ignore = "by Helm"]
fn on_openshift_the_cluster_chooses_the_user_and_baton_may_delete_deployments() {
    let deletes = |objects: &Objects| {
        let rules = one(objects, "ClusterRole", "baton")["rules"].as_array().unwrap().clone();
        let is_it =
            |rule: &Value| rule["resources"] == json!(["deployments"]) && rule["verbs"] == json!(["delete"]);
        rules.iter().any(is_it)
    };
    let user = |objects: &Objects| {
        let context = &pod(objects)["securityContext"];
        assert_eq!(context["runAsNonRoot"], true);
        [context["runAsUser"].clone(), context["runAsGroup"].clone()]
    };
    let usual = with(&json!({})).unwrap();
    assert_eq!((deletes(&usual), user(&usual)), (false, [json!(65532), json!(65532)]));
    let openshift = with(&json!({"rbac.deleteDeployments": true, "runAsUser": null})).unwrap();
    assert_eq!((deletes(&openshift), user(&openshift)), (true, [Value::Null, Value::Null]));
}

#[test]
#[ignore = "by Helm"]
fn secure_metrics_have_their_own_port_and_can_take_a_certificate_from_a_secret() {
    let values =
        json!({"metrics": {"secure": true, "certSecret": "baton-metrics"}, "monitoring.enabled": true});
    let objects = with(&values).unwrap();
    let wanted = [
        ("BATON_SECURE_METRICS_ADDR", "0.0.0.0:8443"),
        ("BATON_METRICS_CERT_DIR", "/metrics-certificate"),
        ("BATON_METRICS_AUDIENCE", "baton"),
    ];
    assert_variables(&objects, &wanted);
    assert_eq!(pod(&objects)["volumes"][0]["secret"]["secretName"], "baton-metrics");
    assert_eq!(pod(&objects)["containers"][0]["volumeMounts"][0]["mountPath"], "/metrics-certificate");
    let endpoint = &one(&objects, "ServiceMonitor", "baton")["spec"]["endpoints"][0];
    let tls = json!({
        "serverName": "baton.baton-system.svc",
        "ca": {"secret": {"name": "baton-metrics", "key": "ca.crt"}},
    });
    assert_eq!((&endpoint["scheme"], &endpoint["tlsConfig"]), (&json!("https"), &tls));

    assert_eq!(endpoint["bearerTokenFile"], "/var/run/secrets/baton/token");

    // The token is from a Secret, or, without an audience, Prometheus' own.
    let endpoint = |metrics: &Value| {
        let objects = with(&json!({"metrics": metrics, "monitoring.enabled": true})).unwrap();
        one(&objects, "ServiceMonitor", "baton")["spec"]["endpoints"][0].clone()
    };
    let from_secret = endpoint(&json!({"secure": true, "tokenSecret": "token"}));
    assert_eq!(from_secret["authorization"]["credentials"], json!({"name": "token", "key": "token"}));
    assert_eq!(from_secret["bearerTokenFile"], Value::Null);
    let own = endpoint(&json!({"secure": true, "audience": ""}));
    assert_eq!(own["bearerTokenFile"], "/var/run/secrets/kubernetes.io/serviceaccount/token");

    // An unused certificate isn't mounted.
    let objects = with(&json!({"metrics.certSecret": "baton-metrics"})).unwrap();
    assert_eq!(pod(&objects)["volumes"], Value::Null);
}

#[test]
#[ignore = "by Helm"]
fn the_network_policy_is_as_narrow_as_the_values_say() {
    let policy = |values: &Value| one(&with(values).unwrap(), "NetworkPolicy", "baton")["spec"].clone();
    let usual = policy(&json!({}));
    assert_eq!(usual["egress"].as_array().unwrap().len(), 1, "only the API server");
    assert_eq!(usual["egress"][0]["to"], Value::Null, "any address");
    let monitoring =
        json!([{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]);
    assert_eq!(usual["ingress"], json!([{"ports": [{"protocol": "TCP", "port": 8080}], "from": monitoring}]));
    // The kubelet's probes need no rule.
    assert_eq!(policy(&json!({"networkPolicy.metricsFrom": []}))["ingress"], Value::Null);

    let peers =
        json!([{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "observability"}}}]);
    let mut values = json!({
        "networkPolicy": {"apiServerCIDRs": ["10.96.0.1/32", "fd00::/64"], "apiServerPorts": [443, 8443], "metricsFrom": peers},
    });
    let narrow = policy(&values);
    let server = &narrow["egress"][0];
    assert_eq!(
        server["to"],
        json!([{"ipBlock": {"cidr": "10.96.0.1/32"}}, {"ipBlock": {"cidr": "fd00::/64"}}])
    );
    assert_eq!(server["ports"][1]["port"], 8443);
    assert_eq!(narrow["ingress"], json!([{"ports": [{"protocol": "TCP", "port": 8080}], "from": peers}]));

    // Then port 8080 serves only health checks.
    values["metrics.secure"] = json!(true);
    let secure = json!([{"ports": [{"protocol": "TCP", "port": 8443}], "from": peers}]);
    assert_eq!(policy(&values)["ingress"], secure);
}

#[test]
#[ignore = "by Helm"]
fn kubernetes_chooses_the_user_namespace_unless_the_values_do() {
    let pod = |values: &Value| pod(&with(values).unwrap())["hostUsers"].clone();
    assert_eq!(pod(&json!({})), Value::Null);
    for value in [true, false] {
        assert_eq!(pod(&json!({"hostUsers": value})), value);
    }
}

#[test]
#[ignore = "by Helm"]
fn the_crd_outlives_the_release_unless_the_values_say_otherwise() {
    let policy = |values: &Value| {
        let objects = with(values).unwrap();
        one(&objects, "CustomResourceDefinition", "workloads.baton.rs")["metadata"]["annotations"]
            ["helm.sh/resource-policy"]
            .clone()
    };
    assert_eq!(policy(&json!({})), "keep");
    assert_eq!(policy(&json!({"crds.keep": false})), Value::Null);
}

#[test]
#[ignore = "by Helm"]
fn the_image_is_found_by_tag_or_digest() {
    let image = |values: &Value| {
        let objects = with(values).unwrap();
        pod(&objects)["containers"][0]["image"].clone()
    };
    assert_eq!(image(&json!({})), concat!("registry.invalid/baton:", env!("CARGO_PKG_VERSION")));
    let elsewhere = json!({"image": {"repository": "registry.example/baton", "tag": "1.2.3"}});
    assert_eq!(image(&elsewhere), "registry.example/baton:1.2.3");
    let digest = format!("sha256:{}", "0".repeat(64));
    assert_eq!(image(&json!({"image.digest": digest})), format!("registry.invalid/baton@{digest}"));
}

#[test]
#[ignore = "by Helm"]
fn the_runbooks_are_found_where_the_values_say() {
    let values = json!({"monitoring": {"enabled": true, "runbookUrl": "https://wiki.example/baton", "labels": {"team": "a"}}});
    let rule = with(&values).unwrap();
    let rule = one(&rule, "PrometheusRule", "baton");
    assert_eq!(rule["metadata"]["labels"]["team"], "a");
    for alert in
        rule["spec"]["groups"].as_array().unwrap().iter().flat_map(|group| group["rules"].as_array().unwrap())
    {
        let url = alert["annotations"]["runbook_url"].as_str().unwrap();
        assert!(url.starts_with("https://wiki.example/baton#"), "{url}");
    }
}

#[test]
#[ignore = "by Helm"]
fn secure_metrics_are_refused_where_the_release_is_in_a_namespace_that_it_watches() {
    let values = json!({"metrics.secure": true, "watch.namespaces": ["shop", "baton-system"]});
    let error = with(&values).unwrap_err();
    assert!(error.contains("in a namespace that is not among watch.namespaces"), "{error}");
    assert!(with(&json!({"metrics.secure": true, "watch.namespaces": ["shop"]})).is_ok());
}

#[test]
#[ignore = "by Helm"]
fn the_alerts_are_about_the_namespaces_that_the_values_name() {
    let expressions = |values: &Value| -> Vec<String> {
        let objects = with(values).unwrap();
        let groups = one(&objects, "PrometheusRule", "baton")["spec"]["groups"].clone();
        let rules =
            groups.as_array().unwrap().iter().flat_map(|group| group["rules"].as_array().unwrap().clone());
        rules.map(|rule| rule["expr"].as_str().unwrap().to_owned()).collect()
    };
    let usual = expressions(&json!({"monitoring.enabled": true}));
    assert_eq!(usual[0], "absent(baton_build_info{namespace=~\"baton-system\"})");
    let shards = expressions(&json!({"monitoring.enabled": true, "monitoring.namespaces": ["a", "b"]}));
    assert_eq!(shards[0], "absent(baton_build_info{namespace=~\"a|b\"})");
    assert!(!shards.iter().any(|expression| expression.contains("baton-system")), "{shards:?}");
}

#[test]
#[ignore = "by Helm"]
fn invalid_values_are_refused() {
    for (values, named) in [
        (json!({"replica": 3}), "replica"),
        (json!({"replicas": "three"}), "replicas"),
        (json!({"replicas": 2, "leaderElection.enabled": false}), "replicas"),
        (json!({"log.format": "xml"}), "format"),
        (json!({"resync": "soon"}), "resync"),
        (json!({"concurrency": 0}), "concurrency"),
        (json!({"shard": "Second"}), "shard"),
        (json!({"watch.selector": "team=shop"}), "selector"),
        (json!({"runAsUser": 0}), "runAsUser"),
        (json!({"watch.namespaces": ["Shop"]}), "namespaces"),
        (json!({"watch.namespaces": "shop"}), "namespaces"),
        (json!({"image.digest": "latest"}), "digest"),
        (json!({"networkPolicy.apiServerPorts": []}), "apiServerPorts"),
        (json!({"podDisruptionBudget.maxUnavailable": "some"}), "maxUnavailable"),
        (json!({"networkPolicy.apiServerCIDRs": ["10.0.0.1"]}), "apiServerCIDRs"),
        (json!({"networkPolicy.metricsFrom": [{"namespace": "monitoring"}]}), "metricsFrom"),
        (json!({"metrics.secure": "yes"}), "secure"),
        (json!({"hostUsers": "no"}), "hostUsers"),
        (json!({"monitoring.on": true}), "on"),
    ] {
        match with(&values) {
            Ok(_) => panic!("{values} was accepted"),
            Err(error) => assert!(error.contains(named), "{values}: {error}"),
        }
    }
}

#[test]
fn the_chart_has_the_version_of_the_operator() {
    let text = std::fs::read_to_string(repository("charts/baton/Chart.yaml")).unwrap();
    let chart: Value = yaml::from_str(&text).unwrap();
    for field in ["version", "appVersion"] {
        assert_eq!(chart[field], env!("CARGO_PKG_VERSION"), "{field}");
    }
}

/// The default of a value, as a README shows it.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() => "`\"\"`".to_owned(),
        Value::String(text) => format!("`{text}`"),
        value => format!("`{value}`"),
    }
}

#[test]
fn the_readme_lists_every_value_with_its_default() {
    let text = std::fs::read_to_string(repository("charts/baton/values.yaml")).unwrap();
    let values: Value = yaml::from_str(&text).unwrap();
    let readme = std::fs::read_to_string(repository("charts/baton/README.md")).unwrap();
    // Values that are too long for a table.
    let whole = [
        "resources",
        "strategy",
        "topologySpreadConstraints",
        "monitoring.dashboardLabels",
        "networkPolicy.metricsFrom",
    ];
    let mut leaves = Vec::new();
    collect("", &values, &whole, &mut leaves);
    for (name, value) in &leaves {
        let row = if whole.contains(&name.as_str()) {
            format!("| `{name}` | see `values.yaml` |")
        } else {
            format!("| `{name}` | {} |", shown(value))
        };
        assert!(readme.contains(&row), "charts/baton/README.md has no row that begins with {row}");
    }
    assert_eq!(
        readme.matches("\n| `").count(),
        leaves.len(),
        "charts/baton/README.md has a row without a value"
    );
}

fn collect(path: &str, value: &Value, whole: &[&str], leaves: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(map) if !map.is_empty() && !whole.contains(&path) => {
            for (name, value) in map {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(&path, value, whole, leaves);
            }
        }
        value => leaves.push((path.to_owned(), value.clone())),
    }
}
