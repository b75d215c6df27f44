//! `manifests/` as an administrator installs it.

use baton_e2e::ControlPlane;

#[tokio::test]
async fn one_kubectl_apply_installs_the_operator_with_its_permissions() {
    let control_plane = ControlPlane::shared().await;
    let kubectl = async |line: &str| control_plane.kubectl(line.split(' ')).await.unwrap();
    let manifests = concat!(env!("CARGO_MANIFEST_DIR"), "/../manifests");
    let install = ["apply", "--server-side", "-k", manifests];

    let installed = control_plane.kubectl(install).await.unwrap().success().unwrap();
    for object in
        ["workloads.baton.rs", "clusterrole.rbac.authorization.k8s.io/baton", "deployment.apps/baton"]
    {
        assert!(installed.contains(object), "{object} in {installed}");
    }
    // The nodes are played, so this shows that the pod template is accepted and scheduled, not that the image runs.
    kubectl("rollout status deployment/baton --namespace baton-system --timeout 60s")
        .await
        .success()
        .unwrap();

    let operator = "--as system:serviceaccount:baton-system:baton --all-namespaces";
    assert_eq!(kubectl(&format!("auth can-i patch deployments.apps {operator}")).await.stdout.trim(), "yes");
    assert_eq!(kubectl(&format!("auth can-i get secrets {operator}")).await.stdout.trim(), "no");

    let again = control_plane.kubectl(install).await.unwrap().success().unwrap();
    assert!(again.contains("serverside-applied"), "installing twice is no mistake: {again}");
}
