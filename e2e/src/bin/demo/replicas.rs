//! What happened to `.spec.replicas`, write by write: who held it, which number it was, and whether it ever fell.
//! Pure: it is given what a watch saw.

use baton_apply::LiveObject;
use baton_controller::decide::replicas::{ReplicaHolders, Replicas};
use baton_e2e::Table;

use crate::recorder::{Sighting, changes};

/// The first time that a number is smaller than the one before it, with that one first.
pub(crate) fn first_fall(numbers: impl IntoIterator<Item = i32>) -> Option<(i32, i32)> {
    let numbers: Vec<i32> = numbers.into_iter().collect();
    numbers.windows(2).find(|pair| pair[1] < pair[0]).map(|pair| (pair[0], pair[1]))
}

/// How many pods are ready.
pub(crate) fn ready(deployment: &LiveObject) -> i32 {
    deployment.number(&["status", "readyReplicas"]).unwrap_or_default()
}

/// The writes that changed the number or who holds it, a row each.
pub(crate) fn table(sightings: &[Sighting]) -> Table<4> {
    let mut table = Table::new(["SECONDS", "REPLICAS", "HELD BY", "WHAT HAPPENED"]);
    let mut before = None;
    for (seen, now) in changes(sightings, Replicas::of) {
        table.row([
            format!("{:7.2}", seen.at.as_secs_f64()),
            format!("{:8}", now.count),
            now.holders.describe(),
            what_happened(before.as_ref(), &now.holders).to_owned(),
        ]);
        before = Some(now.holders);
    }
    table
}

/// One step of the way from Baton to an autoscaler or back, as a text.
fn what_happened(before: Option<&ReplicaHolders>, now: &ReplicaHolders) -> &'static str {
    let Some(before) = before else { return "(as it was)" };
    let scaled = |holders: &ReplicaHolders| !holders.scale.is_empty();
    match () {
        () if !before.temporary && now.temporary => "a stand-in applies the live number too",
        () if !scaled(before) && scaled(now) => "the autoscaler writes its own number",
        () if !before.baton && now.baton => "Baton applies the live number too",
        () if before.baton && !now.baton => "Baton lets go, the number stays",
        () if scaled(before) && !scaled(now) => "the autoscaler's entry is released",
        () if before.temporary && !now.temporary => "the stand-in lets go, the number stays",
        () if now.baton => "Baton sets what the spec says",
        () => "another number",
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;

    fn deployment(replicas: i32, holders: &[&str]) -> LiveObject {
        let entry = |manager: &&str| -> Value {
            let fields = json!({"f:spec": {"f:replicas": {}}});
            match *manager {
                "hpa" => {
                    json!({"manager": "hpa", "operation": "Update", "subresource": "scale", "fieldsV1": fields})
                }
                manager => json!({"manager": manager, "operation": "Apply", "fieldsV1": fields}),
            }
        };
        let managed_fields: Vec<Value> = holders.iter().map(entry).collect();
        let object = json!({
            "metadata": {"name": "web", "managedFields": managed_fields},
            "spec": {"replicas": replicas},
        });
        LiveObject::from_json(object).unwrap()
    }

    fn told(writes: &[(i32, &[&str])]) -> Vec<String> {
        let sightings: Vec<Sighting> = writes
            .iter()
            .map(|(replicas, holders)| Sighting { at: Duration::ZERO, live: deployment(*replicas, holders) })
            .collect();
        table(&sightings).lines().1
    }

    #[test]
    fn a_fall_is_found_wherever_it_is_and_a_rise_is_none() {
        assert_eq!(first_fall([]), None);
        assert_eq!(first_fall([3, 3, 5]), None);
        assert_eq!(first_fall([3, 5, 1, 5]), Some((5, 1)));
    }

    #[test]
    fn the_handover_is_told_step_by_step_and_writes_that_change_nothing_are_left_out() {
        let rows = told(&[
            (3, &["baton"]),
            (3, &["baton"]),
            (3, &["baton", "handover-to-hpa"]),
            (3, &["handover-to-hpa"]),
            (5, &["hpa"]),
        ]);
        assert_eq!(
            rows,
            [
                "   0.00          3   baton                    (as it was)",
                "   0.00          3   handover-to-hpa, baton   a stand-in applies the live number too",
                "   0.00          3   handover-to-hpa          Baton lets go, the number stays",
                "   0.00          5   hpa (scale)              the autoscaler writes its own number",
            ]
        );
    }

    #[test]
    fn the_way_back_is_told_step_by_step() {
        let rows = told(&[(5, &["hpa"]), (5, &["hpa", "baton"]), (5, &["baton"]), (6, &["baton"])]);
        assert_eq!(
            rows,
            [
                "   0.00          5   hpa (scale)          (as it was)",
                "   0.00          5   hpa (scale), baton   Baton applies the live number too",
                "   0.00          5   baton                the autoscaler's entry is released",
                "   0.00          6   baton                Baton sets what the spec says",
            ]
        );
    }
}
