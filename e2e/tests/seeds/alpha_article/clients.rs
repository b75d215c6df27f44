//! The request of kubectl for a server-side apply, and the same without kubectl: over plain HTTP.

use baton_e2e::{scenario::Subject, scenario_list};
use baton_testbed::{PATIENCE, poll};

use super::{IMAGE, last_sent, nginx, of_nginx, plain::Plain};

scenario_list! {
    only real, because "of kubectl":
    kubectl_sends_only_a_patch, http_and_a_token_are_enough;
}

async fn kubectl_sends_only_a_patch(s: &mut Subject) {
    of_nginx(s).await;
    for image in ["nginx", "nginx:1.15", "nginx:1.15"] {
        s.kubectl("apply --server-side -f -").reading(&nginx(image)).sends(&["patch"]).await;
        s.expect(IMAGE, image);
        for member in [&["kind"][..], &["spec", "selector"], &["spec", "template", "spec", "containers"]] {
            assert!(last_sent(s).at(member).is_some(), "{}", last_sent(s));
        }
    }
    let log = s.server().cluster().audit().unwrap().entries().unwrap();
    let patches = log.namespace(s.namespace()).resource("deployments").verb("patch");
    let codes: Vec<_> = patches.iter().map(|patch| patch.code).collect();
    assert_eq!(codes, [Some(201), Some(200), Some(200)]);
    for patch in patches {
        assert_eq!(patch.query("fieldManager").as_deref(), Some("kubectl"));
        assert_eq!(patch.query("force").as_deref(), Some("false"));
    }
}

async fn http_and_a_token_are_enough(s: &mut Subject) {
    of_nginx(s).await;
    s.kubectl("wait --for=create serviceaccount/default --timeout=60s").await;
    let control_plane = s.server().cluster().real();
    let kubeconfig = control_plane.kubeconfig_for_service_account(s.namespace(), "default").await;
    let client = Plain::new(&kubeconfig.unwrap()).await;
    s.kubectl("get secrets").prints("No resources found").await;
    let body =
        format!("apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: nginx}}\n{}", nginx("nginx"));
    let path = format!("/apis/apps/v1/namespaces/{}/deployments/nginx?fieldManager=curl", s.namespace());
    let (code, refusal) = client.apply(&path, &body).await;
    assert!(code == 403 && refusal.contains("cannot patch resource"), "{code}: {refusal}");
    s.refresh().await;
    s.expect_absent("");

    let account = format!("{}:default", s.namespace());
    s.kubectl(&format!("create rolebinding default --clusterrole admin --serviceaccount {account}")).await;
    // The server uses a new binding with a delay.
    let applied = poll(PATIENCE, async || match client.apply(&path, &body).await {
        (403, refusal) => Err(refusal),
        (code, _) => Ok(code),
    });
    assert_eq!(applied.await, Ok(201));
    s.record_apply("curl", "curl", &nginx("nginx")).await;
    s.expect(IMAGE, "nginx");
    s.expect_managers(&["curl (Apply)"]);
    s.expect_owner(IMAGE, "curl (Apply)");
}
