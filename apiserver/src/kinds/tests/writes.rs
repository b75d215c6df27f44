//! Fields that the server sets and keeps.

use super::*;

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

    let secret =
        defaulted(&gvk("", "v1", "Secret"), &json!({"data": {"a": "eA=="}, "stringData": {"b": "y"}}));
    assert_eq!(secret, json!({"data": {"a": "eA==", "b": "eQ=="}}));

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
    assert_eq!(pod["spec"]["serviceAccountName"], "default");
    assert_eq!(pod["spec"]["tolerations"][1]["key"], "node.kubernetes.io/unreachable");

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
