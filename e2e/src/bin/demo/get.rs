//! The output of `kubectl get`: the API server's table, with its columns laid out.

use anyhow::Context as _;
use baton_e2e::table::lines;
use http::{HeaderValue, header::ACCEPT};
use kube::{
    Client, Resource,
    api::{ListParams, Request},
};
use serde::Deserialize;
use serde_json::Value;

/// The media type of a table.
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

/// The printed part of a `Table` of `meta.k8s.io`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Table {
    column_definitions: Vec<Column>,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Column {
    name: String,
    /// Above zero, it is only for `-o wide`.
    priority: i32,
}

#[derive(Deserialize)]
struct Row {
    cells: Vec<Value>,
}

/// The objects of a kind in a namespace, as lines.
pub(crate) async fn get<K: Resource<DynamicType = ()>>(
    client: &Client,
    namespace: &str,
) -> anyhow::Result<String> {
    let request = Request::new(K::url_path(&(), Some(namespace))).list(&ListParams::default());
    let mut request = request.context("a request for a list")?;
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static(TABLE));
    Ok(printed(&client.request(request).await?))
}

fn printed(table: &Table) -> String {
    let is_printed = |index: &usize| table.column_definitions[*index].priority == 0;
    let columns: Vec<usize> = (0..table.column_definitions.len()).filter(is_printed).collect();
    let header = columns.iter().map(|index| table.column_definitions[*index].name.to_uppercase()).collect();
    let row = |row: &Row| columns.iter().map(|index| text(row.cells.get(*index))).collect();
    let rows: Vec<Vec<String>> = std::iter::once(header).chain(table.rows.iter().map(row)).collect();
    lines(rows.iter().map(Vec::as_slice)).join("\n")
}

fn text(cell: Option<&Value>) -> String {
    match cell {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn columns_are_laid_out_without_those_of_wide_tables() {
        let table = json!({
            "columnDefinitions": [
                {"name": "Name", "priority": 0}, {"name": "Images", "priority": 1}, {"name": "Ready", "priority": 0},
                {"name": "Age", "priority": 0},
            ],
            "rows": [{"cells": ["web", "nginx", 3, "5s"]}, {"cells": ["web-canary", "nginx", null, "1s"]}],
        });
        assert_eq!(
            printed(&serde_json::from_value(table).unwrap()),
            "NAME         READY   AGE\nweb          3       5s\nweb-canary           1s"
        );
    }
}
