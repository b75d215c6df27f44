//! OpenAPI documents of custom resources.

use super::*;

fn apps() -> Json {
    let parameter = |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string"}});
    let meta = |name: &str| format!("{META}.{name}");
    json!({
        "paths": {
            TEMPLATE: {
                "parameters": [parameter("pretty")],
                "get": {"parameters": [parameter("limit"), parameter("resourceVersion")]},
                "post": {"parameters": [parameter("dryRun"), parameter("fieldValidation")]},
            },
            format!("{TEMPLATE}/{{name}}"): {
                "patch": {"parameters": [parameter("fieldValidation"), parameter("force")]},
            },
        },
        "components": {"schemas": {
            DEPLOYMENT: {"properties": {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}},
            meta("ObjectMeta"): {"type": "object", "properties": {"t": {"$ref": format!("{REFERENCE}{META}.Time")}}},
            meta("Time"): {"type": "string"}, meta("ListMeta"): {}, meta("Status"): {}, meta("Patch"): {},
            meta("DeleteOptions"): {}, meta("Unused"): {}, SCALE: {},
        }},
    })
}

fn definition() -> Json {
    json!({"spec": {
        "group": "example.com", "scope": "Namespaced",
        "names": {"plural": "shops", "kind": "Shop", "listKind": "ShopList"},
        "versions": [{"name": "v1", "subresources": {"status": {}}, "schema": {"openAPIV3Schema": {
            "type": "object", "properties": {"port": {"x-kubernetes-int-or-string": true}},
        }}}],
    }})
}

#[test]
fn the_document_describes_paths_and_types() {
    let document = document("v1", &[&definition()], &apps());
    let paths: Vec<_> = document["paths"].as_object().unwrap().keys().collect();
    let root = "/apis/example.com/v1/namespaces/{namespace}/shops";
    let object = format!("{root}/{{name}}");
    let status = format!("{object}/status");
    assert_eq!(
        paths,
        ["/apis/example.com/v1/namespaces/{namespace}/shops", &object, &status, "/apis/example.com/v1/shops"]
    );
    let patch = &document["paths"][&object]["patch"];
    assert_eq!(patch["operationId"], "patchExampleComV1NamespacedShop");
    assert_eq!(patch["parameters"][0]["name"], "fieldValidation");
    assert_eq!(
        patch["x-kubernetes-group-version-kind"],
        json!({"group": "example.com", "version": "v1", "kind": "Shop"})
    );
    assert_eq!(document["paths"][&status]["get"]["description"], "read status of the specified Shop");
    let names: Vec<_> = document["components"]["schemas"].as_object().unwrap().keys().collect();
    let meta = ["DeleteOptions", "ListMeta", "ObjectMeta", "Patch", "Status", "Time"]
        .map(|name| format!("{META}.{name}"));
    let mut expected = vec!["com.example.v1.Shop".to_owned(), "com.example.v1.ShopList".to_owned()];
    expected.extend(meta);
    let mut names: Vec<_> = names.into_iter().cloned().collect();
    names.sort();
    assert_eq!(names, expected);
    let port = &document["components"]["schemas"]["com.example.v1.Shop"]["properties"]["port"];
    assert_eq!(port["anyOf"], json!([{"type": "integer"}, {"type": "string"}]));
}

#[test]
fn the_merge_core_reads_the_document() {
    let document = document("v1", &[&definition()], &apps());
    baton_merge::schema::openapi::parse(&document).unwrap();
}
