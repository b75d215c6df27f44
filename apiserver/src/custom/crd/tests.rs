//! Defaults and validation of CRDs.

use serde_json::json;

use super::*;

fn definition(schema: &Json) -> Json {
    let mut crd = json!({
        "metadata": {"name": "shops.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "shops", "kind": "Shop"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
            }],
        },
    });
    default(&mut crd);
    prepare(&mut crd, None, false);
    crd
}

fn plain() -> Json {
    definition(&json!({"type": "object"}))
}

fn errors(crd: &Json, old: Option<&Json>) -> Vec<String> {
    validate(crd, old, Vec::new()).iter().map(ToString::to_string).collect()
}

fn errors_of(field: &Json) -> Vec<String> {
    errors(&definition(&json!({"type": "object", "properties": {"f": field}})), None)
}

#[test]
fn a_crd_is_completed_and_established() {
    let mut crd = plain();
    assert_eq!(errors(&crd, None), [""; 0]);
    assert!(reconcile(&mut crd, &[], "2026-01-01T00:00:00Z"));
    let names = json!({"plural": "shops", "singular": "shop", "kind": "Shop", "listKind": "ShopList"});
    let condition = |name: &str, reason: &str, message: &str| {
        json!({"type": name, "status": "True", "reason": reason, "message": message,
               "lastTransitionTime": "2026-01-01T00:00:00Z"})
    };
    let status = json!({
        "acceptedNames": names, "storedVersions": ["v1"], "conditions": [
            condition("NamesAccepted", "NoConflicts", "no conflicts found"),
            condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
        ],
    });
    assert_eq!(crd["status"], status);
    assert_eq!((&crd["spec"]["names"], &crd["spec"]["conversion"]), (&names, &json!({"strategy": "None"})));
    assert!(!reconcile(&mut crd, &[], "2026-01-02T00:00:00Z"));
}

#[test]
fn names_of_another_crd_are_not_accepted() {
    let mut first = plain();
    reconcile(&mut first, &[], "2026-01-01T00:00:00Z");
    let mut second = plain();
    second["metadata"]["name"] = "stores.example.com".into();
    second["spec"]["names"] =
        json!({"plural": "stores", "singular": "store", "kind": "Shop", "listKind": "StoreList"});
    reconcile(&mut second, &[&first], "2026-01-01T00:00:00Z");
    let conditions = &second["status"]["conditions"];
    assert_eq!(
        (&conditions[0]["reason"], &conditions[0]["message"]),
        (&json!("KindConflict"), &json!("\"Shop\" is already in use"))
    );
    assert_eq!(conditions[1]["message"], "not all names are accepted");
}

#[test]
fn a_crd_has_to_be_consistent() {
    let changed = |pointer: &str, value: Json| {
        let mut crd = plain();
        *crd.pointer_mut(pointer).unwrap() = value;
        errors(&crd, None)
    };
    let name = changed("/metadata/name", json!("shop.example.com"));
    assert_eq!(
        name,
        [r#"metadata.name: Invalid value: "shop.example.com": must be spec.names.plural+"."+spec.group"#]
    );
    let scope = changed("/spec/scope", json!("Universe"));
    assert_eq!(
        scope,
        [r#"spec.scope: Unsupported value: "Universe": supported values: "Cluster", "Namespaced""#]
    );
    let storage = changed("/spec/versions/0/storage", json!(false));
    let shown = r#"[{"Name":"v1","Served":true,"Storage":false,"Deprecated":false,"DeprecationWarning":null,"Schema":null,"Subresources":null,"AdditionalPrinterColumns":null,"SelectableFields":null}]"#;
    assert_eq!(
        storage,
        [format!(
            "spec.versions: Invalid value: {shown}: must have exactly one version marked as storage version"
        )]
    );
    let schema = changed("/spec/versions/0/schema", Json::Null);
    assert_eq!(schema, ["spec.versions[0].schema.openAPIV3Schema: Required value"]);
}

#[test]
fn the_schema_has_to_be_structural_and_its_defaults_and_rules_sound() {
    let at = "spec.validation.openAPIV3Schema.properties[f]";
    for (field, expected) in [
        (json!({}), format!("{at}.type: Required value: must not be empty for specified object fields")),
        (json!({"type": "array"}), format!("{at}.items: Required value: must be specified")),
        (
            json!({"type": "string", "default": 1}),
            format!(r#"{at}.default: Invalid value: "integer":  in body must be of type string: "integer""#),
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "default": {"b": 1}}),
            format!(r#"{at}.default: Invalid value: {{"b":1}}: must not have unknown fields"#),
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "bag"}),
            format!(
                r#"{at}.x-kubernetes-list-type: Unsupported value: "bag": supported values: "atomic", "set", "map""#
            ),
        ),
        (
            json!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "properties": {"k": {"type": "string"}}}}),
            format!(
                "{at}.items.properties[k].default: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"
            ),
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}}),
            format!(
                "{at}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive"
            ),
        ),
        (
            json!({"type": "integer", "x-kubernetes-validations": [{"rule": ""}]}),
            format!("{at}.x-kubernetes-validations[0].rule: Required value: rule is not specified"),
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}},
                "x-kubernetes-validations": [{"rule": "self.a == self.bc"}]}),
            format!(
                "{at}.x-kubernetes-validations[0].rule: Invalid value: {{\"Rule\":\"self.a == self.bc\",\"Message\":\"\",\"MessageExpression\":\"\",\"Reason\":null,\"FieldPath\":\"\",\"OptionalOldSelf\":null}}: compilation failed: ERROR: <input>:1:15: undefined field 'bc'\n | self.a == self.bc\n | ..............^"
            ),
        ),
        (
            json!({"type": "array", "items": {"type": "integer", "x-kubernetes-validations": [{"rule": "self == oldSelf"}]}}),
            format!(
                r#"{at}.items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within {at}"#
            ),
        ),
    ] {
        assert_eq!(errors_of(&field), [expected], "{field}");
    }
}

