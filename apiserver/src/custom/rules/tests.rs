//! What rules say of objects.

use baton_merge::Arena;
use serde_json::{Value as Json, json};

use super::*;

fn findings(schema: &Json, new: &Json, old: Option<&Json>) -> (Vec<String>, Vec<String>) {
    let schema = Schema::read(schema);
    let arena = Arena::new();
    let new = Value::from_json(&arena, new).unwrap();
    let old = old.map(|old| Value::from_json(&arena, old).unwrap());
    let past = Past::of(old.map(|old| Correlated { schema: &schema, old, new }));
    let found = validate(&schema, true, &FieldPath::default(), new, old, past);
    (found.errors.iter().map(ToString::to_string).collect(), found.warnings)
}

fn spec(rules: &Json) -> Json {
    json!({"type": "object", "properties": {"spec": {
        "type": "object", "x-kubernetes-validations": rules, "properties": {
            "min": {"type": "integer"}, "max": {"type": "integer"}, "a-b": {"type": "string"},
            "when": {"type": "string", "format": "date-time"}, "share": {"type": "number"},
            "list": {"type": "array", "items": {"type": "string"}},
        },
    }}})
}

#[test]
fn a_failing_rule_says_what_its_author_wrote() {
    let object = json!({"spec": {"min": 3, "max": 2, "a-b": "x"}});
    for (rule, expected) in [
        (json!({"rule": "self.min <= self.max"}), "spec: Invalid value: failed rule: self.min <= self.max"),
        (json!({"rule": "self.min <= self.max", "message": "no"}), "spec: Invalid value: no"),
        (
            json!({"rule": "self.min <= self.max", "messageExpression": "'min ' + string(self.min)", "message": "no"}),
            "spec: Invalid value: min 3",
        ),
        (
            json!({"rule": "self.a__dash__b == 'y'", "message": "no", "fieldPath": ".a-b"}),
            "spec.a-b: Invalid value: no",
        ),
        (json!({"rule": "false", "message": "no", "reason": "FieldValueForbidden"}), "spec: Forbidden: no"),
        (
            json!({"rule": "false", "message": "no", "reason": "FieldValueRequired"}),
            "spec: Required value: no",
        ),
        (
            json!({"rule": "self.share > 1.0"}),
            r#"spec: Invalid value: "object": no such key: share evaluating rule: self.share > 1.0"#,
        ),
        (json!({"rule": "has(self.list)", "message": "list!"}), "spec: Invalid value: list!"),
        (json!({"rule": "self.?list.orValue(['z']) == ['y']", "message": "opt"}), "spec: Invalid value: opt"),
    ] {
        assert_eq!(findings(&spec(&json!([rule])), &object, None).0, [expected]);
    }
}

#[test]
fn values_have_the_types_of_their_schemas() {
    let object = json!({"spec": {"when": "2026-01-02T03:04:05Z", "share": 1, "list": ["a"]}});
    for rule in [
        "self.when > timestamp('2025-01-01T00:00:00Z')",
        "self.share < 1.5",
        "self.list.all(x, x.matches('^a'))",
        "quantity('1Gi').isGreaterThan(quantity('1Mi'))",
    ] {
        assert_eq!(findings(&spec(&json!([{"rule": rule}])), &object, None).0, [""; 0], "{rule}");
    }
}

#[test]
fn transition_rules_compare_with_the_old_value() {
    let fixed = spec(&json!([{"rule": "self.min == oldSelf.min", "message": "fixed"}]));
    let (old, new) = (json!({"spec": {"min": 1}}), json!({"spec": {"min": 2}}));
    assert_eq!(findings(&fixed, &new, None).0, [""; 0]);
    assert_eq!(findings(&fixed, &new, Some(&old)).0, ["spec: Invalid value: fixed"]);
    let optional =
        json!([{"rule": "oldSelf.hasValue() || self.min == 1", "message": "one", "optionalOldSelf": true}]);
    assert_eq!(findings(&spec(&optional), &new, None).0, ["spec: Invalid value: one"]);
    assert_eq!(findings(&spec(&optional), &new, Some(&old)).0, [""; 0]);
}

#[test]
fn a_rule_that_failed_before_only_warns_while_nothing_changes() {
    let schema = spec(&json!([{"rule": "self.min <= self.max", "message": "no"}]));
    let old = json!({"status": {"a": 1}, "spec": {"min": 3, "max": 2}});
    let new = json!({"status": {"a": 2}, "spec": {"min": 3, "max": 2}});
    let (errors, warnings) = findings(&schema, &new, Some(&old));
    assert_eq!(
        (errors.as_slice(), warnings.as_slice()),
        (&[][..], &["spec: Invalid value: no".to_owned()][..])
    );
}

#[test]
fn rules_on_scalars_show_the_value() {
    let schema = json!({"type": "object", "properties": {"n": {
        "type": "integer", "x-kubernetes-validations": [{"rule": "self > 1", "message": "more"}],
    }}});
    assert_eq!(findings(&schema, &json!({"n": 1}), None).0, ["n: Invalid value: 1: more"]);
}

#[test]
fn the_smallest_integer_and_the_longest_list_fail_the_rule_and_nothing_else() {
    let object = json!({"spec": {"min": i64::MIN, "share": 0.5}});
    for (rule, expected) in [
        (
            "-self.min > 0",
            vec!["spec: Invalid value: \"object\": integer overflow evaluating rule: -self.min > 0"],
        ),
        ("-self.share < 0.0 && -(-3) == 3", vec![]),
        ("lists.range(3) == [0, 1, 2]", vec![]),
        (
            "lists.range(9000000000) == []",
            vec![
                "spec: Invalid value: \"object\": operation cancelled: actual cost limit exceeded evaluating rule: \
                 lists.range(9000000000) == []",
            ],
        ),
    ] {
        let (errors, _) = findings(&spec(&json!([{"rule": rule}])), &object, None);
        assert_eq!(errors, expected, "{rule}");
    }
}
