//! A child is as its Workload sets it, whatever its history. `cargo template-property` shows it with more templates: with others for each
//! commit, and each night with 10,000 others.

use baton_e2e::{
    scenarios,
    template_property::{Effort, Local, run, run_in_process},
};
use baton_testbed::Cluster;

scenarios! {
    children_of_edited_templates_are_the_same_as_objects_applied_by_hand,
}

async fn children_of_edited_templates_are_the_same_as_objects_applied_by_hand(cluster: Cluster) {
    let effort = |cases, workloads| Effort { cases, workloads, seed: 1, shrink: false };
    let findings = match cluster {
        Cluster::InProcess(_) => run_in_process(effort(1_000, 25), |line| println!("{line}")),
        Cluster::Real(_) => run(&mut Local::start(&cluster).await.unwrap(), effort(50, 10), |_| {}).await,
    };
    let findings = findings.unwrap();
    assert!(findings.sorts.is_empty(), "{findings}");
    assert!(findings.skipped < findings.cases / 2, "most templates count:\n{:#?}", findings.refusals);
}
