//! Owned fields that an object doesn't have.

use baton_merge::{
    Arena,
    fieldpath::{FieldSet, Path, PathElement},
    value::{Value, ValueError},
};

use crate::{LiveObject, find::Finder};

/// Visits the fields that managers own in this version of the API although the object doesn't have them: each with the manager, and the
/// uppermost part of its path that is absent.
///
/// A write that removes a field ends its ownership. Owners of absent fields come from: a CRD that lacks a field, since the API server
/// returns the object without the field and stores it so with the next write; mutating admission that removes a field; and the creation of
/// an object with `managedFields`. A field with a default in the schema isn't absent: once the CRD has it again, the object
/// has its default.
///
/// ```
/// use baton_apply::{LiveObject, ownership::absent_fields};
/// use serde_json::json;
///
/// let live = LiveObject::from_json(json!({
///     "metadata": {"managedFields": [{"manager": "me", "operation": "Apply", "apiVersion": "example.com/v1",
///         "fieldsV1": {"f:spec": {"f:replicas": {}, "f:service": {"f:port": {}}}}}]},
///     "spec": {"replicas": 1},
/// }))?;
/// absent_fields(&live, "example.com/v1", |manager, path| {
///     assert_eq!((manager, path.to_string().as_str()), ("me", ".spec.service"));
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When the object isn't JSON that the merge core can read.
pub fn absent_fields(
    live: &LiveObject,
    api_version: &str,
    mut found: impl FnMut(&str, Path<'_>),
) -> Result<(), ValueError> {
    let arena = Arena::new();
    let (value, entries) = (live.value(&arena)?, live.current_entries());
    let finder = Finder::new(value);
    for entry in entries.iter().filter(|entry| entry.api_version() == api_version) {
        let owned = entry.fields(&arena).unwrap_or_default();
        visit(&finder, value, owned, &mut Vec::new(), &mut |elements| {
            found(entry.manager(), Path::new(elements));
        });
    }
    Ok(())
}

/// The fields among these that the object has no value for, such as a Secret's `stringData` or a `paused: false`: an applier owns them,
/// and no intent made from the object has them.
///
/// # Errors
/// When the object isn't JSON that the merge core can read.
pub fn fields_without_value<'a>(
    arena: &'a Arena,
    live: &'a LiveObject,
    fields: FieldSet<'a>,
) -> Result<FieldSet<'a>, ValueError> {
    let finder = Finder::new(live.value(arena)?);
    let paths = fields.paths(arena).into_iter().filter(|path| finder.find(*path).is_none());
    Ok(FieldSet::of_paths(arena, paths))
}

/// Visits the uppermost paths of a set that a value doesn't have.
fn visit<'a>(
    finder: &Finder<'a>,
    value: Value<'a>,
    owned: FieldSet<'a>,
    above: &mut Vec<PathElement<'a>>,
    found: &mut impl FnMut(&[PathElement<'a>]),
) {
    for branch in owned.branches() {
        above.push(branch.element);
        match finder.part(value, branch.element) {
            Some(part) => visit(finder, part, branch.below, above, found),
            None => found(above),
        }
        above.pop();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn absent(fields: &Json, spec: &Json) -> Vec<String> {
        let entry = |fields: &Json| json!({"manager": "me", "operation": "Apply", "apiVersion": "v1", "fieldsV1": {"f:spec": fields}});
        // Of entries with the same identity the last one counts.
        let entries = [entry(&json!({"f:never": {}})), entry(fields)];
        let live = json!({"metadata": {"managedFields": entries}, "spec": spec});
        let live = LiveObject::from_json(live).unwrap();
        absent_fields(&live, "v2", |_, path| panic!("{path}")).unwrap();
        let mut absent = Vec::new();
        absent_fields(&live, "v1", |_, path| absent.push(path.to_string())).unwrap();
        absent
    }

    #[test]
    fn the_uppermost_part_that_is_absent_is_found() {
        let ports = json!({"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:name": {}, "f:port": {}}}});
        let port = |port: Json| json!({"ports": [{"port": 443}, port]});
        for (spec, expected) in [
            (port(json!({"port": 80, "protocol": "TCP", "name": "http"})), vec![]),
            (port(json!({"port": 80, "name": null})), vec![]),
            (port(json!({"port": 80})), vec![r#".spec.ports[port=80,protocol="TCP"].name"#]),
            (
                port(json!({"port": 80, "protocol": "UDP", "name": "http"})),
                vec![r#".spec.ports[port=80,protocol="TCP"]"#],
            ),
            (json!({}), vec![".spec.ports"]),
            (json!(null), vec![".spec.ports"]),
        ] {
            assert_eq!(absent(&ports, &spec), expected, "{spec}");
        }
        let set = json!({"f:set": {"v:\"a\"": {}, "v:\"b\"": {}}, "f:empty": {}});
        assert_eq!(absent(&set, &json!({"set": ["b"], "empty": {}})), [r#".spec.set[="a"]"#]);
    }
}
