//! Columns of built-in kinds.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct Column {
    pub(crate) name: Cow<'static, str>,
    pub(crate) r#type: Cow<'static, str>,
    #[serde(default)]
    pub(crate) format: Cow<'static, str>,
    #[serde(default)]
    pub(crate) description: Cow<'static, str>,
    /// Zero for columns that are always shown, more for those of wide tables.
    #[serde(default)]
    pub(crate) priority: i64,
}

/// A column in the data.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Usual(Usual),
    Other(Column),
}

/// Columns of most kinds.
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Usual {
    Name,
    Age,
}

/// The columns of kinds with a printer, by kind and group.
static PRINTED: LazyLock<BTreeMap<String, Vec<Column>>> = LazyLock::new(|| {
    let written: BTreeMap<String, Vec<Written>> =
        serde_json::from_str(include_str!("../../data/columns.json")).unwrap_or_default();
    let read = |column| match column {
        Written::Usual(Usual::Name) => Column::new("Name", "string", "name", NAME),
        Written::Usual(Usual::Age) => Column::new("Age", "string", "", CREATED),
        Written::Other(column) => column,
    };
    written.into_iter().map(|(kind, columns)| (kind, columns.into_iter().map(read).collect())).collect()
});

pub(super) const NAME: &str = "Name must be unique within a namespace. Is required when creating resources, although some \
    resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended \
    for creation idempotence and configuration definition. Cannot be updated. More info: \
    https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";
pub(super) const CREATED: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. \
    It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is \
    represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: \
    https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

/// The columns of a built-in kind: its printer's, or name and creation time.
pub(crate) fn columns(group: &str, kind: &str) -> Cow<'static, [Column]> {
    match printed(group, kind) {
        Some(columns) => Cow::Borrowed(columns),
        None => Cow::Owned(vec![
            Column::new("Name", "string", "name", NAME),
            Column::new("Created At", "date", "", CREATED),
        ]),
    }
}

/// The columns of a kind with a printer.
pub(super) fn printed(group: &str, kind: &str) -> Option<&'static [Column]> {
    let key = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
    PRINTED.get(&key).map(Vec::as_slice)
}

impl Column {
    pub(super) fn new(
        name: &'static str,
        r#type: &'static str,
        format: &'static str,
        description: &'static str,
    ) -> Self {
        Self {
            name: Cow::Borrowed(name),
            r#type: Cow::Borrowed(r#type),
            format: Cow::Borrowed(format),
            description: Cow::Borrowed(description),
            priority: 0,
        }
    }
}
