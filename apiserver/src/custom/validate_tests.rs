//! Errors of values that their schemas don't allow.

use baton_merge::Arena;
use serde_json::{Value as Json, json};

use super::*;

fn errors(schema: &Json, object: &Json, old: Option<&Json>) -> Vec<String> {
    let schema = Schema::read(schema);
    let arena = Arena::new();
    let new = Value::from_json(&arena, object).unwrap();
    let past =
        old.map(|old| Correlated { schema: &schema, old: Value::from_json(&arena, old).unwrap(), new });
    let errors = validate(&FieldPath::default(), &schema, new, past);
    errors.iter().map(ToString::to_string).collect()
}

fn errors_of(field: &Json, value: &Json) -> Vec<String> {
    let schema =
        json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {"f": field}}}});
    errors(&schema, &json!({"spec": {"f": value}}), None)
}

#[test]
fn each_wrong_value_gets_the_message_of_upstream() {
    for (field, value, expected) in [
        (
            json!({"type": "integer"}),
            json!("a"),
            r#"spec.f: Invalid value: "string": spec.f in body must be of type integer: "string""#,
        ),
        (
            json!({"type": "string"}),
            json!(1),
            r#"spec.f: Invalid value: "integer": spec.f in body must be of type string: "integer""#,
        ),
        (
            json!({"type": "string"}),
            json!(null),
            r#"spec.f: Invalid value: "null": spec.f in body must be of type string: "null""#,
        ),
        (
            json!({"x-kubernetes-int-or-string": true}),
            json!(true),
            r#"spec.f: Invalid value: "boolean": spec.f in body must be of type integer,string: "boolean""#,
        ),
        (
            json!({"type": "string", "enum": ["a", "b"]}),
            json!("x"),
            r#"spec.f: Unsupported value: "x": supported values: "a", "b""#,
        ),
        (
            json!({"type": "integer", "minimum": 1}),
            json!(0),
            "spec.f: Invalid value: 0: spec.f in body should be greater than or equal to 1",
        ),
        (
            json!({"type": "integer", "maximum": 5, "exclusiveMaximum": true}),
            json!(5),
            "spec.f: Invalid value: 5: spec.f in body should be less than 5",
        ),
        (
            json!({"type": "number", "maximum": 1.5}),
            json!(2.5),
            "spec.f: Invalid value: 2.5: spec.f in body should be less than or equal to 1.5",
        ),
        (
            json!({"type": "integer", "multipleOf": 3}),
            json!(4),
            "spec.f: Invalid value: 4: spec.f in body should be a multiple of 3",
        ),
        (
            json!({"type": "number", "multipleOf": 0.1}),
            json!(0.35),
            "spec.f: Invalid value: 0.35: spec.f in body should be a multiple of 0.1",
        ),
        (
            json!({"type": "integer", "format": "int32"}),
            json!(3_000_000_000_i64),
            r#"<nil>: Invalid value: "": Checked value must be of type integer with format int32 in spec.f"#,
        ),
        (
            json!({"type": "string", "pattern": "^a$"}),
            json!("b"),
            r#"spec.f: Invalid value: "b": spec.f in body should match '^a$'"#,
        ),
        (
            json!({"type": "string", "minLength": 2}),
            json!("b"),
            r#"spec.f: Invalid value: "b": spec.f in body should be at least 2 chars long"#,
        ),
        (
            json!({"type": "string", "maxLength": 2}),
            json!("bcd"),
            "spec.f: Too long: may not be more than 2 bytes",
        ),
        (
            json!({"type": "string", "format": "date"}),
            json!("bcd"),
            r#"spec.f: Invalid value: "bcd": spec.f in body must be of type date: "bcd""#,
        ),
    ] {
        assert_eq!(errors_of(&field, &value), [expected], "{field} {value}");
    }
}

#[test]
fn wrong_lists_and_maps_get_the_messages_of_upstream() {
    for (field, value, expected) in [
        (
            json!({"type": "array", "items": {"type": "string"}, "maxItems": 1}),
            json!(["a", "b"]),
            "spec.f: Too many: 2: must have at most 1 item",
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "minItems": 1}),
            json!([]),
            "spec.f: Invalid value: 0: spec.f in body should have at least 1 items",
        ),
        (
            json!({"type": "array", "items": {"type": "string"}}),
            json!(["a", 1]),
            r#"spec.f[1]: Invalid value: "integer": spec.f[1] in body must be of type string: "integer""#,
        ),
        (
            json!({"type": "object", "additionalProperties": {"type": "string"}}),
            json!({"a": 1}),
            r#"spec.f.a: Invalid value: "integer": spec.f.a in body must be of type string: "integer""#,
        ),
        (json!({"type": "object", "required": ["a"]}), json!({}), "spec.f.a: Required value"),
        (
            json!({"type": "object", "maxProperties": 1}),
            json!({"a": 1, "b": 2}),
            "spec.f: Too many: 2: must have at most 1 item",
        ),
        (
            json!({"type": "string", "not": {"enum": ["a"]}}),
            json!("a"),
            r#"<nil>: Invalid value: "": "spec.f" must not validate the schema (not)"#,
        ),
    ] {
        assert_eq!(errors_of(&field, &value), [expected], "{field} {value}");
    }
}

#[test]
fn alternatives_report_the_one_that_failed_least() {
    let field = json!({"type": "object", "oneOf": [{"required": ["a"]}, {"required": ["b"]}]});
    let none = [
        r#"<nil>: Invalid value: "": "spec.f" must validate one and only one schema (oneOf). Found none valid"#,
        "spec.f.a: Required value",
    ];
    assert_eq!(errors_of(&field, &json!({})), none);
    let both = [
        r#"<nil>: Invalid value: "": "spec.f" must validate one and only one schema (oneOf). Found 2 valid alternatives"#,
    ];
    assert_eq!(errors_of(&field, &json!({"a": 1, "b": 1})), both);
    assert_eq!(errors_of(&field, &json!({"b": 1})), [""; 0]);
}

#[test]
fn what_was_wrong_before_and_did_not_change_is_tolerated() {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "a": {"type": "string", "maxLength": 1},
        "list": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "properties": {
                "k": {"type": "string"}, "v": {"type": "integer", "minimum": 1},
            }}},
        "atomic": {"type": "array", "items": {"type": "integer", "minimum": 1}},
    }}}});
    let old = json!({"spec": {"a": "long", "list": [{"k": "x", "v": 0}], "atomic": [0]}});
    assert_eq!(errors(&schema, &old, Some(&old)), [""; 0]);
    let new =
        json!({"spec": {"a": "longer", "list": [{"k": "y", "v": 0}, {"k": "x", "v": 0}], "atomic": [0, 1]}});
    let expected = [
        "spec.a: Too long: may not be more than 1 bytes".replace("bytes", "byte"),
        "spec.atomic[0]: Invalid value: 0: spec.atomic[0] in body should be greater than or equal to 1"
            .to_owned(),
        "spec.list[0].v: Invalid value: 0: spec.list[0].v in body should be greater than or equal to 1"
            .to_owned(),
    ];
    assert_eq!(errors(&schema, &new, Some(&old)), expected);
}
