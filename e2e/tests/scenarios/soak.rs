//! A short soak of the handover. `cargo handover-soak` runs a longer one.

use baton_e2e::{
    scenarios, servers,
    soak::{
        run::{Effort, run},
        table,
    },
};
use baton_testbed::{Cluster, MetricsApi};

scenarios! {
    no_replica_is_dropped_while_autoscaling_is_switched_again_and_again,
}

async fn no_replica_is_dropped_while_autoscaling_is_switched_again_and_again(cluster: Cluster) {
    match cluster {
        Cluster::InProcess(_) => servers::in_process_by_seeds(1..=20, async |cluster, seed| {
            soak(cluster, Effort { switches: 100, workloads: 4, seed }).await;
        }),
        Cluster::Real(_) => soak(cluster, Effort { switches: 20, workloads: 4, seed: 1 }).await,
    }
}

async fn soak(cluster: Cluster, effort: Effort) {
    let metrics = MetricsApi::of(&cluster).await;
    let outcome = run(&cluster, &metrics, effort, |_| {}).await.unwrap();
    let table = table::text(effort, &outcome);
    if let Some(story) = &outcome.story {
        panic!("{story}\n{table}\n{:#?}", outcome.judgement.violations);
    }
    let tally = outcome.judgement.tally;
    assert!(
        tally.completed > 0 && tally.taken_back > 0,
        "both autoscalers and Baton have owned the replica count:\n{table}"
    );
    assert_eq!(tally.lowest_margin, Some(0), "\n{table}");
}
