//! Who owns what of an object, read from its `managedFields` and shortened for eyes. It asks no server.

use baton_apply::LiveObject;
use baton_merge::{
    Arena,
    fieldpath::{FieldSet, Path},
};
use serde_json::Value;

use crate::table::Table;

/// What people look for first, by the end of the path, in the order in which it is shown.
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

/// The longest path that is shown whole, in elements.
const WHOLE: usize = 4;

/// One entry of `managedFields`.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    /// The field manager's name.
    pub(crate) manager: String,
    /// `Apply` or `Update`.
    pub(crate) operation: String,
    /// The subresource through which it wrote, if any.
    pub(crate) subresource: Option<String>,
    /// What it owns, as FieldsV1.
    fields: Option<Value>,
}

impl Owner {
    /// How it wrote: `Apply`, `Update scale`.
    pub(crate) fn how(&self) -> String {
        [&*self.operation, self.subresource.as_deref().unwrap_or_default()].join(" ").trim_end().to_owned()
    }

    /// The paths that are worth showing, shortened.
    fn highlights(&self) -> Vec<String> {
        let arena = Arena::new();
        let paths = self.fields(&arena).paths(&arena);
        let ending_with = |end: &&str| paths.iter().find(|path| path.to_string().ends_with(end)).map(short);
        WORTH_SHOWING.iter().filter_map(ending_with).collect()
    }

    /// What it owns. Fields that can't be read count as none.
    fn fields<'a>(&'a self, arena: &'a Arena) -> FieldSet<'a> {
        let fields = self.fields.as_ref().and_then(|fields| FieldSet::from_fields_v1(arena, fields).ok());
        fields.unwrap_or_default()
    }
}

/// The entries of an object's `managedFields`, in their order.
pub(crate) fn owners(object: &LiveObject) -> Vec<Owner> {
    let text = |entry: &Value, member: &str| entry[member].as_str().map(str::to_owned);
    let read = |entry: &Value| Owner {
        manager: text(entry, "manager").unwrap_or_default(),
        operation: text(entry, "operation").unwrap_or_default(),
        subresource: text(entry, "subresource"),
        fields: entry.get("fieldsV1").cloned(),
    };
    object.managed_fields().iter().map(read).collect()
}

/// Those who own this very path, such as `baton (Apply)`.
pub(crate) fn owners_of(object: &LiveObject, path: &Path<'_>) -> Vec<String> {
    let arena = Arena::new();
    let owns = |owner: &Owner| owner.fields(&arena).contains(path);
    owners(object)
        .iter()
        .filter(|owner| owns(owner))
        .map(|owner| format!("{} ({})", owner.manager, owner.how()))
        .collect()
}

/// The owners with the number of their fields and those worth showing, a line each.
pub(crate) fn table(owners: &[Owner]) -> Table<4> {
    let mut table = Table::new(["FIELD MANAGER", "BY", "FIELDS", "AMONG THEM"]);
    for owner in owners {
        let count = owner.fields(&Arena::new()).len();
        let mut highlights = owner.highlights().into_iter();
        let first = highlights.next().unwrap_or_default();
        table.row([owner.manager.clone(), owner.how(), count.to_string(), first]);
        for path in highlights {
            table.row([String::new(), String::new(), String::new(), path]);
        }
    }
    table
}

/// A path with its middle left out if it is long: `.spec…containers[name="app"].image`.
fn short(path: &Path<'_>) -> String {
    let elements = path.elements();
    if elements.len() <= WHOLE {
        return path.to_string();
    }
    let (first, last) = (&elements[..1], &elements[elements.len() - WHOLE + 1..]);
    let part = |elements: &[_]| Path::new(elements).to_string();
    format!("{}…{}", part(first), part(last).trim_start_matches('.'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

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
    fn each_owner_is_shown_with_its_number_of_fields_and_what_people_look_for() {
        let owners = owners(&deployment());
        let (_, rows) = table(&owners).lines();
        assert_eq!(
            rows,
            [
                "baton                     Apply           4        .spec.replicas",
                r#"                                                   .spec…containers[name="app"].image"#,
                "kube-controller-manager   Update status   1        .status.readyReplicas",
            ]
        );
    }

    #[test]
    fn the_owners_of_a_path_are_those_of_this_very_path() {
        let arena = Arena::new();
        let owner = |fields: &[&'static str]| {
            owners_of(&deployment(), &Path::of_fields(&arena, fields.iter().copied()))
        };
        assert_eq!(owner(&["spec", "replicas"]), ["baton (Apply)"]);
        assert_eq!(owner(&["status", "readyReplicas"]), ["kube-controller-manager (Update status)"]);
        assert_eq!(owner(&["spec"]), [""; 0]);
    }
}
