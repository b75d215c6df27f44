//! The limits of a report: of any pass, the status can be stored and its Events are few.

use std::{collections::BTreeSet, time::Duration};

use baton_apply::{Effects, FieldPath, Takeover, contention::Contested};
use baton_controller::{
    decide::{
        child::ChildKind,
        pass::{ChildResult, Outbox, Pass, Rehearsed},
        replicas::{Autoscaler, Scales},
    },
    report::{events, status},
};
use baton_crd::{DryRunResult, PlannedAction, WorkloadStatus};
use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

use crate::common::{child, seen, workload};

/// The largest status, in bytes: a quarter of what the API server stores, since the spec and `managedFields` have to fit too.
const LARGEST_STATUS: usize = 384 * 1024;
/// The most Events of one pass.
const MOST_EVENTS: usize = 20;
/// The API server's limits.
const LONGEST_NOTE: usize = 1024;

/// Text of any length, of characters that JSON escapes in different ways.
fn text() -> impl Strategy<Value = String> {
    let length = prop_oneof![Just(0), Just(3), Just(200), Just(5_000), Just(1_500_000)];
    let part = prop_oneof![Just("a"), Just("\""), Just("\u{1}"), Just("<"), Just("ä"), Just("\n")];
    (length, part).prop_map(|(length, part)| part.repeat(length))
}

/// How many there are of something.
fn count() -> impl Strategy<Value = usize> {
    prop_oneof![Just(0), Just(1), Just(60), Just(9_000)]
}

/// So many fields with long paths, of different managers.
fn takeovers(count: usize, part: &str) -> Vec<Takeover> {
    let takeover = |number: usize| Takeover {
        path: FieldPath::spelled(&format!(".metadata.annotations.{}{number}", part.repeat(900))),
        manager: format!("{}{number}", part.repeat(120)),
        old: Some(part.repeat(80)),
        new: None,
    };
    (0..count).map(takeover).collect()
}

fn holds(pass: &Pass) -> Result<(), TestCaseError> {
    let now: Timestamp = "2026-01-02T03:04:05Z".parse().unwrap();
    let mut previous = WorkloadStatus::default();
    // The second time, the status before is one of this size.
    for _ in 0..2 {
        let status = status(pass, &previous, now);
        let stored = serde_json::to_string(&status).unwrap().len();
        prop_assert!(stored <= LARGEST_STATUS, "{stored} bytes");
        let keys: BTreeSet<_> = status
            .takeovers
            .iter()
            .map(|takeover| (&takeover.kind, &takeover.path, &takeover.manager))
            .collect();
        prop_assert_eq!(keys.len(), status.takeovers.len(), "the API server refuses two items of one key");
        let all = events(pass, &previous, &status, now);
        prop_assert!(all.len() <= MOST_EVENTS, "{} Events", all.len());
        let is_short = |note: &Option<String>| note.as_ref().is_none_or(|note| note.len() <= LONGEST_NOTE);
        prop_assert!(all.iter().all(|event| is_short(&event.note) && event.action.len() <= 128));
        previous = status;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn an_enforced_pass_can_be_reported(
        message in text(),
        part in prop_oneof![Just("x"), Just("\""), Just("ü")],
        [taken, contested, owners, autoscalers] in [count(), count(), count(), count()],
    ) {
        let entry = |number: usize| json!({
            "manager": format!("{number}{}", part.repeat(100)), "operation": "Apply", "apiVersion": "apps/v1",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:replicas": {}}},
        });
        let (kind, mut deployment) = child(ChildKind::Deployment);
        deployment["metadata"]["managedFields"] = (0..owners.min(300)).map(entry).collect();
        deployment["spec"]["replicas"] = json!(3);
        let spec = json!({
            "replicas": 3, "service": {"ports": [{"port": 80}]}, "autoscaling": {"maxReplicas": 5},
            "disruptionBudget": {"maxUnavailable": 1},
        });
        let mut seen = seen(&workload(&spec), [(kind, deployment)]);
        seen.autoscalers = (0..autoscalers).map(|number| Autoscaler {
            name: format!("{number:0>250}"), min_replicas: 1, controller: None,
            scales: if number % 2 == 0 { Scales::Workload } else { Scales::Deployment }, is_ambiguous: true,
        }).collect();
        let results = ChildKind::ALL.map(|kind| (kind, ChildResult::Rejected(message.clone())));
        let contested = takeovers(contested, part).into_iter().map(|Takeover { path, manager, .. }| Contested {
            key: ChildKind::Deployment, path, manager, count: 9, pause: Duration::from_secs(4),
        }).collect();
        let takeovers = takeovers(taken, part).into_iter().map(|takeover| (ChildKind::Deployment, takeover)).collect();
        let outbox = Outbox { milestones: ChildKind::ALL.map(|kind| (kind, ChildResult::Created)).into(), takeovers };
        holds(&Pass { outbox, results: results.into(), contested, ..Pass::unchanged(seen) })?;
    }

    #[test]
    fn a_previewed_pass_can_be_reported(message in text(), fields in count(), part in prop_oneof![Just("x"), Just("\"")]) {
        let takeovers = takeovers(fields, part);
        let paths: Vec<FieldPath> = takeovers.iter().map(|takeover| takeover.path.clone()).collect();
        let effects = Effects { sets: paths.clone(), takeovers, releases: paths.clone(), removes: paths };
        let rehearsed = Rehearsed {
            action: PlannedAction::Update, effects, stopped: Some(message.clone()), dry_run: DryRunResult::Rejected,
            message: Some(message), ..Rehearsed::default()
        };
        let seen = seen(&workload(&json!({"replicas": 3, "mode": "Preview"})), [child(ChildKind::Deployment)]);
        let rehearsed = ChildKind::ALL.map(|kind| (kind, rehearsed.clone())).into();
        holds(&Pass { rehearsed, settled: true, ..Pass::new(seen) })?;
    }
}
