//! The history of one Workload, to find the cause of a violation: what its users did, what was stored, the writes to the API
//! server, and what the operator logged.

use std::fmt::Write as _;

use baton_testbed::AuditEntries;

use super::{
    judge::Violation,
    seen::{Seen, Sighting},
    user::Entry,
};

/// The history of the Workload that a violation is about.
pub(super) fn text(
    violation: &Violation,
    sightings: &[Sighting],
    diary: &[Entry],
    requests: &AuditEntries,
    log: &str,
) -> String {
    let name = violation.workload.as_str();
    let mut text = format!("{name}, revision {}: {}\n", violation.revision, violation.what);
    text.push_str("\nwhat its users did and what was stored (s, revision):\n");
    for (_, line) in lines(violation, sightings, diary) {
        text.push_str(&line);
    }
    text.push_str("\nwrites to the API server:\n");
    let about =
        |uri: &str| uri.split(['/', '?']).any(|part| part == name || part == format!("{name}-external"));
    for request in requests.iter().filter(|request| request.is_write() && about(&request.uri)) {
        let _ = writeln!(text, "  {request}");
    }
    text.push_str("\nwhat the operator logged about it:\n");
    for line in log.lines().filter(|line| line.contains(name)) {
        let _ = writeln!(text, "  {line}");
    }
    text
}

/// Lines with their times, in order. A version that shows the same as the one before is left out.
fn lines(violation: &Violation, sightings: &[Sighting], diary: &[Entry]) -> Vec<(f64, String)> {
    let mut lines = Vec::new();
    let mut before: Vec<&Seen> = Vec::new();
    for sighting in sightings.iter().filter(|one| one.workload == violation.workload) {
        let at = sighting.at.as_secs_f64();
        if before.iter().rev().find(|seen| same_object(seen, &sighting.seen)) == Some(&&sighting.seen) {
            continue;
        }
        before.push(&sighting.seen);
        let mark = if sighting.revision == violation.revision { "  <<<" } else { "" };
        lines.push((at, format!("  {at:8.2} {:>7}  {}{mark}\n", sighting.revision, sighting.seen)));
    }
    for entry in diary.iter().filter(|entry| entry.workload == violation.workload) {
        let at = entry.at.as_secs_f64();
        lines.push((at, format!("  {at:8.2} {:>7}  > {}\n", "", entry.what)));
    }
    lines.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    lines
}

fn same_object(one: &Seen, other: &Seen) -> bool {
    match (one, other) {
        (Seen::Workload { .. }, Seen::Workload { .. })
        | (Seen::Deployment { .. }, Seen::Deployment { .. }) => true,
        (
            Seen::Autoscaler { name: one, .. } | Seen::AutoscalerGone { name: one },
            Seen::Autoscaler { name: other, .. } | Seen::AutoscalerGone { name: other },
        ) => one == other,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use baton_testbed::ReplicaOwner;

    use super::*;

    #[test]
    fn a_history_is_in_order_marks_the_violation_and_leaves_out_other_workloads() {
        let number = |revision, workload: &str, replicas| Sighting {
            revision,
            at: Duration::from_secs(revision),
            workload: workload.to_owned(),
            seen: Seen::Deployment { replicas, owners: vec![ReplicaOwner::apply("baton")] },
        };
        let sightings =
            [number(1, "web", 3), number(2, "web", 3), number(4, "other", 7), number(5, "web", 1)];
        let entry = |workload: &str, what: &str| Entry {
            at: Duration::from_secs(3),
            workload: workload.to_owned(),
            kind: None,
            what: what.to_owned(),
        };
        let diary = [entry("web", "load for 4 pods"), entry("other", "load for 9 pods")];
        let violation = Violation { revision: 5, workload: "web".to_owned(), what: "why?".to_owned() };
        let log = "INFO took web\nINFO took other\n";
        let story = text(&violation, &sightings, &diary, &AuditEntries::default(), log);
        let expected = "\
web, revision 5: why?

what its users did and what was stored (s, revision):
      1.00       1  Deployment  replicas 3, owned by baton (Apply)
      3.00          > load for 4 pods
      5.00       5  Deployment  replicas 1, owned by baton (Apply)  <<<

writes to the API server:

what the operator logged about it:
  INFO took web
";
        assert_eq!(story, expected, "\n{story}\n{expected}");
    }
}
