//! A crash at every write of every handover.

use baton_e2e::scenarios;
use baton_testbed::Cluster;

use super::{cases, points::crash_at_every_write};

/// A test for each handover and server.
macro_rules! crash_at_every_write_of {
    ($($test:ident: $case:ident,)*) => {
        scenarios! { $($test),* }

        $(async fn $test(cluster: Cluster) {
            crash_at_every_write(&cluster, &cases::$case()).await;
        })*
    };
}

crash_at_every_write_of! {
    first_create_with_autoscaling: first_create,
    autoscaling_switched_on: switched_on,
    autoscaling_switched_on_where_the_autoscaler_needs_to_write_nothing: switched_on_and_never_written,
    autoscaling_switched_off_with_a_replica_count: switched_off,
    autoscaling_switched_off_before_the_autoscaler_wrote: switched_off_before_the_autoscaler_wrote,
    autoscaling_switched_off_without_a_replica_count: switched_off_without_replicas,
    a_replica_count_that_the_workload_drops: replicas_dropped,
    a_workload_with_an_autoscaler_is_suspended: suspended,
    a_suspended_workload_resumes_with_its_autoscaler: resumed,
    batons_own_autoscaler_is_replaced_by_an_external_one: own_to_external,
    an_external_autoscaler_is_replaced_by_batons_own: external_to_own,
    a_deployment_of_client_side_apply_is_adopted_with_autoscaling: adopted_from_client_side_apply,
    a_deployment_of_server_side_apply_is_adopted: adopted_from_server_side_apply,
    a_deployment_is_adopted_with_its_autoscaler: adopted_with_its_autoscaler,
}
