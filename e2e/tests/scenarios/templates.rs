//! A child is what its Workload says, whatever it said before: what `cargo template-property` shows with more templates.

use baton_e2e::scenarios;
use baton_e2e::template_property::{Effort, Local, run};
use baton_testbed::Cluster;

scenarios! {
    edited_templates_make_the_children_that_they_make_by_hand,
}

async fn edited_templates_make_the_children_that_they_make_by_hand(cluster: Cluster) {
    let cases = match cluster {
        Cluster::InProcess(_) => 200,
        Cluster::Real(_) => 50,
    };
    let mut stage = Local::start(&cluster).await.unwrap();
    let effort = Effort { cases, workloads: 10, seed: 1, shrink: false };
    let findings = run(&mut stage, effort, |_| {}).await.unwrap();
    assert!(findings.sorts.is_empty(), "{findings}");
    assert!(findings.skipped < findings.cases / 2, "most templates count:\n{:#?}", findings.refusals);
}
