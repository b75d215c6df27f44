//! A child is what its Workload says, whatever it said before: a short run of what `cargo template-property` does a
//! thousand times.

use baton_e2e::template_property::{Effort, Local, run};
use baton_testbed::ControlPlane;

#[tokio::test]
async fn fifty_edited_templates_make_the_children_that_they_make_by_hand() {
    let mut stage = Local::start(ControlPlane::shared().await).await.unwrap();
    let effort = Effort { cases: 50, workloads: 10, seed: 1, shrink: false };
    let findings = run(&mut stage, effort, |_| {}).await.unwrap();
    assert!(findings.sorts.is_empty(), "{findings}");
    assert!(findings.skipped < findings.cases / 2, "most templates count:\n{:#?}", findings.refusals);
}
