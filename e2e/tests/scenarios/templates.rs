//! A child is what its Workload says, whatever it said before: what `cargo template-property` shows with more templates.

use baton_e2e::servers;
use baton_e2e::template_property::{Effort, Findings, Local, run, run_in_process};

fn effort(cases: usize) -> Effort {
    Effort { cases, workloads: 25, seed: 1, shrink: false }
}

fn judge(findings: &Findings) {
    assert!(findings.sorts.is_empty(), "{findings}");
    assert!(findings.skipped < findings.cases / 2, "most templates count:\n{:#?}", findings.refusals);
}

// Not by `scenarios!`, since one server inside the process would have to do with one processor.
mod in_process {
    use super::*;

    #[test]
    fn edited_templates_make_the_children_that_they_make_by_hand() {
        judge(&run_in_process(effort(10_000), |line| println!("{line}")).unwrap());
    }
}

mod real {
    use super::*;

    #[test]
    #[ignore = "on a real control plane"]
    fn edited_templates_make_the_children_that_they_make_by_hand() {
        servers::real(async |cluster| {
            let mut stage = Local::start(&cluster).await.unwrap();
            judge(&run(&mut stage, effort(50), |_| {}).await.unwrap());
        });
    }
}
