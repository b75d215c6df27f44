//! What holds of applying the same again, and of seeing beforehand that it changes nothing.

use std::collections::BTreeMap;

use baton_merge::{Arena, fieldpath::FieldSet};
use serde_json::Value;

use super::checks::Step;

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

impl Step<'_> {
    /// Where the no-op check sees a no-op, there is one, forced or not.
    pub(super) fn check_noop(&self, intent: &Value) {
        let Some(live) = self.live else { return };
        let noop = self.resource.is_noop(live, intent, self.apply_as(false));
        assert_eq!(noop, self.resource.is_noop(live, intent, self.apply_as(true)), "a no-op only by force");
        if !noop || !(self.own || is_as_served(live)) {
            return;
        }
        for force in [false, true] {
            let arena = Arena::new();
            let prediction = self.predict(&arena, Some(live), intent, force);
            let prediction = prediction.unwrap_or_else(|| panic!("a no-op, and refused (force: {force})"));
            assert!(prediction.conflicts.is_empty(), "a no-op, and conflicting: {}", prediction.conflicts);
            assert!(!prediction.changed, "a no-op, and changed to {}", prediction.stored.to_json());
        }
    }

    /// Applying the same again changes nothing.
    pub(super) fn check_again(&self, intent: &Value, stored: &Value) {
        if self.is_never_the_same(intent, stored) {
            return;
        }
        let live = self.created(stored.clone());
        let arena = Arena::new();
        let Some(again) = self.predict(&arena, Some(&live), intent, false) else {
            panic!("applied once, and refused the second time");
        };
        assert!(
            again.conflicts.is_empty(),
            "applied once, and conflicting the second time: {}",
            again.conflicts
        );
        assert!(
            !again.changed,
            "applying the same again changes something:\nfirst: {stored}\nthen:  {}",
            again.stored.to_json()
        );
    }

    /// Applying the same a few times comes to an end.
    pub(super) fn check_settles(&self, intent: &Value, stored: &Value) {
        const TIMES: usize = 4;
        let mut live = self.created(stored.clone());
        for _ in 0..TIMES {
            if self.is_never_the_same(intent, &live) {
                return;
            }
            let arena = Arena::new();
            let Some(again) = self.predict(&arena, Some(&live), intent, true) else { return };
            if !again.changed {
                return;
            }
            let stored = again.stored.to_json();
            drop(again);
            live = stored;
        }
        panic!("applied {TIMES} times, and still changing: {live}");
    }

    fn is_never_the_same(&self, intent: &Value, stored: &Value) -> bool {
        // An object that nobody owns anything of is taken for one from before server-side apply, even if it was just
        // made by an apply of nothing but empty lists.
        let is_nobodys = stored["metadata"].get("managedFields").is_none();
        // What kubectl applies is kept in the annotation, which can't be what is applied to it at the same time.
        let applies_its_annotation =
            self.manager() == "kubectl" && intent["metadata"]["annotations"].get(LAST_APPLIED).is_some();
        is_nobodys || applies_its_annotation || are_confused(&[intent, stored])
    }
}

/// Whether the field sets of an object are as a server writes them when it has read them.
fn is_as_served(object: &Value) -> bool {
    let arena = Arena::new();
    let is_written =
        |fields| FieldSet::from_fields_v1(&arena, fields).is_ok_and(|set| set.to_fields_v1() == *fields);
    let entries = object["metadata"]["managedFields"].as_array();
    entries.is_some_and(|entries| entries.iter().all(|entry| is_written(&entry["fieldsV1"])))
}

/// Whether two different numbers are one float. In a field set that was read they are one, so that an item of the one name
/// is taken for that of the other.
fn are_confused(objects: &[&Value]) -> bool {
    let mut numbers = BTreeMap::new();
    objects.iter().any(|object| confuses(object, &mut numbers))
}

fn confuses<'v>(json: &'v Value, numbers: &mut BTreeMap<u64, &'v serde_json::Number>) -> bool {
    match json {
        Value::Number(number) => {
            let float = number.as_f64().unwrap_or_default();
            let other = numbers.insert(float.to_bits(), number);
            // Numbers of both sorts that floats hold exactly are equal.
            float.abs() >= 9_007_199_254_740_992.0 && other.is_some_and(|other| other != number)
        }
        Value::Array(items) => items.iter().any(|item| confuses(item, numbers)),
        Value::Object(members) => members.values().any(|member| confuses(member, numbers)),
        _ => false,
    }
}
