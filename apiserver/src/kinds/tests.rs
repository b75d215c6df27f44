//! What the rules say, as the server says it.

use baton_merge::schema::kinds::GroupVersionKind;
use baton_merge::{Arena, value::Value};
use serde_json::{Value as Json, json};

use super::{NameRule, default, prepare, validate, validate_metadata};

fn gvk(group: &str, version: &str, kind: &str) -> GroupVersionKind {
    GroupVersionKind::gvk(group, version, kind)
}

fn deployments() -> GroupVersionKind {
    gvk("apps", "v1", "Deployment")
}

fn pods() -> GroupVersionKind {
    gvk("", "v1", "Pod")
}

/// The object with one field changed, or taken out.
fn with(mut object: Json, path: &str, value: Json) -> Json {
    let (parent, name) = path.rsplit_once('/').unwrap();
    let parent = object.pointer_mut(parent).unwrap();
    match (parent, value) {
        (Json::Array(items), value) => items[name.parse::<usize>().unwrap()] = value,
        (Json::Object(members), Json::Null) => {
            members.remove(name);
        }
        (parent, value) => parent[name] = value,
    }
    object
}

fn problems(gvk: &GroupVersionKind, subresource: &str, new: &Json, old: Option<&Json>) -> Vec<String> {
    let arena = Arena::new();
    let value = |json| Value::from_json(&arena, json).unwrap();
    let errors = validate(gvk, subresource, value(new), old.map(value));
    errors
        .iter()
        .map(|error| format!("{error} ({})", error.reason.trim_start_matches("FieldValue")))
        .collect()
}

fn new_problems(gvk: &GroupVersionKind, new: &Json) -> Vec<String> {
    problems(gvk, "", new, None)
}

fn defaulted(gvk: &GroupVersionKind, object: &Json) -> Json {
    let arena = Arena::new();
    default(&arena, gvk, Value::from_json(&arena, object).unwrap()).to_json()
}

fn prepared(gvk: &GroupVersionKind, subresource: &str, new: &Json, old: Option<&Json>) -> Json {
    let arena = Arena::new();
    let value = |json| Value::from_json(&arena, json).unwrap();
    prepare(&arena, gvk, subresource, value(new), old.map(value)).to_json()
}

fn pod_spec() -> Json {
    json!({
        "containers": [{
            "name": "web",
            "image": "nginx",
            "imagePullPolicy": "Always",
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "resources": {},
        }],
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        "schedulerName": "default-scheduler",
    })
}

fn pod() -> Json {
    json!({"metadata": {"name": "web", "namespace": "default"}, "spec": pod_spec()})
}

fn deployment() -> Json {
    json!({
        "metadata": {"name": "web", "namespace": "default", "uid": "1", "resourceVersion": "1", "generation": 1},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": "web"}},
            "strategy": {
                "type": "RollingUpdate",
                "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
            },
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": pod_spec()},
            "progressDeadlineSeconds": 600,
            "revisionHistoryLimit": 10,
        },
        "status": {},
    })
}

fn service() -> Json {
    json!({
        "metadata": {"name": "web", "namespace": "default", "uid": "1", "resourceVersion": "1"},
        "spec": {
            "type": "ClusterIP",
            "sessionAffinity": "None",
            "internalTrafficPolicy": "Cluster",
            "clusterIP": "10.0.0.1",
            "clusterIPs": ["10.0.0.1"],
            "ipFamilies": ["IPv4"],
            "ipFamilyPolicy": "SingleStack",
            "ports": [{"port": 80, "protocol": "TCP", "targetPort": 80}],
        },
        "status": {"loadBalancer": {}},
    })
}

fn job() -> Json {
    let labels = json!({
        "batch.kubernetes.io/controller-uid": "1",
        "batch.kubernetes.io/job-name": "once",
        "controller-uid": "1",
        "job-name": "once",
    });
    json!({
        "metadata": {"name": "once", "namespace": "default", "uid": "1", "resourceVersion": "1"},
        "spec": {
            "parallelism": 1,
            "completions": 1,
            "completionMode": "NonIndexed",
            "podReplacementPolicy": "TerminatingOrFailed",
            "manualSelector": false,
            "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": "1"}},
            "template": {
                "metadata": {"labels": labels},
                "spec": with(pod_spec(), "/restartPolicy", json!("Never")),
            },
        },
        "status": {},
    })
}

