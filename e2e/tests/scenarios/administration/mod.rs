//! What installs Baton: `manifests/` by kustomize and `charts/baton` by Helm give the same objects, the API server
//! accepts them, and everything that they and the documents name exists.

mod chart;
mod getting_started;
mod guide;
mod monitoring;
mod objects;
mod operations;
mod release;
mod server;
mod shards;

/// In a cluster of their own, one after the other: each changes the whole cluster, and restores it.
#[tokio::test]
#[ignore = "on a real control plane of its own, by kubectl and Helm"]
async fn every_way_to_install_upgrade_and_uninstall_works_as_its_page_says() {
    let cluster = &server::start().await;
    guide::an_uninstall_can_leave_everything_running(cluster).await;
    guide::an_uninstall_can_remove_everything(cluster).await;
    guide::helm_uninstall_keeps_the_workloads_and_their_children_can_be_orphaned(cluster).await;
    guide::on_openshift_a_deployment_is_adopted_once_baton_may_delete_deployments(cluster).await;
    guide::in_one_namespace_baton_needs_nothing_cluster_wide_but_the_crd(cluster).await;
    server::every_kustomization_is_accepted_without_a_warning_and_its_pods_are_admitted(cluster).await;
    shards::a_shard_runs_beside_the_usual_installation_with_its_own_flow_schemas(cluster).await;
    server::helm_installs_upgrades_rolls_back_and_uninstalls_and_the_crd_stays(cluster).await;
}
