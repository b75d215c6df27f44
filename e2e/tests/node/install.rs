//! Baton is installed by the commands of the docs, runs as a restricted pod, and does its work.

use baton_e2e::guide;

use crate::{
    shared::{HOME, SharedNode, VERSION},
    workload::{WEB, Web},
};

#[tokio::test]
#[ignore = "on a real node"]
async fn the_manifests_install_baton_where_only_restricted_pods_are_admitted() {
    let Some(shared) = SharedNode::enter("install").await else { return };
    // New pods: those that another test killed have restarted.
    shared.uninstall().await;
    shared.install().await;

    let namespace = shared.get(&format!("namespace {HOME}")).await;
    assert_eq!(namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"], "restricted");
    let careless = ["run", "careless", "--image=localhost/web:1", "--namespace", HOME];
    let refused = shared.cluster().real().kubectl(careless).await.unwrap();
    assert!(refused.stderr.contains("violates PodSecurity \"restricted"), "{refused}");

    let pods = shared.get(&format!("pods --namespace {HOME}")).await;
    for pod in pods["items"].as_array().unwrap() {
        let status = &pod["status"]["containerStatuses"][0];
        assert_eq!((&status["ready"], &status["restartCount"]), (&true.into(), &0.into()), "{status}");
        assert_eq!(status["image"], format!("registry.invalid/baton:{VERSION}"));
        assert_eq!(pod["spec"]["containers"][0]["securityContext"]["readOnlyRootFilesystem"], true);
    }
}

#[tokio::test]
#[ignore = "on a real node"]
async fn a_workload_runs_and_serves_through_its_service() {
    let Some(shared) = SharedNode::enter("workload").await else { return };
    shared.install().await;
    let web = Web::start(&shared, WEB).await;
    web.serves(2).await;
    // A new template is a rolling update of real pods.
    web.apply(&WEB.replace("periodSeconds: 1", "periodSeconds: 2")).await;
    web.ready(2).await;
    web.serves(2).await;
}

#[tokio::test]
#[ignore = "on a real node"]
async fn the_commands_of_the_docs_show_that_baton_works() {
    let Some(shared) = SharedNode::enter("docs").await else { return };
    shared.install().await;
    for (block, typed) in guide::commands("docs/install.md", "See that it works").unwrap().iter().enumerate()
    {
        let outcome = guide::run(shared.cluster().real().kubeconfig(), typed).await;
        assert!(outcome.is_ok(), "{block}: {}", outcome.unwrap_err().report());
    }
}

#[tokio::test]
#[ignore = "on a real node"]
async fn baton_ends_at_once_when_it_is_asked_to() {
    let Some(shared) = SharedNode::enter("termination").await else { return };
    shared.install().await;
    let pods = shared.get(&format!("pods --namespace {HOME}")).await;
    let pod = pods["items"][0]["metadata"]["name"].as_str().unwrap();
    let began = std::time::Instant::now();
    shared.kubectl(&format!("delete pod {pod} --namespace {HOME}")).await;
    let took = began.elapsed();
    shared.report(&format!("a pod of Baton's was gone {:.1} s after it was deleted", took.as_secs_f64()));
    // Far less than its grace period: it isn't killed.
    let grace = pods["items"][0]["spec"]["terminationGracePeriodSeconds"].as_u64().unwrap();
    assert!(took.as_secs() < grace, "{took:?} of {grace} s");
    shared.running().await;
}
