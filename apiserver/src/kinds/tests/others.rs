//! Validation of other kinds.

use super::*;

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
fn odd_numbers_do_no_harm() {
    for amount in
        ["1e2147483647", "99999999999999999999999999999999999999999", "-", "", "1.2.3", "1e-3", "Ei", "é"]
    {
        let limits = json!({"limits": {"cpu": amount, "hugepages-2Mi": amount}});
        let pod = with(pod(), "/spec/containers/0/resources", limits);
        new_problems(&pods(), &pod);
        prepared(&pods(), "", &pod, None);
    }
    for text in
        ["", "*", "-", "/", "a-b-c/1/2", "TZ=", "TZ=x", "@every é", "@every 1é", "@every 1.5h", "1-/ * * * *"]
    {
        let spec =
            json!({"schedule": text, "timeZone": text, "jobTemplate": {"spec": {"successPolicy": text}}});
        new_problems(&gvk("batch", "v1", "CronJob"), &json!({"metadata": {"name": text}, "spec": spec}));
        let spec = json!({"podSelector": text, "ingress": [{"from": [{"ipBlock": {"cidr": text, "except": [text]}}]}]});
        new_problems(
            &gvk("networking.k8s.io", "v1", "NetworkPolicy"),
            &json!({"metadata": text, "spec": spec}),
        );
    }
}
