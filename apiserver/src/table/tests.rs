//! Tables, compared with the cells of the server's own printers in `rows.json`.

use baton_merge::{Arena, schema::kinds::GroupVersionKind, value::Value};
use jiff::Timestamp;
use serde_json::{Value as Json, json};

use super::kinds::{OWN_ROWS, ROWS};
use super::{CustomColumn, IncludeObject, Rows, TableOptions, TableRequest, cells, columns};

/// The time of `rows.json`.
fn now() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

#[test]
fn a_row_has_the_cells_that_the_server_prints() {
    let rows: Vec<Json> = serde_json::from_str(include_str!("rows.json")).unwrap();
    let arena = Arena::new();
    let mut wrong = Vec::new();
    for row in &rows {
        let object = Value::from_json(&arena, &row["object"]).unwrap();
        let version = row["object"]["apiVersion"].as_str().unwrap();
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        let kind = row["object"]["kind"].as_str().unwrap();
        let gvk = GroupVersionKind::new(group, version, kind);
        let group = crate::kinds::convert::stored_as(&gvk).group;
        let object = crate::kinds::convert::to_stored(&arena, &gvk, object);
        let made = Json::Array(cells(&group, kind, object, now()));
        if made != row["cells"] {
            wrong.push(format!("{}\n  made     {made}\n  expected {}", row["object"], row["cells"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_kind_with_a_printer_has_a_cell_for_each_column_and_an_example() {
    let rows: Vec<Json> = serde_json::from_str(include_str!("rows.json")).unwrap();
    let rows_by_cell = ROWS.iter().map(|(group, kind, _)| (*group, *kind));
    for (group, kind) in rows_by_cell.chain(OWN_ROWS.map(|(group, kind, _)| (group, kind))) {
        // The printer of addresses makes one cell too many.
        let extra = usize::from(kind == "IPAddress");
        let made = cells(group, kind, Value::Null, now());
        assert_eq!(made.len(), columns(group, kind).len() + extra, "{kind}");
        assert!(rows.iter().any(|row| row["object"]["kind"] == kind), "{kind} has no example");
    }
}

fn request(rows: Rows<'_>, include: IncludeObject) -> TableRequest<'_> {
    let options = TableOptions { include, has_columns: false };
    TableRequest { table_version: "meta.k8s.io/v1", api_version: "v1", kind: "Pod", rows, options }
}

#[test]
fn a_kind_without_a_printer_shows_its_name_and_when_it_was_made() {
    let arena = Arena::new();
    let json =
        r#"{"metadata":{"name":"view","creationTimestamp":"2026-01-01T00:00:00Z","resourceVersion":"7"}}"#;
    let role = Value::from_text(&arena, json).unwrap();
    let group = "rbac.authorization.k8s.io";
    let rows = Rows::BuiltIn { group, kind: "Role" };
    let mut request = request(rows, IncludeObject::None);
    request.options.has_columns = true;
    let table = request.of_object(role, now());
    let names: Vec<_> = table["columnDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| (&column["name"], &column["type"]))
        .collect();
    assert_eq!(json!(names), json!([["Name", "string"], ["Created At", "date"]]));
    assert_eq!(table["rows"], json!([{"cells": ["view", "2026-01-01T00:00:00Z"], "object": null}]));
    assert_eq!(table["metadata"], json!({"resourceVersion": "7"}));
    assert_eq!(request.of_list(Value::Null, &[], now())["rows"], Json::Null);
}

#[test]
fn a_row_goes_with_as_much_of_its_object_as_is_asked_for() {
    let arena = Arena::new();
    let pod = r#"{"metadata":{"name":"web"},"status":{"phase":"Failed"}}"#;
    let pod = Value::from_text(&arena, pod).unwrap();
    let list = r#"{"resourceVersion":"9","continue":"c","remainingItemCount":3}"#;
    let list = Value::from_text(&arena, list).unwrap();
    let rows = Rows::BuiltIn { group: "", kind: "Pod" };
    let partial =
        json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": {"name": "web"}});
    let whole = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "status": {"phase": "Failed"}});
    for (policy, object) in
        [("None", Json::Null), ("", partial.clone()), ("Metadata", partial.clone()), ("Object", whole)]
    {
        let table = request(rows, IncludeObject::parse(policy).unwrap()).of_list(list, &[pod], now());
        assert_eq!(table["rows"][0]["object"], object, "{policy}");
        assert_eq!(
            table["metadata"],
            json!({"resourceVersion": "9", "continue": "c", "remainingItemCount": 3})
        );
        assert_eq!(table["columnDefinitions"], Json::Null);
        assert_eq!(
            table["rows"][0]["conditions"],
            json!([{"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."}])
        );
    }
    let bookmark = r#"{"metadata":{"annotations":{"k8s.io/initial-events-end":"true"}}}"#;
    let bookmark = Value::from_text(&arena, bookmark).unwrap();
    let table = request(rows, IncludeObject::None).of_object(bookmark, now());
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    assert_eq!(
        IncludeObject::parse("All").unwrap_err(),
        "Unable to convert to Table as requested: includeObject: Invalid value: \"All\": must be 'Metadata', 'Object', \
         'None', or empty"
    );
}

#[test]
fn a_custom_resource_shows_the_columns_of_its_crd() {
    let arena = Arena::new();
    let object = r#"{"metadata":{"name":"web","creationTimestamp":"2025-12-31T23:59:00Z","labels":{"a.b/c":"l"}},
        "spec":{"size":3,"ratio":1.5,"on":true,"none":null,"text":{"a":"<x>"},"parts":[{"name":"x"},{"name":"y"}]},
        "status":{"conditions":[{"type":"Synced","status":"False"},{"type":"Ready","status":"True"}]}}"#;
    let object = Value::from_text(&arena, object).unwrap();
    let shown = |columns: &str| {
        let version = format!(r#"{{"additionalPrinterColumns":{columns}}}"#);
        let custom = CustomColumn::of_version(Value::from_text(&Arena::new(), &version).unwrap());
        let mut request = request(Rows::Custom(&custom), IncludeObject::None);
        request.options.has_columns = true;
        request.of_object(object, now())
    };
    for (kind, path, cell) in [
        ("integer", ".spec.size", json!(3)),
        ("integer", ".spec.ratio", json!(1)),
        ("number", ".spec.ratio", json!(1.5)),
        ("boolean", ".spec.on", json!(true)),
        ("boolean", ".spec.size", Json::Null),
        ("string", ".spec.size", json!("3")),
        ("string", ".spec.parts", json!(r#"[{"name":"x"},{"name":"y"}]"#)),
        ("string", ".spec.parts[1].name", json!("y")),
        ("string", ".spec.parts[*].name", json!("x")),
        ("string", ".spec.missing", Json::Null),
        ("string", r".metadata.labels.a\\.b/c", json!("l")),
        ("string", r".metadata.labels['a\\.b/c']", json!("l")),
        ("string", ".metadata.labels['a.b/c']", Json::Null),
        ("string", ".spec.none", json!("<no value>")),
        ("string", ".spec.text", json!(r#"{"a":"\u003cx\u003e"}"#)),
        ("string", "spec.size", Json::Null),
        ("string", r#".status.conditions[?(@.type!=\"Ready\")].status"#, json!("False")),
        ("string", r#".status.conditions[?(@.type==\"Ready\")].status"#, json!("True")),
        ("string", ".status.conditions[?(@.type=='Gone')].status", Json::Null),
        ("date", ".metadata.creationTimestamp", json!("60s")),
        ("date", ".metadata.name", json!("<invalid>")),
    ] {
        let table = shown(&format!(r#"[{{"name":"C","type":"{kind}","jsonPath":"{path}","priority":1}}]"#));
        assert_eq!(table["rows"][0]["cells"], json!(["web", cell]), "{path}");
    }
    let column = json!({"name": "S", "type": "integer", "format": "", "priority": 0,
        "description": "Custom resource definition column (in JSONPath format): .spec.size"});
    let columns = &shown(r#"[{"name":"S","type":"integer","jsonPath":".spec.size"}]"#)["columnDefinitions"];
    assert_eq!(columns[1], column);
    assert_eq!(shown("[]")["rows"][0]["cells"], json!(["web", "60s"]), "without columns it shows the age");
}
