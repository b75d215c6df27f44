//! Evaluation of rules.

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

/// The results of cel-go, as recorded by `go run ./tables`.
fn recorded() -> Json {
    serde_json::from_str(include_str!("costs.json")).unwrap()
}

#[test]
fn evaluations_cost_what_they_cost_in_cel_go() {
    let recorded = recorded();
    let schema = Schema::read(&recorded["schema"]);
    let arena = Arena::new();
    let this = to_cel(&schema, false, Value::from_json(&arena, &recorded["object"]).unwrap());
    let functions = functions::all();
    let mut wrong = Vec::new();
    for each in recorded["rules"].as_array().unwrap() {
        let rule = each["rule"].as_str().unwrap();
        let program = Program::parse(rule).unwrap();
        let mut evaluation = Evaluation::new(&functions, &[("self", this.clone())]);
        let result = evaluation.value(&program.expression);
        if each["cost"].as_u64() != Some(evaluation.cost) {
            wrong.push(format!("{} instead of {}: {rule} ({result:?})", evaluation.cost, each["cost"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
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
fn sets_and_maps_are_compared_without_order_and_united() {
    let schema = |rule: &str| {
        let keyed =
            json!({"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "integer"}}});
        json!({"type": "object", "x-kubernetes-validations": [{"rule": rule}], "properties": {
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"], "items": keyed},
            "list": {"type": "array", "items": {"type": "string"}},
        }})
    };
    let map = json!([{"k": "a", "v": 1}, {"k": "b", "v": 2}]);
    let object = json!({"set": ["a", "b"], "map": map, "list": ["a", "b"]});
    let old = json!({"set": ["b", "a"], "map": [map[1], map[0]], "list": ["b", "a"]});
    for rule in [
        "self.set == oldSelf.set && self.map == oldSelf.map && self.list != oldSelf.list",
        "self.set == ['b', 'a'] && ['b', 'a'] != self.set && self.set != ['a', 'c'] && self.set != ['a']",
        "self.set + ['b', 'c', 'c'] == ['a', 'b', 'c'] && (self.list + self.set).size() == 4",
        "(self.map + oldSelf.map).size() == 2 && (self.map + [self.map[0]]) == self.map",
        "self.map.filter(m, m.v == 1).size() == 1 && self.set[1] == 'b' && 'a' in self.set && size(self.set) == 2",
        "self.set.all(x, x in self.list) && sets.equivalent(self.set, self.list) && type(self.map) == list",
        "self.?set.orValue([]) == ['b', 'a'] && self.set.map(x, x + '!') == ['a!', 'b!'] && self.set.join('') == 'ab'",
    ] {
        assert_eq!(findings(&schema(rule), &object, Some(&old)).0, [""; 0], "{rule}");
    }
}

#[test]
fn an_integer_that_is_written_as_a_fraction_cannot_be_read() {
    let object: Json = serde_json::from_str(r#"{"spec": {"min": 1.0, "max": 2}}"#).unwrap();
    let read = spec(&json!([{"rule": "self.min < self.max"}, {"rule": "self.max == 2 || self.min == 1"}]));
    let why = "invalid data, expected int, got float64";
    assert_eq!(
        findings(&read, &object, None).0,
        [format!(r#"spec: Invalid value: "object": {why} evaluating rule: self.min < self.max"#)]
    );
}

#[test]
fn rules_that_cost_too_much_end_the_evaluation() {
    let of = |items: usize| json!({"spec": {"list": vec!["x"; items]}});
    let expensive = "self.list.sort().size() > 0";
    let (errors, _) = findings(&spec(&json!([{"rule": expensive}, {"rule": "false"}])), &of(1000), None);
    assert_eq!(
        errors,
        [format!(
            "spec: Invalid value: \"object\": 'operation cancelled: actual cost limit exceeded': no further validation rules will \
             be run due to call cost exceeds limit for rule: {expensive}"
        )]
    );
    // Each rule is within its limit, and all exceed that of an object.
    let (errors, _) = findings(&spec(&json!(vec![json!({"rule": expensive}); 14])), &of(600), None);
    let over_budget =
        "validation failed due to running out of cost budget, no further validation rules will be run";
    assert_eq!(errors, [format!("spec: Invalid value: \"object\": {over_budget}")]);
    let made = json!([{"rule": "false", "messageExpression": "string(self.list.sort().size())"}]);
    let (errors, _) = findings(&spec(&made), &of(1000), None);
    assert!(errors[0].contains("call cost exceeds limit for messageExpression"), "{errors:?}");
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
                "spec: Invalid value: \"object\": validation failed due to running out of cost budget, no further validation \
                 rules will be run",
            ],
        ),
    ] {
        let (errors, _) = findings(&spec(&json!([{"rule": rule}])), &object, None);
        assert_eq!(errors, expected, "{rule}");
    }
}

#[test]
fn functions_and_macros_do_what_they_do_in_cel_go() {
    let object = json!({"spec": {
        "min": 3, "list": ["größe", "👍👍👍👍👍"], "when": "2026-01-02T03:04:05Z", "sub": {"deep": {"a": "x"}},
        "items": [{"name": "a"}, {"role": "main"}], "flag": true, "wait": "90m",
    }});
    let item =
        json!({"type": "object", "properties": {"name": {"type": "string"}, "role": {"type": "string"}}});
    let deep = json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}});
    for rule in [
        "self.list.all(x, size(x) == 5 && x.size() == 5) && size(b'ö') == 2 && self.list.size() == 2",
        "self.items.exists(i, i.role == 'main')",
        "!self.items.all(i, has(i.name) && i.role == '')",
        "!self.items.all(i, i.name == 'b')",
        "{'a': 1}.exists(k, k == 'a') && [].all(x, false) && !['a'].exists(x, x == 'b')",
        "self.items.exists_one(i, has(i.role)) && self.list.filter(x, x == 'größe').map(x, x != '', x) == ['größe']",
        "self.?list.optMap(l, l.size()).orValue(0) == 2 && !self.?other.optMap(l, 1).hasValue()",
        "self.?list.optFlatMap(l, l[?5]).orValue('none') == 'none'",
        "self.?sub.deep.a.hasValue() && self.?sub.deep.?b.orValue('y') == 'y' && !has(self.?other.deep.a)",
        "self.?items[0].name.orValue('') == 'a'",
        "string(self.when) == '2026-01-02T03:04:05Z' && string(self.wait) == '5400s' && string(self.flag) == 'true'",
        "string(duration('1.5s')) == '1.5s' && string(3) == '3' && string(ip('::1')) == '::1'",
        "int(self.when) == 1767323045 && timestamp(1767323045) == self.when && timestamp(self.when) == self.when",
        "bool('true') && !bool('F')",
        "dyn(3) == 3.0 && dyn([1, 2]) == [1.0, 2.0] && !(dyn(3) != 3.0) && dyn(3) != '3'",
        "format.named('dns1123Label').hasValue() && !format.named('nothing').hasValue()",
        "!format.named('dns1123Label').value().validate('a').hasValue()",
        "self.when.getHours('Europe/Berlin') == 4 && self.when.getMinutes('-05:30') == 34 && self.when.getHours() == 3",
        "timestamp('2026-01-02T00:30:00+02:00').getDate() == 1 && self.when.getDayOfWeek('02:00') == 5",
        "self.when.getDayOfYear() == 1 && self.when.getMonth('UTC') == 0 && duration('90m').getHours() == 1",
        "self.list.all(i, x, i < 2 && size(x) == 5) && self.list.exists(i, x, i == 1 && x != 'größe')",
        "self.list.existsOne(i, x, i > 0) && !self.list.exists_one(i, x, i >= 0)",
        "self.list.transformList(i, x, string(i) + x.substring(0, 1)) == ['0g', '1👍']",
        "self.list.transformList(i, x, i > 0, i) == [1] && self.list.transformMap(i, x, i == 0, x) == {0: 'größe'}",
        "{'a': 1, 'b': 2}.transformMap(k, v, v + 1) == {'a': 2, 'b': 3} && {'a': 1}.all(k, v, k == 'a' && v == 1)",
        "self.list.transformMapEntry(i, x, {x: i}).size() == 2 && {'a': 'x'}.transformMapEntry(k, v, {v: k}) == {'x': 'a'}",
        "[{'n': 2}, {'n': 1}].sortBy(e, e.n).map(e, e.n) == [1, 2] && 'größe'.split('').size() == 5",
        "'abc'.split('', 2) == ['a', 'bc'] && self.?list[0].orValue('') == 'größe'",
        r"!'٣'.matches('^\\d$') && 'a{,2}'.matches('^a{,2}$') && '٣1'.find('\\d') == '1'",
    ] {
        let mut schema = spec(&json!([{"rule": rule}]));
        let fields = schema["properties"]["spec"]["properties"].as_object_mut().unwrap();
        fields.insert("items".to_owned(), json!({"type": "array", "items": item}));
        fields.insert("sub".to_owned(), json!({"type": "object", "properties": {"deep": deep}}));
        fields.insert("other".to_owned(), json!({"type": "object", "properties": {"deep": deep}}));
        fields.insert("flag".to_owned(), json!({"type": "boolean"}));
        fields.insert("wait".to_owned(), json!({"type": "string", "format": "duration"}));
        assert_eq!(findings(&schema, &object, None).0, [""; 0], "{rule}");
    }
    let undecided = "self.items.exists(i, i.name == 'b')";
    let mut schema = spec(&json!([{"rule": undecided}]));
    schema["properties"]["spec"]["properties"]["items"] = json!({"type": "array", "items": item});
    assert_eq!(
        findings(&schema, &object, None).0,
        [format!("spec: Invalid value: \"object\": no such key: name evaluating rule: {undecided}")]
    );
}
