//! Server-side apply without kubectl: from a library, and by nothing but HTTP.

use baton_e2e::{
    plays,
    scenario::{Scene, nobody},
};

use super::{IMAGE, nginx, of_nginx, plain::Plain};

use baton_testbed::{PATIENCE, poll};

plays! {
    an_apply_has_to_name_its_manager, an_apply_is_no_difference, other_patches_need_the_object,
    kubectl_sends_a_patch_alone, http_and_a_token_are_enough, json_is_yaml,
}

async fn an_apply_has_to_name_its_manager(s: &mut Scene) {
    of_nginx(s).await;
    s.apply_as(nobody(), &nginx("nginx"))
        .is_refused(422, "fieldManager: Required value: is required for apply patch")
        .await;
    s.expect_absent("");
    // Any other write may do without.
    s.create_as(nobody(), &nginx("nginx")).creates().await;
    s.merge_patch_as(nobody(), "spec: {replicas: 2}").await;
    s.expect_owner(".spec.replicas", "unknown (Update)");
}

async fn an_apply_is_no_difference(s: &mut Scene) {
    s.apply_as("me", "data: {one: '1', two: '2'}").creates().await;
    s.merge_patch_as("me", "data: {three: '3'}").await;
    s.expect(".data", "{one: '1', two: '2', three: '3'}");
    s.apply_as("me", "data: {two: '2'}").await;
    s.expect(".data", "{two: '2', three: '3'}");
}

async fn other_patches_need_the_object(s: &mut Scene) {
    of_nginx(s).await;
    s.merge_patch_as("me", "spec: {replicas: 2}").is_refused(404, "not found").await;
    s.strategic_patch_as("me", "spec: {replicas: 2}").is_refused(404, "not found").await;
    s.json_patch_as("me", "[{op: add, path: /spec/replicas, value: 2}]").is_refused(404, "not found").await;
    s.apply_as("me", &nginx("nginx")).creates().await;
}

async fn kubectl_sends_a_patch_alone(s: &mut Scene) {
    of_nginx(s).await;
    for image in ["nginx", "nginx:1.15"] {
        s.kubectl("apply --server-side -f -").reading(&nginx(image)).asks(&["patch"]).await;
        s.expect(IMAGE, image);
    }
    let log = s.stage().control_plane().audit().unwrap().entries().unwrap();
    let patches = log.namespace(s.namespace()).resource("deployments").verb("patch");
    let codes: Vec<_> = patches.iter().map(|patch| patch.code).collect();
    assert_eq!(codes, [Some(201), Some(200)]);
    for patch in patches {
        assert_eq!(patch.query("fieldManager").as_deref(), Some("kubectl"));
        assert_eq!(patch.query("force").as_deref(), Some("false"));
    }
}

/// The path of the Deployment, for the manager `curl`.
fn path(s: &Scene) -> String {
    format!("/apis/apps/v1/namespaces/{}/deployments/nginx?fieldManager=curl", s.namespace())
}

/// A client that is the ServiceAccount `default`, once that is there.
async fn client(s: &mut Scene) -> Plain {
    s.kubectl("wait --for=create serviceaccount/default --timeout=60s").await;
    let control_plane = s.stage().control_plane();
    let kubeconfig = control_plane.kubeconfig_for_service_account(s.namespace(), "default").await;
    Plain::new(&kubeconfig.unwrap()).await
}

/// Lets the ServiceAccount `default` do what an admin may.
async fn allow(s: &mut Scene) {
    let account = format!("{}:default", s.namespace());
    s.kubectl(&format!("create rolebinding default --clusterrole admin --serviceaccount {account}")).await;
}

/// Applies until it is allowed: the server takes note of a binding a moment later. Says the code.
async fn applied(client: &Plain, path: &str, body: &str) -> u16 {
    let allowed = async || match client.apply(path, body).await {
        (403, refusal) => Err(refusal),
        (code, _) => Ok(code),
    };
    poll(PATIENCE, allowed).await.unwrap()
}

async fn http_and_a_token_are_enough(s: &mut Scene) {
    of_nginx(s).await;
    let client = client(s).await;
    s.kubectl("get secrets").says("No resources found").await;
    let body =
        format!("apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: nginx}}\n{}", nginx("nginx"));
    let path = path(s);
    let (code, refusal) = client.apply(&path, &body).await;
    assert!(code == 403 && refusal.contains("cannot patch resource"), "{code}: {refusal}");
    s.look().await;
    s.expect_absent("");

    allow(s).await;
    assert_eq!(applied(&client, &path, &body).await, 201);
    s.somebody_applied("curl", "curl", &nginx("nginx")).await;
    s.expect(IMAGE, "nginx");
    s.expect_managers(&["curl (Apply)"]);
    s.expect_owner(IMAGE, "curl (Apply)");
}

async fn json_is_yaml(s: &mut Scene) {
    of_nginx(s).await;
    let client = client(s).await;
    allow(s).await;
    s.apply_as("me", &nginx("nginx")).creates().await;
    let mine =
        r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"nginx"},"spec":{"replicas":2}}"#;
    assert_eq!(applied(&client, &path(s), mine).await, 200);
    s.somebody_wrote("curl").await;
    s.expect(".spec.replicas", "2");
    s.expect_owner(".spec.replicas", "curl (Apply)");
    s.expect_owner(IMAGE, "me (Apply)");
}
