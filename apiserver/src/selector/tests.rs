//! Parsing and matching of selectors.

use baton_merge::Arena;
use baton_merge::value::Value;

use super::{FieldSelector, LabelSelector, SelectableFields};

fn value<'a>(arena: &'a Arena, json: &'a str) -> Value<'a> {
    Value::from_text(arena, json).unwrap()
}

#[test]
fn a_label_selector_picks_by_all_its_requirements() {
    let arena = Arena::new();
    let labels = value(&arena, r#"{"app":"web","tier":"","size":"7","in":"notin"}"#).as_map();
    for (selector, picks) in [
        ("", true),
        ("app", true),
        ("!app", false),
        ("!other", true),
        ("app=web", true),
        ("app == web , tier=", true),
        ("app!=web", false),
        ("other!=web", true),
        ("app in (db,web)", true),
        ("app notin (db, web)", false),
        ("other notin (db)", true),
        ("tier in ()", true),
        ("size>6,size<8", true),
        ("size>7", false),
        ("app>7", false),
        ("in in (in,notin)", true),
    ] {
        assert_eq!(LabelSelector::parse(selector).unwrap().matches(labels), picks, "{selector}");
    }
    assert!(LabelSelector::parse("!app").unwrap().matches(None));
}

#[test]
fn a_label_selector_that_cannot_be_read_is_refused() {
    let name = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    let key = format!(r#"unable to parse requirement: <nil>: Invalid value: "a@": {name}"#);
    for (selector, message) in [
        ("a@", key.as_str()),
        (",", "found ',', expected: !, identifier, or 'end of string'"),
        ("a,", "found '', expected: identifier after ','"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("!a=b", "found '=', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a\0b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a in (b,", "unable to parse requirement: found '', expected: ',', or identifier"),
        ("a=(b", "unable to parse requirement: found '(', expected: identifier"),
        (
            "a>b",
            "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an \
             integer",
        ),
        (
            "a=b/c",
            "unable to parse requirement: values[0][a]: Invalid value: \"b/c\": a valid label must be an empty string or \
             consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character \
             (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
             '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
        ),
    ] {
        assert_eq!(LabelSelector::parse(selector).unwrap_err().to_string(), message, "{selector}");
    }
}

#[test]
fn a_selector_in_an_object_prints_as_a_query_says_it() {
    let arena = Arena::new();
    for (json, printed) in [
        ("{}", Ok("")),
        (r#"{"matchLabels":{"b":"2","a":"1"}}"#, Ok("a=1,b=2")),
        (
            r#"{"matchLabels":{"z":"1"},"matchExpressions":[{"key":"y","operator":"In","values":["b","a"]},
               {"key":"x","operator":"NotIn","values":["c"]},{"key":"w","operator":"Exists"},{"key":"v","operator":"DoesNotExist"}]}"#,
            Ok("!v,w,x notin (c),y in (a,b),z=1"),
        ),
        (
            r#"{"matchExpressions":[{"key":"y","operator":"Gt","values":["1"]}]}"#,
            Err(r#""Gt" is not a valid label selector operator"#),
        ),
        (
            r#"{"matchExpressions":[{"key":"y","operator":"In"}]}"#,
            Err("values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"),
        ),
    ] {
        let read = LabelSelector::from_object(Some(value(&arena, json)));
        let read = read.map(|selector| selector.to_string()).map_err(|error| error.to_string());
        assert_eq!(read.as_deref().map_err(String::as_str), printed, "{json}");
    }
    assert!(!LabelSelector::from_object(None).unwrap().matches(None), "none picks nothing");
    assert!(LabelSelector::from_object(Some(value(&arena, "{}"))).unwrap().is_everything());
}

#[test]
fn a_field_selector_picks_by_the_fields_of_the_kind() {
    let arena = Arena::new();
    let pod = value(
        &arena,
        r#"{"metadata":{"name":"web","namespace":"shop"},"spec":{"nodeName":"n,1="},
            "status":{"phase":"Running","podIP":"10.0.0.1","podIPs":[{"ip":"10.0.0.1"}]}}"#,
    );
    for (selector, picks) in [
        ("", true),
        ("metadata.name=web,metadata.namespace==shop", true),
        ("metadata.name!=web", false),
        (r"spec.nodeName=n\,1\=,", true),
        (r"spec.host=n\,1\=", true),
        ("spec.hostNetwork=false,status.podIP=10.0.0.1,status.podIPs=", true),
        ("status.phase=Failed", false),
    ] {
        let selector =
            FieldSelector::parse(selector, SelectableFields::BuiltIn { group: "", kind: "Pod" }).unwrap();
        assert_eq!(selector.matches(pod), picks, "{selector:?}");
    }
    let custom = value(&arena, r#"{"metadata":{"name":"web"},"spec":{"color":"red","size":3,"on":true}}"#);
    let json_paths = [".spec.color", ".spec.size", ".spec.on"].map(str::to_owned);
    let selectable = SelectableFields::Custom { is_namespaced: true, json_paths: &json_paths };
    let selector = FieldSelector::parse("spec.color=red,spec.size=3,spec.on=true", selectable).unwrap();
    assert!(selector.matches(custom));
}

#[test]
fn a_field_that_a_kind_cannot_be_selected_by_is_refused() {
    let built_in = |group, kind| SelectableFields::BuiltIn { group, kind };
    let custom = SelectableFields::Custom { is_namespaced: false, json_paths: &[] };
    for (selector, selectable, message) in [
        ("spec.foo=a", built_in("", "Pod"), "field label not supported: spec.foo"),
        ("metadata.namespace=a", built_in("", "Node"), "field label not supported: metadata.namespace"),
        (
            "spec.foo=a",
            built_in("apps", "Deployment"),
            r#""spec.foo" is not a known field selector: only "metadata.name", "metadata.namespace""#,
        ),
        ("a=b", built_in("batch", "Job"), r#"field label "a" not supported for Job"#),
        (
            "a=b",
            built_in("resource.k8s.io", "ResourceSlice"),
            "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: a",
        ),
        ("spec.foo=a", custom, "field label not supported: spec.foo"),
        ("metadata.namespace=a", custom, "field label not supported: metadata.namespace"),
        ("b,a", custom, "invalid selector: 'b,a'; can't understand 'a'"),
        (r"a=\b", custom, r"invalid field selector: invalid escape sequence: \b"),
        ("a=b=c", custom, "invalid field selector: unescaped character in value: 61"),
    ] {
        let error = FieldSelector::parse(selector, selectable).unwrap_err();
        assert_eq!(error.to_string(), message, "{selector}");
    }
}
