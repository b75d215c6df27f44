//! A short soak of the handover, as `cargo handover-soak` does a long one.

use baton_e2e::soak::{
    run::{Effort, run},
    table,
};
use baton_testbed::{ControlPlane, MetricsApi};

#[tokio::test]
async fn no_replica_is_dropped_in_twenty_switches_under_the_real_autoscaler() {
    let (cluster, metrics) = (ControlPlane::shared().await, MetricsApi::shared().await);
    let effort = Effort { switches: 20, workloads: 4, seed: 1 };
    let outcome = run(cluster, metrics, effort, |_| {}).await.unwrap();
    let table = table::text(effort, &outcome);
    if let Some(story) = &outcome.story {
        panic!("{story}\n{table}\n{:#?}", outcome.judgement.violations);
    }
    let tally = outcome.judgement.tally;
    assert!(tally.completed > 0 && tally.taken_back > 0, "autoscalers and Baton had their turns:\n{table}");
    assert_eq!(tally.lowest_margin, Some(0), "\n{table}");
}
