//! What installs Baton: `manifests/` by kustomize and `charts/baton` by Helm give the same objects, the API server takes
//! them, and what they and the documents name exists.

mod chart;
mod getting_started;
mod guide;
mod monitoring;
mod objects;
mod operations;
mod rbac;
mod release;
mod server;
mod shards;

/// In a cluster of their own, and one after the other: each changes the whole cluster, and leaves it as it was.
#[tokio::test]
#[ignore = "on a real control plane of its own, by kubectl and Helm"]
async fn every_way_to_install_upgrade_and_uninstall_works_as_its_page_says() {
    let cluster = &server::start().await;
    guide::uninstalled_the_one_way_everything_runs_on(cluster).await;
    guide::uninstalled_the_other_way_everything_goes(cluster).await;
    guide::with_helm_a_release_that_goes_leaves_the_workloads_and_they_can_be_let_go_of(cluster).await;
    guide::on_openshift_a_deployment_is_adopted_once_baton_may_delete_deployments(cluster).await;
    guide::in_one_namespace_nothing_of_the_clusters_is_needed_but_the_definition(cluster).await;
    server::every_kustomization_is_taken_without_a_warning_and_its_pods_are_admitted(cluster).await;
    shards::a_shard_stands_beside_the_usual_installation_and_their_requests_are_told_apart(cluster).await;
    server::helm_installs_upgrades_rolls_back_and_uninstalls_and_the_crd_stays(cluster).await;
}