#[test]
fn sound_objects_have_no_problems() {
    let plain = |spec: Json| json!({"metadata": {"name": "x", "namespace": "default"}, "spec": spec});
    for (gvk, object) in [
        (pods(), pod()),
        (deployments(), deployment()),
        (gvk("", "v1", "Service"), service()),
        (gvk("batch", "v1", "Job"), job()),
        (gvk("coordination.k8s.io", "v1", "Lease"), plain(json!({}))),
        (gvk("policy", "v1", "PodDisruptionBudget"), plain(json!({"minAvailable": "50%"}))),
        (
            gvk("", "v1", "ConfigMap"),
            json!({"metadata": {"name": "x", "namespace": "default"}, "data": {"a": "b"}}),
        ),
    ] {
        assert_eq!(new_problems(&gvk, &object), Vec::<String>::new(), "{}", gvk.kind);
    }
}

#[test]
fn metadata_has_a_name_sound_labels_and_one_controller() {
    let owner =
        |name: &str| json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": "1", "controller": true});
    let object = json!({"metadata": {
        "name": "Web",
        "namespace": "default",
        "labels": {"app": "a b"},
        "annotations": {"-": ""},
        "finalizers": ["mine"],
        "ownerReferences": [owner("a"), owner("b")],
    }});
    let subdomain = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must \
                     start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
                     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    let label = "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start \
                 and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
                 validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
    let key = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric \
               character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
               '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    let shown =
        |name| format!(r#"{{"apiVersion":"v1","kind":"Pod","name":"{name}","uid":"1","controller":true}}"#);
    assert_eq!(
        new_problems(&gvk("", "v1", "ConfigMap"), &object),
        [
            format!("metadata.name: Invalid value: \"Web\": {subdomain} (Invalid)"),
            format!("metadata.labels: Invalid value: \"a b\": {label} (Invalid)"),
            format!("metadata.annotations: Invalid value: \"-\": {key} (Invalid)"),
            format!(
                "metadata.ownerReferences: Invalid value: [{},{}]: Only one reference can have Controller set to true. \
                 Found \"true\" in references for Pod/a and Pod/b (Invalid)",
                shown("a"),
                shown("b")
            ),
            "metadata.finalizers[0]: Invalid value: \"mine\": name is neither a standard finalizer name nor is it fully \
             qualified (Invalid)"
                .to_owned(),
        ]
    );
}

#[test]
fn metadata_of_custom_resources_cannot_change_what_makes_up_their_identity() {
    let arena = Arena::new();
    let object = |json: Json| Value::from_text(&arena, arena.copy_text(&json.to_string())).unwrap();
    let old = json!({"metadata": {
        "name": "a", "namespace": "n", "uid": "1", "resourceVersion": "1",
        "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["x.io/y"],
    }});
    let new = with(with(old.clone(), "/metadata/uid", json!("2")), "/metadata/finalizers", json!(["x.io/z"]));
    let errors = validate_metadata(object(new), Some(object(old)), NameRule::Subdomain, true);
    let errors: Vec<_> = errors.iter().map(ToString::to_string).collect();
    let once = [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers \
         []string{\"x.io/z\"}",
        "metadata.uid: Invalid value: \"2\": field is immutable",
    ];
    assert_eq!(errors, [once, once].concat(), "the server looks at them twice");
}

#[test]
fn a_selector_must_match_its_template_and_stays() {
    let new = with(deployment(), "/spec/template/metadata/labels/app", json!("other"));
    let no_match = "spec.template.metadata.labels: Invalid value: {\"app\":\"other\"}: `selector` does not match template \
                    `labels` (Invalid)";
    assert_eq!(new_problems(&deployments(), &new), [no_match]);
    let without = with(deployment(), "/spec/selector", Json::Null);
    assert_eq!(
        new_problems(&deployments(), &without),
        [
            "spec.selector: Required value (Required)",
            "spec.template.metadata.labels: Invalid value: {\"app\":\"web\"}: `selector` does not match template `labels` \
             (Invalid)",
        ]
    );
    let both = with(new, "/spec/selector/matchLabels/app", json!("other"));
    assert_eq!(
        problems(&deployments(), "", &both, Some(&deployment())),
        ["spec.selector: Invalid value: {\"matchLabels\":{\"app\":\"other\"}}: field is immutable (Invalid)"]
    );
}

#[test]
fn a_deployment_has_a_strategy_that_makes_progress() {
    for (path, value, problem) in [
        (
            "/spec/replicas",
            json!(-1),
            "spec.replicas: Invalid value: -1: must be greater than or equal to 0 (Invalid)",
        ),
        (
            "/spec/strategy/type",
            json!("Sudden"),
            "spec.strategy: Unsupported value: {\"Type\":\"Sudden\",\"RollingUpdate\":{\"MaxUnavailable\":\"25%\",\
             \"MaxSurge\":\"25%\"}}: supported values: \"Recreate\", \"RollingUpdate\" (NotSupported)",
        ),
        (
            "/spec/strategy/type",
            json!("Recreate"),
            "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate' (Forbidden)",
        ),
        (
            "/spec/strategy/rollingUpdate",
            json!({"maxSurge": 0, "maxUnavailable": "0%"}),
            "spec.strategy.rollingUpdate.maxUnavailable: Invalid value: \"0%\": may not be 0 when `maxSurge` is 0 (Invalid)",
        ),
        (
            "/spec/progressDeadlineSeconds",
            json!(0),
            "spec.progressDeadlineSeconds: Invalid value: 0: must be greater than minReadySeconds (Invalid)",
        ),
        (
            "/spec/template/spec/restartPolicy",
            json!("Never"),
            "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\" (NotSupported)",
        ),
    ] {
        assert_eq!(new_problems(&deployments(), &with(deployment(), path, value)), [problem]);
    }
}

#[test]
fn a_container_has_what_it_needs_to_run() {
    let at = |field: &str| format!("/spec/containers/0/{field}");
    for (field, value, problem) in [
        ("image", Json::Null, "image: Required value (Required)"),
        (
            "image",
            json!(" nginx"),
            "image: Invalid value: \" nginx\": must not have leading or trailing whitespace (Invalid)",
        ),
        (
            "imagePullPolicy",
            json!("Once"),
            "imagePullPolicy: Unsupported value: \"Once\": supported values: \"Always\", \"IfNotPresent\", \"Never\" \
             (NotSupported)",
        ),
        (
            "volumeMounts",
            json!([{"name": "v", "mountPath": "/v"}]),
            "volumeMounts[0].name: Not found: \"v\" (NotFound)",
        ),
        (
            "ports",
            json!([{"containerPort": 99999, "protocol": "TCP"}]),
            "ports[0].containerPort: Invalid value: 99999: must be between 1 and 65535, inclusive (Invalid)",
        ),
        (
            "resources",
            json!({"limits": {"cpu": "500m"}, "requests": {"cpu": "1"}}),
            "resources.requests: Invalid value: \"1\": must be less than or equal to cpu limit of 500m (Invalid)",
        ),
        (
            "resources",
            json!({"limits": {"gpu": "1"}}),
            "resources.limits[gpu]: Invalid value: \"gpu\": must be a standard resource type or fully qualified (Invalid)",
        ),
        (
            "env",
            json!([{"name": "A", "value": "x", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]),
            "env[0].valueFrom: Invalid value: \"\": may not be specified when `value` is not empty (Invalid)",
        ),
        (
            "livenessProbe",
            json!({"httpGet": {"path": "/", "port": 0, "scheme": "HTTP"}, "successThreshold": 1}),
            "livenessProbe.httpGet.port: Invalid value: 0: must be between 1 and 65535, inclusive (Invalid)",
        ),
        (
            "readinessProbe",
            json!({}),
            "readinessProbe: Required value: must specify a handler type (Required)",
        ),
        (
            "securityContext",
            json!({"allowPrivilegeEscalation": false, "privileged": true}),
            "securityContext: Invalid value: {\"Capabilities\":null,\"Privileged\":true,\"SELinuxOptions\":null,\
             \"WindowsOptions\":null,\"RunAsUser\":null,\"RunAsGroup\":null,\"RunAsNonRoot\":null,\
             \"ReadOnlyRootFilesystem\":null,\"AllowPrivilegeEscalation\":false,\"ProcMount\":null,\
             \"SeccompProfile\":null,\"AppArmorProfile\":null}: cannot set `allowPrivilegeEscalation` to false and \
             `privileged` to true (Invalid)",
        ),
    ] {
        let problems = new_problems(&pods(), &with(pod(), &at(field), value));
        assert_eq!(
            problems.first().map(String::as_str),
            Some(format!("spec.containers[0].{problem}").as_str())
        );
    }
}

#[test]
fn a_pod_that_runs_changes_little() {
    let old = with(with(pod(), "/metadata/uid", json!("1")), "/metadata/resourceVersion", json!("1"));
    let image = with(old.clone(), "/spec/containers/0/image", json!("nginx:2"));
    assert_eq!(problems(&pods(), "", &image, Some(&old)), Vec::<String>::new());
    let dns = with(old.clone(), "/spec/dnsPolicy", json!("Default"));
    assert_eq!(
        problems(&pods(), "", &dns, Some(&old)),
        ["spec: Forbidden: pod updates may not change fields other than \
          `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only \
          additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
          previously negative) (Forbidden)"]
    );
}

#[test]
fn services_keep_their_addresses_and_their_ports_apart() {
    let services = gvk("", "v1", "Service");
    for (path, value, problem) in [
        ("/spec/ports", json!([]), "spec.ports: Required value (Required)"),
        (
            "/spec/type",
            json!("Odd"),
            "spec.type: Unsupported value: \"Odd\": supported values: \"ClusterIP\", \"ExternalName\", \"LoadBalancer\", \
             \"NodePort\" (NotSupported)",
        ),
        (
            "/spec/ports",
            json!([
                {"name": "a", "port": 80, "protocol": "TCP", "targetPort": 80},
                {"name": "b", "port": 80, "protocol": "TCP", "targetPort": 81},
            ]),
            "spec.ports[1]: Duplicate value: {\"Name\":\"\",\"Protocol\":\"TCP\",\"AppProtocol\":null,\"Port\":80,\
             \"TargetPort\":0,\"NodePort\":0} (Duplicate)",
        ),
    ] {
        assert_eq!(new_problems(&services, &with(service(), path, value)), [problem]);
    }
    let moved =
        with(with(service(), "/spec/clusterIP", json!("10.0.0.2")), "/spec/clusterIPs", json!(["10.0.0.2"]));
    assert_eq!(
        problems(&services, "", &moved, Some(&service())),
        ["spec.clusterIPs[0]: Invalid value: [\"10.0.0.2\"]: may not change once set (Invalid)"]
    );
}

#[test]
fn a_job_runs_to_its_end() {
    let jobs = gvk("batch", "v1", "Job");
    let always = with(job(), "/spec/template/spec/restartPolicy", json!("Always"));
    assert_eq!(
        new_problems(&jobs, &always),
        [
            "spec.template.spec.restartPolicy: Required value: valid values: \"OnFailure\", \"Never\" (Required)"
        ]
    );
    let done = with(job(), "/status", json!({"conditions": [{"type": "Complete", "status": "True"}]}));
    assert_eq!(
        problems(&jobs, "status", &done, Some(&job())),
        [
            "status.completionTime: Required value: completionTime is required for Complete jobs (Required)",
            "status.conditions: Invalid value: cannot set Complete=True condition without the SuccessCriteriaMet=true \
             condition (Invalid)",
            "status.startTime: Required value: startTime is required for finished job (Required)",
        ]
    );
}

#[test]
fn a_cron_job_has_a_schedule() {
    let cron_job = json!({
        "metadata": {"name": "often", "namespace": "default"},
        "spec": {
            "schedule": "*/5 * * * *",
            "concurrencyPolicy": "Allow",
            "jobTemplate": {"spec": {"template": {"spec": with(pod_spec(), "/restartPolicy", json!("Never"))}}},
        },
    });
    let cron_jobs = gvk("batch", "v1", "CronJob");
    assert_eq!(new_problems(&cron_jobs, &cron_job), Vec::<String>::new());
    for (schedule, problem) in [
        ("soon", "expected exactly 5 fields, found 1: [soon]"),
        ("61 * * * *", "end of range (61) above maximum (59): 61"),
        ("x * * * *", "failed to parse int from x: strconv.Atoi: parsing \"x\": invalid syntax"),
        ("@never", "unrecognized descriptor: @never"),
    ] {
        assert_eq!(
            new_problems(&cron_jobs, &with(cron_job.clone(), "/spec/schedule", json!(schedule))),
            [format!("spec.schedule: Invalid value: \"{schedule}\": {problem} (Invalid)")]
        );
    }
}

#[test]
fn smaller_kinds_are_looked_at_too() {
    let meta = || json!({"name": "x", "namespace": "default"});
    let autoscaler = json!({"metadata": meta(), "spec": {
        "maxReplicas": 1,
        "minReplicas": 2,
        "scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "v1"},
        "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization"}}}],
    }});
    for ((group, version, kind), object, expected) in [
        (
            ("autoscaling", "v2", "HorizontalPodAutoscaler"),
            autoscaler,
            vec![
                "spec.maxReplicas: Invalid value: 1: must be greater than or equal to `minReplicas` (Invalid)",
                "spec.scaleTargetRef.apiVersion: Invalid value: \"v1\": apiVersion must specify API group (Invalid)",
                "spec.metrics[0].resource.target.averageUtilization: Required value: must set either a target raw value or a \
                 target utilization (Required)",
            ],
        ),
        (
            ("autoscaling", "v1", "Scale"),
            json!({"metadata": meta(), "spec": {"replicas": -1}}),
            vec!["spec.replicas: Invalid value: -1: must be greater than or equal to 0 (Invalid)"],
        ),
        (
            ("policy", "v1", "PodDisruptionBudget"),
            json!({"metadata": meta(), "spec": {"minAvailable": 1, "maxUnavailable": "120%"}}),
            vec![
                "spec: Invalid value: {\"MinAvailable\":1,\"Selector\":null,\"MaxUnavailable\":\"120%\",\
                 \"UnhealthyPodEvictionPolicy\":null}: minAvailable and maxUnavailable cannot be both set (Invalid)",
                "spec.maxUnavailable: Invalid value: \"120%\": must not be greater than 100% (Invalid)",
            ],
        ),
        (
            ("rbac.authorization.k8s.io", "v1", "RoleBinding"),
            json!({"metadata": meta(), "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Rule"}}),
            vec![
                "roleRef.kind: Unsupported value: \"Rule\": supported values: \"Role\", \"ClusterRole\" (NotSupported)",
                "roleRef.name: Required value (Required)",
            ],
        ),
        (
            ("networking.k8s.io", "v1", "NetworkPolicy"),
            json!({"metadata": meta(), "spec": {
                "podSelector": {},
                "policyTypes": ["Ingress"],
                "ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.1/8", "except": ["10.0.0.0/8"]}}]}],
            }}),
            vec![
                "spec.ingress[0].from[0].ipBlock.cidr: Invalid value: \"10.0.0.1/8\": must not have bits set beyond the prefix \
                 length (Invalid)",
                "spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: \"10.0.0.0/8\": must be a strict subset of `cidr` \
                 (Invalid)",
            ],
        ),
        (
            ("", "v1", "Secret"),
            json!({"metadata": meta(), "type": "kubernetes.io/tls", "data": {"tls.crt": ""}}),
            vec!["data[tls.key]: Required value (Required)"],
        ),
        (
            ("", "v1", "PersistentVolumeClaim"),
            json!({"metadata": meta(), "spec": {"resources": {"requests": {"storage": "0"}}}}),
            vec![
                "spec.accessModes: Required value: at least 1 access mode is required (Required)",
                "spec.resources[storage]: Invalid value: \"0\": must be greater than zero (Invalid)",
            ],
        ),
        (
            ("coordination.k8s.io", "v1", "Lease"),
            json!({"metadata": meta(), "spec": {"leaseDurationSeconds": 0}}),
            vec!["spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0 (Invalid)"],
        ),
    ] {
        assert_eq!(new_problems(&gvk(group, version, kind), &object), expected, "{kind}");
    }
}

