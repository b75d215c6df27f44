//! kubectl's flag for server-side apply.

use baton_e2e::{scenario::Subject, scenario_list};
use baton_testbed::{Action, PATIENCE, Proxy, Route, poll};

use super::wire;

scenario_list! {
    only real, because "of kubectl":
    the_flag_is_server_side, kubectl_does_not_fall_back;
}

async fn the_flag_is_server_side(s: &mut Subject) {
    s.kubectl("apply --server-side -f -")
        .reading("data: {greeting: hello}")
        .prints("serverside-applied")
        .await;
    s.expect_managers(&["kubectl (Apply)"]);
    s.expect_absent(".metadata.annotations");
    let shown = s.kubectl("apply view-last-applied configmap/example").await;
    assert_eq!(shown.stdout, "");
}

async fn kubectl_does_not_fall_back(s: &mut Subject) {
    let cluster = s.server().cluster();
    let control_plane = cluster.real();
    let namespace = s.namespace();
    // kubectl sends no credentials without TLS, so the anonymous user needs permissions.
    let discovers = [
        "create",
        "clusterrolebinding",
        namespace,
        "--clusterrole=system:discovery",
        "--user=system:anonymous",
    ];
    let edits = ["create", "role", "editor", "--verb=*", "--resource=configmaps"];
    let is_editor = ["create", "rolebinding", "editor", "--role=editor", "--user=system:anonymous"];
    for line in [discovers, edits, is_editor] {
        let args = line.iter().copied().chain(["--namespace", namespace]);
        control_plane.kubectl(args).await.unwrap().success().unwrap();
    }
    // A server without server-side apply.
    let proxy = Proxy::start(cluster, |request| match request.method.as_str() {
        "PATCH" => {
            Action::fail(415, "UnsupportedMediaType", "the body of the request was in an unknown format")
        }
        _ => Action::Forward,
    });
    let proxy = proxy.await.unwrap();
    let Route::Url(url) = proxy.route() else { panic!("the proxy of a control plane listens") };
    let server = format!("--server={url}");
    let manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: example}\ndata: {greeting: hello}\n";
    let apply = async |flags: &[&'static str]| {
        let args = ["apply", "--validate=false", "-f", "-", "--namespace", namespace, &server]
            .into_iter()
            .chain(flags.iter().copied());
        control_plane.kubectl_command(args).unwrap().input(manifest).run().await.unwrap()
    };
    // The server uses a new role binding with a delay.
    let is_allowed = async || {
        let output = apply(&["--dry-run=server"]).await;
        if output.status.success() { Ok(()) } else { Err(output.to_string()) }
    };
    poll(PATIENCE, is_allowed).await.unwrap();

    let output = apply(&["--server-side"]).await;
    assert!(
        !output.status.success() && output.stderr.contains("Server-side apply not available"),
        "{output}"
    );
    let uri = format!("{}/example", wire::config_maps(s));
    assert_eq!(wire::send(s, "GET", &uri, "application/json", "").await.unwrap_err().0, 404);
    // A fallback would have worked: client-side apply creates the object.
    let output = apply(&[]).await;
    assert!(output.status.success(), "{output}");
    let binding = ["delete", "clusterrolebinding", namespace];
    control_plane.kubectl(binding).await.unwrap().success().unwrap();
    s.refresh().await;
    s.expect_managers(&["kubectl-client-side-apply (Update)"]);
}