#[test]
fn rules_and_patterns_that_the_server_takes_are_taken() {
    let deep = json!({"type": "object", "properties": {"y": {"type": "integer"}}});
    for rule in
        ["has(self.a)", "(has(self.a))", "has(self.b.y)", "has(self.m.k)", "self.l.exists(i, i.y == 1)"]
    {
        let field = json!({
            "type": "object", "x-kubernetes-validations": [{"rule": rule}], "properties": {
                "a": {"type": "string"}, "b": deep, "l": {"type": "array", "maxItems": 9, "items": deep},
                "m": {"type": "object", "additionalProperties": {"type": "string"}},
            },
        });
        assert_eq!(errors_of(&field), [""; 0], "{rule}");
    }
    assert_eq!(errors_of(&json!({"type": "string", "pattern": "^{{.*}}$"})), [""; 0]);
    let undefined = json!({
        "type": "object", "x-kubernetes-validations": [{"rule": "self.l.exists(i, i.z == 1)"}],
        "properties": {"l": {"type": "array", "maxItems": 9, "items": deep}},
    });
    let [error] = errors_of(&undefined).try_into().unwrap();
    assert!(error.contains("undefined field 'z'"), "{error}");
}

#[test]
fn what_is_served_keeps_its_names_and_stored_versions() {
    let mut old = plain();
    reconcile(&mut old, &[], "2026-01-01T00:00:00Z");
    let mut new = old.clone();
    new["spec"]["scope"] = "Cluster".into();
    new["spec"]["versions"][0]["name"] = "v2".into();
    prepare(&mut new, Some(&old), false);
    let expected = [
        r#"spec.scope: Invalid value: "Cluster": field is immutable"#,
        r#"status.storedVersions[0]: Invalid value: "v1": missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions"#,
    ];
    assert_eq!(errors(&new, Some(&old)), expected);
    assert_eq!(new["metadata"]["generation"], 2);
}

#[test]
fn rules_without_limits_cost_too_much() {
    let at = "spec.validation.openAPIV3Schema.properties[f]";
    let hint = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are \
                declared)";
    let rules = |rules: &[&str]| rules.iter().map(|rule| json!({"rule": rule})).collect::<Json>();
    let texts = json!({"type": "string"});
    let one = |rule: &str, more: &[(&str, Json)]| {
        let mut list = json!({"type": "array", "items": texts, "x-kubernetes-validations": rules(&[rule])});
        list.as_object_mut()
            .unwrap()
            .extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        errors_of(&list)
    };
    let nested = "self.all(x, self.all(y, x == y))";
    assert_eq!(
        one("self.all(x, x.contains('a'))", &[]),
        [
            format!(
                "{at}.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x {hint}"
            ),
            format!(
                "{at}.x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
            ),
            format!(
                "spec.validation.openAPIV3Schema: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x {hint}"
            ),
        ]
    );
    assert_eq!(
        one(nested, &[("maxItems", json!(10)), ("items", json!({"type": "string", "maxLength": 20}))]),
        [""; 0]
    );
    // The cost of an item counts for the most items.
    let item = json!({"type": "integer", "x-kubernetes-validations": rules(&["self > 1"])});
    let list = |most: u32| json!({"type": "array", "maxItems": most, "items": item});
    assert_eq!(errors_of(&list(1_000_000)), [""; 0]);
    assert_eq!(
        errors_of(&list(6_000_000)),
        [format!(
            "{at}.items.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of 1.200000x {hint}"
        )]
    );
}