#[test]
fn defaults_hang_on_other_fields() {
    let container = |image: &str| json!({"name": "a", "image": image});
    let images = [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1", "IfNotPresent"),
        ("localhost:5000/nginx", "Always"),
        ("Nginx/x", "Always"),
        ("NGINX", "IfNotPresent"),
        ("nginx@sha256:0123456789abcdef0123456789abcdef", "IfNotPresent"),
        ("", "IfNotPresent"),
    ];
    let containers: Vec<_> = images.iter().map(|(image, _)| container(image)).collect();
    let pod = defaulted(&pods(), &json!({"spec": {"containers": containers, "volumes": [{"name": "v"}]}}));
    for (position, (image, policy)) in images.iter().enumerate() {
        assert_eq!(pod["spec"]["containers"][position]["imagePullPolicy"], *policy, "{image}");
    }
    assert_eq!(pod["spec"]["volumes"], json!([{"name": "v", "emptyDir": {}}]));
    assert_eq!(pod["spec"]["enableServiceLinks"], true);

    let recreate = json!({"spec": {"strategy": {"type": "Recreate"}}});
    assert_eq!(defaulted(&deployments(), &recreate), recreate);
    assert_eq!(
        defaulted(
            &deployments(),
            &json!({"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}})
        ),
        json!({"spec": {"strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": 1, "maxUnavailable": "25%"},
        }}})
    );
    assert_eq!(
        defaulted(
            &gvk("", "v1", "Service"),
            &json!({"spec": {"type": "LoadBalancer", "ports": [{"port": 80}], "sessionAffinity": "ClientIP"}})
        )["spec"],
        json!({
            "type": "LoadBalancer",
            "allocateLoadBalancerNodePorts": true,
            "externalTrafficPolicy": "Cluster",
            "internalTrafficPolicy": "Cluster",
            "ports": [{"port": 80, "targetPort": 80}],
            "sessionAffinity": "ClientIP",
            "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 10800}},
        })
    );
    let job = defaulted(&gvk("batch", "v1", "Job"), &json!({"spec": {"parallelism": 2, "template": {}}}));
    assert_eq!(
        job["spec"],
        json!({
            "parallelism": 2, "backoffLimit": 6, "completionMode": "NonIndexed", "suspend": false,
            "podReplacementPolicy": "TerminatingOrFailed", "manualSelector": false, "template": {},
        })
    );
}

