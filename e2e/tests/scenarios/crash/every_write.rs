//! A crash at every write of every handover.

use super::{points::crash_at_every_write, scenario};

#[tokio::test]
async fn first_create_with_autoscaling() {
    crash_at_every_write(&scenario::first_create()).await;
}

#[tokio::test]
async fn autoscaling_switched_on() {
    crash_at_every_write(&scenario::switched_on()).await;
}

#[tokio::test]
async fn autoscaling_switched_on_where_the_autoscaler_needs_to_write_nothing() {
    crash_at_every_write(&scenario::switched_on_and_never_written()).await;
}

#[tokio::test]
async fn autoscaling_switched_off_with_a_number() {
    crash_at_every_write(&scenario::switched_off()).await;
}

#[tokio::test]
async fn autoscaling_switched_off_before_the_autoscaler_wrote() {
    crash_at_every_write(&scenario::switched_off_before_the_autoscaler_wrote()).await;
}

#[tokio::test]
async fn autoscaling_switched_off_without_a_number() {
    crash_at_every_write(&scenario::switched_off_without_a_number()).await;
}

#[tokio::test]
async fn a_number_that_the_workload_drops() {
    crash_at_every_write(&scenario::number_dropped()).await;
}

#[tokio::test]
async fn batons_own_autoscaler_gives_way_to_an_external_one() {
    crash_at_every_write(&scenario::own_to_external()).await;
}

#[tokio::test]
async fn an_external_autoscaler_gives_way_to_batons_own() {
    crash_at_every_write(&scenario::external_to_own()).await;
}

#[tokio::test]
async fn a_deployment_of_client_side_apply_is_adopted_with_autoscaling() {
    crash_at_every_write(&scenario::adopted_from_client_side_apply()).await;
}

#[tokio::test]
async fn a_deployment_of_server_side_apply_is_adopted() {
    crash_at_every_write(&scenario::adopted_from_server_side_apply()).await;
}

#[tokio::test]
async fn a_deployment_is_adopted_with_its_autoscaler() {
    crash_at_every_write(&scenario::adopted_with_its_autoscaler()).await;
}
