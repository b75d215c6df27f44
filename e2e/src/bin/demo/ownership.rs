//! The owners of an object's fields, read from its `managedFields` and shortened for people.

use baton_apply::{LiveObject, ManagedFieldsEntry};
use baton_merge::{Arena, fieldpath::Path};

use baton_e2e::Table;

/// The most interesting fields, by the end of their path, in the order in which they are shown.
const WORTH_SHOWING: [&str; 9] = [
    ".spec.replicas",
    ".image",
    ".spec.selector",
    ".port",
    ".spec.minReplicas",
    ".spec.maxReplicas",
    ".spec.maxUnavailable",
    ".status.readyReplicas",
    ".status.disruptionsAllowed",
];

/// The longest path that is shown whole, and the shown end of a longer one, in elements.
const WHOLE: usize = 4;
const END: usize = 2;

/// How the manager of an entry of `managedFields` wrote: `Apply`, `Update scale`.
pub(crate) fn how(entry: &ManagedFieldsEntry<'_>) -> String {
    [entry.operation(), entry.subresource().unwrap_or_default()].join(" ").trim_end().to_owned()
}

/// The owners of an object, with the number of their fields and the most interesting ones. Fields that can't be read aren't
/// counted.
pub(crate) fn table(object: &LiveObject) -> Table<4> {
    let mut table = Table::new(["FIELD MANAGER", "BY", "FIELDS", "AMONG THEM"]);
    for entry in object.managed_fields() {
        let arena = Arena::new();
        let fields = entry.fields(&arena).unwrap_or_default();
        let paths = fields.paths(&arena);
        let ending_with = |end: &&str| paths.iter().find(|path| path.to_string().ends_with(end)).map(short);
        let mut highlights = WORTH_SHOWING.iter().filter_map(ending_with);
        let first = highlights.next().unwrap_or_default();
        table.row([entry.manager().to_owned(), how(&entry), fields.len().to_string(), first]);
        for path in highlights {
            table.row([String::new(), String::new(), String::new(), path]);
        }
    }
    table
}

/// A path with its middle left out if it is long: `.spec…[name="app"].image`.
fn short(path: &Path<'_>) -> String {
    let elements = path.elements();
    if elements.len() <= WHOLE {
        return path.to_string();
    }
    let (first, last) = (&elements[..1], &elements[elements.len() - END..]);
    let part = |elements: &[_]| Path::new(elements).to_string();
    format!("{}…{}", part(first), part(last).trim_start_matches('.'))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn deployment() -> LiveObject {
        let entry = |manager: &str, operation: &str, subresource: Option<&str>, fields: &Value| {
            json!({
                "manager": manager, "operation": operation, "subresource": subresource, "apiVersion": "apps/v1",
                "fieldsType": "FieldsV1", "fieldsV1": fields,
            })
        };
        let containers = json!({"k:{\"name\":\"app\"}": {".": {}, "f:name": {}, "f:image": {}}});
        let batons =
            json!({"f:spec": {"f:template": {"f:spec": {"f:containers": containers}}, "f:replicas": {}}});
        let managed_fields = [
            entry("baton", "Apply", None, &batons),
            entry(
                "kube-controller-manager",
                "Update",
                Some("status"),
                &json!({"f:status": {"f:readyReplicas": {}}}),
            ),
        ];
        serde_json::from_value(json!({"metadata": {"name": "web", "managedFields": managed_fields}})).unwrap()
    }

    #[test]
    fn each_owner_is_shown_with_its_number_of_fields_and_the_most_interesting_ones() {
        let (_, rows) = table(&deployment()).lines();
        assert_eq!(
            rows,
            [
                "baton                     Apply           4        .spec.replicas",
                r#"                                                   .spec…[name="app"].image"#,
                "kube-controller-manager   Update status   1        .status.readyReplicas",
            ]
        );
    }
}
