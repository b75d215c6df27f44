//! Validation of pods and workloads.

use super::*;

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
