//! A short soak of the handover. `cargo handover-soak` runs a longer one.

use baton_e2e::{
    handover_model::Occurrence,
    scenarios,
    soak::{Effort, run},
};
use baton_testbed::{Cluster, MetricsApi};

scenarios! {
    only real, because "the simulation plays such plans in the process":
    no_replica_is_dropped_while_autoscaling_is_switched_again_and_again,
}

async fn no_replica_is_dropped_while_autoscaling_is_switched_again_and_again(cluster: Cluster) {
    let cluster = cluster.alone().await.unwrap();
    let metrics = MetricsApi::start(cluster.real()).await.unwrap();
    let effort = Effort { switches: 30, workloads: 4, seed: 1 };
    let outcome = run(&cluster, &metrics, effort, |_| {}).await.unwrap();
    let table = outcome.table(effort);
    assert!(outcome.violation.is_none(), "{}\n{:#?}\n{table}", outcome.story, outcome.violation);
    for occurrence in [Occurrence::HandedOver, Occurrence::TakenBack, Occurrence::Set] {
        assert!(outcome.judged.occurrences.of(occurrence) > 0, "never: {}\n{table}", occurrence.text());
    }
    assert_eq!(outcome.judged.lowest_margin, Some(0), "\n{table}");
}
