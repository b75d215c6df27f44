//! Tables of an object, a list or a watch event, as in `meta.k8s.io`.

use baton_merge::value::Value;
use jiff::Timestamp;
use serde_json::{Map, Value as Json, json};

use super::access::{at, text};
use super::columns::{NAME, printed};
use super::{Column, CustomColumn, cells, columns, pod};
use crate::field::{FieldError, FieldPath};
use crate::kinds;

/// The object in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum IncludeObject {
    None,
    #[default]
    Metadata,
    Object,
}

/// Options of a table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableOptions {
    pub(crate) include: IncludeObject,
    /// False for the events of a watch after the first.
    pub(crate) has_columns: bool,
}

/// The source of rows.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rows<'s> {
    /// A built-in kind.
    BuiltIn { group: &'s str, kind: &'s str },
    /// A custom resource.
    Custom(&'s [CustomColumn]),
}

/// A requested table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TableRequest<'s> {
    /// The version of the table: `meta.k8s.io/v1` or `meta.k8s.io/v1beta1`.
    pub(crate) table_version: &'s str,
    /// The version and kind of the objects, which lists don't repeat.
    pub(crate) api_version: &'s str,
    pub(crate) kind: &'s str,
    pub(crate) rows: Rows<'s>,
    pub(crate) options: TableOptions,
}

impl IncludeObject {
    /// Parses the query's `includeObject`.
    pub(crate) fn parse(policy: &str) -> Result<Self, String> {
        match policy {
            "None" => Ok(Self::None),
            "" | "Metadata" => Ok(Self::Metadata),
            "Object" => Ok(Self::Object),
            other => {
                let detail = "must be 'Metadata', 'Object', 'None', or empty";
                let error = FieldError::invalid_text(&FieldPath::new("includeObject"), other, detail);
                Err(format!("Unable to convert to Table as requested: {error}"))
            }
        }
    }
}

impl Rows<'_> {
    fn columns(self) -> Vec<Column> {
        match self {
            Self::BuiltIn { group, kind } => columns(group, kind).into_owned(),
            Self::Custom(custom) => {
                let name = Column::new("Name", "string", "name", NAME);
                std::iter::once(name).chain(custom.iter().map(|custom| custom.column().clone())).collect()
            }
        }
    }

    fn cells(self, object: Value<'_>, now: Timestamp) -> Vec<Json> {
        match self {
            Self::BuiltIn { group, kind } => cells(group, kind, object, now),
            Self::Custom(custom) => {
                let name = json!(text(object, "metadata.name"));
                std::iter::once(name).chain(custom.iter().map(|custom| custom.cell(object, now))).collect()
            }
        }
    }
}

impl TableRequest<'_> {
    /// The table of one object.
    pub(crate) fn of_object(&self, object: Value<'_>, now: Timestamp) -> Json {
        let version = at(object, "metadata.resourceVersion");
        let metadata = version.map(|version| ("resourceVersion".to_owned(), json!(version)));
        self.table(&metadata.into_iter().collect(), &[object], now)
    }

    /// The table of a list with this metadata.
    pub(crate) fn of_list(&self, metadata: Value<'_>, items: &[Value<'_>], now: Timestamp) -> Json {
        let kept = ["resourceVersion", "continue", "remainingItemCount"].into_iter();
        let metadata = kept.filter_map(|name| Some((name.to_owned(), json!(at(metadata, name)?)))).collect();
        self.table(&metadata, items, now)
    }

    fn table(&self, metadata: &Map<String, Json>, objects: &[Value<'_>], now: Timestamp) -> Json {
        let rows: Vec<_> = objects.iter().map(|object| self.row(*object, now)).collect();
        // Without a printer, an empty list has null as its rows.
        let is_default = matches!(self.rows, Rows::BuiltIn { group, kind } if printed(group, kind).is_none());
        json!({
            "kind": "Table",
            "apiVersion": self.table_version,
            "metadata": metadata,
            "columnDefinitions": self.options.has_columns.then(|| self.rows.columns()),
            "rows": if is_default && rows.is_empty() { Json::Null } else { json!(rows) },
        })
    }

    fn row(&self, object: Value<'_>, now: Timestamp) -> Json {
        let mut row = json!({"cells": self.rows.cells(object, now), "object": self.object(object)});
        if let Rows::BuiltIn { group: "", kind: "Pod" } = self.rows {
            let conditions = pod::row_conditions(object);
            if !conditions.is_empty() {
                row["conditions"] = json!(conditions);
            }
        }
        row
    }

    fn object(&self, object: Value<'_>) -> Json {
        let annotations = at(object, "metadata.annotations");
        let ends_initial_events = annotations
            .and_then(|annotations| annotations.get("k8s.io/initial-events-end"))
            .is_some_and(|value| value.as_str() == Some("true"));
        match self.options.include {
            IncludeObject::Object => {
                let mut whole = json!(object);
                if let Some(members) = whole.as_object_mut() {
                    members.insert("apiVersion".to_owned(), json!(self.api_version));
                    members.insert("kind".to_owned(), json!(self.kind));
                }
                whole
            }
            IncludeObject::None if !ends_initial_events => Json::Null,
            IncludeObject::None | IncludeObject::Metadata => json!({
                "kind": "PartialObjectMetadata",
                "apiVersion": self.table_version,
                "metadata": kinds::plain_metadata(object.get("metadata").map_or_else(|| json!({}), |metadata| json!(metadata))),
            }),
        }
    }
}
