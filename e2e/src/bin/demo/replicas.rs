//! The history of `.spec.replicas`, write by write: its value, its owners, and whether it ever fell.

use baton_apply::LiveObject;
use baton_controller::decide::replicas::{ReplicaOwners, Replicas};
use baton_e2e::Table;

use crate::recorder::changes;

/// The first number that is smaller than the one before it, after that one.
pub(crate) fn first_fall(numbers: impl IntoIterator<Item = i32>) -> Option<(i32, i32)> {
    let numbers: Vec<i32> = numbers.into_iter().collect();
    numbers.windows(2).find(|pair| pair[1] < pair[0]).map(|pair| (pair[0], pair[1]))
}

/// How many pods are ready.
pub(crate) fn ready(deployment: &LiveObject) -> i32 {
    deployment.number(&["status", "readyReplicas"]).unwrap_or_default()
}

/// The writes that changed the replica count or its owners, a row each.
pub(crate) fn table(writes: &[LiveObject]) -> Table<3> {
    let mut table = Table::new(["REPLICAS", "OWNED BY", "WHAT HAPPENED"]);
    let mut before = None;
    for now in changes(writes, Replicas::of) {
        table.row([
            format!("{:8}", now.count),
            // The last column shows which owner writes through the subresource.
            now.owners.describe().replace(" (scale)", ""),
            what_happened(before.as_ref(), &now.owners).to_owned(),
        ]);
        before = Some(now.owners);
    }
    table
}

/// A text for one step of a handover or of the way back.
fn what_happened(before: Option<&ReplicaOwners>, now: &ReplicaOwners) -> &'static str {
    let Some(before) = before else { return "(before)" };
    let scaled = |owners: &ReplicaOwners| !owners.scale.is_empty();
    match () {
        () if !before.temporary && now.temporary => "handover-to-hpa applies it too",
        () if !scaled(before) && scaled(now) => "the autoscaler writes its own",
        () if !before.baton && now.baton => "Baton applies it too",
        () if before.baton && !now.baton => "Baton releases it",
        () if scaled(before) && !scaled(now) => "the autoscaler's entry is gone",
        () if before.temporary && !now.temporary => "handover-to-hpa releases it",
        () if now.baton => "Baton sets what the spec says",
        () => "another count",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn deployment(replicas: i32, owners: &[&str]) -> LiveObject {
        let entry = |manager: &&str| -> Value {
            let fields = json!({"f:spec": {"f:replicas": {}}});
            match *manager {
                "hpa" => {
                    json!({"manager": "hpa", "operation": "Update", "subresource": "scale", "fieldsV1": fields})
                }
                manager => json!({"manager": manager, "operation": "Apply", "fieldsV1": fields}),
            }
        };
        let managed_fields: Vec<Value> = owners.iter().map(entry).collect();
        let object = json!({
            "metadata": {"name": "web", "managedFields": managed_fields},
            "spec": {"replicas": replicas},
        });
        LiveObject::from_json(object).unwrap()
    }

    fn rows(writes: &[(i32, &[&str])]) -> Vec<String> {
        let writes: Vec<LiveObject> =
            writes.iter().map(|(replicas, owners)| deployment(*replicas, owners)).collect();
        table(&writes).lines().1
    }

    #[test]
    fn a_fall_is_found_anywhere_and_a_rise_is_none() {
        assert_eq!(first_fall([]), None);
        assert_eq!(first_fall([3, 3, 5]), None);
        assert_eq!(first_fall([3, 5, 1, 5]), Some((5, 1)));
    }

    #[test]
    fn the_handover_is_shown_step_by_step_without_writes_that_change_nothing() {
        let rows = rows(&[
            (3, &["baton"]),
            (3, &["baton"]),
            (3, &["baton", "handover-to-hpa"]),
            (3, &["handover-to-hpa"]),
            (5, &["hpa"]),
        ]);
        assert_eq!(
            rows,
            [
                "       3   baton                    (before)",
                "       3   handover-to-hpa, baton   handover-to-hpa applies it too",
                "       3   handover-to-hpa          Baton releases it",
                "       5   hpa                      the autoscaler writes its own",
            ]
        );
    }

    #[test]
    fn the_way_back_is_shown_step_by_step() {
        let rows = rows(&[(5, &["hpa"]), (5, &["hpa", "baton"]), (5, &["baton"]), (6, &["baton"])]);
        assert_eq!(
            rows,
            [
                "       5   hpa          (before)",
                "       5   hpa, baton   Baton applies it too",
                "       5   baton        the autoscaler's entry is gone",
                "       6   baton        Baton sets what the spec says",
            ]
        );
    }
}