#[test]
fn writes_count_generations_and_leave_the_status_alone() {
    let new = prepared(&deployments(), "", &with(deployment(), "/status", json!({"replicas": 3})), None);
    assert_eq!((&new["metadata"]["generation"], &new["status"]), (&json!(1), &json!({})));

    let scaled = with(with(deployment(), "/spec/replicas", json!(2)), "/status", json!({"replicas": 3}));
    let updated = prepared(&deployments(), "", &scaled, Some(&deployment()));
    assert_eq!((&updated["metadata"]["generation"], &updated["status"]), (&json!(2), &json!({})));
    assert_eq!(prepared(&deployments(), "", &deployment(), Some(&deployment())), deployment());

    let status = prepared(&deployments(), "status", &scaled, Some(&deployment()));
    assert_eq!((&status["spec"]["replicas"], &status["status"]["replicas"]), (&json!(1), &json!(3)));
    assert_eq!(status["metadata"]["generation"], 1);
}

#[test]
fn the_server_fills_in_what_it_knows() {
    let pod = prepared(&pods(), "", &pod(), None);
    assert_eq!(pod["status"], json!({"phase": "Pending", "qosClass": "BestEffort"}));
    assert_eq!(
        (&pod["spec"]["priority"], &pod["spec"]["serviceAccountName"]),
        (&json!(0), &json!("default"))
    );
    assert_eq!(pod["spec"]["tolerations"][1]["key"], "node.kubernetes.io/unreachable");

    let secret = prepared(
        &gvk("", "v1", "Secret"),
        "",
        &json!({"data": {"a": "eA=="}, "stringData": {"b": "y"}}),
        None,
    );
    assert_eq!(secret, json!({"data": {"a": "eA==", "b": "eQ=="}}));

    let claim = json!({"metadata": {"name": "x"}, "spec": {}});
    let claim = prepared(&gvk("", "v1", "PersistentVolumeClaim"), "", &claim, None);
    assert_eq!(claim["metadata"]["finalizers"], json!(["kubernetes.io/pvc-protection"]));
    assert_eq!(claim["status"], json!({"phase": "Pending"}));

    let bare =
        json!({"metadata": {"name": "once", "uid": "1"}, "spec": {"manualSelector": false, "template": {}}});
    let generated = prepared(&gvk("batch", "v1", "Job"), "", &bare, None);
    assert_eq!(generated["spec"]["selector"], job()["spec"]["selector"]);
    assert_eq!(generated["spec"]["template"]["metadata"], job()["spec"]["template"]["metadata"]);

    let external =
        with(with(service(), "/spec/type", json!("ExternalName")), "/spec/externalName", json!("a.b"));
    let external = prepared(&gvk("", "v1", "Service"), "", &external, Some(&service()));
    assert_eq!(external["spec"].get("clusterIP"), None);
}
