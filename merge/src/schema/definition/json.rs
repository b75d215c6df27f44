//! The JSON form of a schema definition, in upstream's member names.
//!
//! It refuses the same as `typed.NewParser` by its schema of schemas: unknown members, wrong types, two types or fields of
//! one name. Besides, unknown names (of a scalar or a relationship) are refused here, where
//! upstream fails when it meets a value. `untyped` and `unions` are let through and mean nothing, as upstream.

use serde_json::{Map, Value};

use super::{
    AtomDefinition, FieldDefinition, ListDefinition, MapDefinition, Relationship, Scalar, SchemaDefinition,
    TypeDefinition, TypeReference,
};
use crate::schema::at::{At, present};
use crate::schema::error::{Problem, SchemaError};

type Result<T> = std::result::Result<T, SchemaError>;
type Object = Map<String, Value>;

const ATOM: [&str; 4] = ["scalar", "list", "map", "untyped"];
const TYPE: &[&str] = &["name", ATOM[0], ATOM[1], ATOM[2], ATOM[3]];
const REFERENCE: &[&str] =
    &["namedType", "elementRelationship", "nullable", ATOM[0], ATOM[1], ATOM[2], ATOM[3]];
const SCALARS: &[&str] = &["numeric", "string", "boolean", "untyped"];
const RELATIONSHIPS: &[&str] = &["associative", "atomic", "separable"];

impl SchemaDefinition {
    /// Reads a definition from JSON: `{"types": [{"name": …, "map": {"fields": […]}}]}`. YAML works as well, parsed
    /// into a JSON value first.
    ///
    /// # Errors
    /// When the form isn't upstream's; references to types that don't exist are found when it is compiled.
    ///
    /// ```
    /// use baton_merge::schema::definition::SchemaDefinition;
    ///
    /// let definition = SchemaDefinition::from_json(&serde_json::json!({
    ///     "types": [{"name": "replicas", "scalar": "numeric"}],
    /// }))?;
    /// assert_eq!(definition.types[0].name, "replicas");
    /// # Ok::<(), baton_merge::schema::SchemaError>(())
    /// ```
    pub fn from_json(value: &Value) -> Result<Self> {
        let at = At::root("$");
        if value.is_null() {
            return Ok(Self::default());
        }
        let object = members(value, &at, &["types"])?;
        Ok(Self { types: named_list(object, "types", "types", &at, read_type, |each| &each.name)? })
    }

    /// Writes the definition as [`from_json`](Self::from_json) reads it; what is empty is left out.
    pub fn to_json(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

fn members<'v>(value: &'v Value, at: &At<'_>, known: &'static [&'static str]) -> Result<&'v Object> {
    at.check_depth()?;
    let object = at.object(value)?;
    match object.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(at.error(Problem::UnknownMember { name: name.clone(), known })),
        None => Ok(object),
    }
}

/// A list whose items are identified by `name`: it must be there and may not be there twice.
fn named_list<T>(
    object: &Object,
    member: &str,
    what: &'static str,
    at: &At<'_>,
    read: fn(&Value, &At<'_>) -> Result<T>,
    name: fn(&T) -> &str,
) -> Result<Vec<T>> {
    let Some(value) = present(object, member) else { return Ok(Vec::new()) };
    let at = at.member(member);
    let mut seen = std::collections::BTreeSet::new();
    let mut items = Vec::new();
    for (index, value) in at.list(value)?.iter().enumerate() {
        let at = at.index(index);
        let item = read(value, &at)?;
        if !seen.insert(name(&item).to_owned()) {
            return Err(at.error(Problem::Duplicate { what, name: name(&item).to_owned() }));
        }
        items.push(item);
    }
    Ok(items)
}

/// A name must be there; null is the empty one.
fn read_name(object: &Object, member: &'static str, at: &At<'_>) -> Result<String> {
    match object.get(member) {
        None => Err(at.error(Problem::Missing(member))),
        Some(name) => text_or_null(name, &at.member(member)),
    }
}

fn text_or_null(value: &Value, at: &At<'_>) -> Result<String> {
    if value.is_null() { Ok(String::new()) } else { Ok(at.text(value)?.to_owned()) }
}

fn read_type(value: &Value, at: &At<'_>) -> Result<TypeDefinition> {
    let object = members(value, at, TYPE)?;
    Ok(TypeDefinition { name: read_name(object, "name", at)?, atom: read_atom(object, at)? })
}

fn read_atom(object: &Object, at: &At<'_>) -> Result<AtomDefinition> {
    if let Some(untyped) = present(object, "untyped") {
        read_relationship(members(untyped, &at.member("untyped"), &["elementRelationship"])?, at)?;
    }
    Ok(AtomDefinition {
        scalar: present(object, "scalar")
            .map(|value| read_scalar(value, &at.member("scalar")))
            .transpose()?,
        list: present(object, "list").map(|value| read_list(value, &at.member("list"))).transpose()?,
        map: present(object, "map").map(|value| read_map(value, &at.member("map"))).transpose()?,
    })
}

fn read_scalar(value: &Value, at: &At<'_>) -> Result<Scalar> {
    Ok(match at.text(value)? {
        "numeric" => Scalar::Numeric,
        "string" => Scalar::String,
        "boolean" => Scalar::Boolean,
        "untyped" => Scalar::Untyped,
        _ => return at.refuse_word("scalar", value, SCALARS),
    })
}

fn read_relationship(object: &Object, at: &At<'_>) -> Result<Option<Relationship>> {
    let Some(value) = present(object, "elementRelationship") else { return Ok(None) };
    let at = at.member("elementRelationship");
    Ok(match at.text(value)? {
        // As upstream writes none.
        "" => None,
        "associative" => Some(Relationship::Associative),
        "atomic" => Some(Relationship::Atomic),
        "separable" => Some(Relationship::Separable),
        _ => return at.refuse_word("relationship", value, RELATIONSHIPS),
    })
}

fn read_reference(object: &Object, member: &str, at: &At<'_>) -> Result<TypeReference> {
    let Some(value) = present(object, member) else { return Ok(TypeReference::default()) };
    let at = at.member(member);
    let object = members(value, &at, REFERENCE)?;
    let atom = read_atom(object, &at)?;
    // Servers from 1.37 on say it, and it means nothing to a merge.
    if let Some(nullable) = present(object, "nullable") {
        at.member("nullable").flag(nullable)?;
    }
    Ok(TypeReference {
        named: present(object, "namedType")
            .map(|name| Ok(at.member("namedType").text(name)?.to_owned()))
            .transpose()?,
        inlined: (atom != AtomDefinition::default()).then(|| Box::new(atom)),
        relationship: read_relationship(object, &at)?,
    })
}

fn read_list(value: &Value, at: &At<'_>) -> Result<ListDefinition> {
    let object = members(value, at, &["elementType", "elementRelationship", "keys"])?;
    let mut keys = Vec::new();
    if let Some(value) = present(object, "keys") {
        let at = at.member("keys");
        for (index, key) in at.list(value)?.iter().enumerate() {
            keys.push(text_or_null(key, &at.index(index))?);
        }
    }
    Ok(ListDefinition {
        element_type: read_reference(object, "elementType", at)?,
        relationship: read_relationship(object, at)?,
        keys,
    })
}

fn read_map(value: &Value, at: &At<'_>) -> Result<MapDefinition> {
    let object = members(value, at, &["fields", "unions", "elementType", "elementRelationship"])?;
    check_unions(object, at)?;
    Ok(MapDefinition {
        fields: match present(object, "fields") {
            None => None,
            Some(_) => Some(named_list(object, "fields", "fields", at, read_field, |each| &each.name)?),
        },
        element_type: read_reference(object, "elementType", at)?,
        relationship: read_relationship(object, at)?,
    })
}

/// Unions mean nothing any more, but schemas that have them are checked as upstream checks them.
fn check_unions(object: &Object, at: &At<'_>) -> Result<()> {
    let Some(unions) = present(object, "unions") else { return Ok(()) };
    let at = at.member("unions");
    for (index, union) in at.list(unions)?.iter().enumerate().filter(|(_, union)| !union.is_null()) {
        let at = at.index(index);
        let union = members(union, &at, &["discriminator", "deduceInvalidDiscriminator", "fields"])?;
        present(union, "discriminator").map(|value| at.member("discriminator").text(value)).transpose()?;
        let deduce = "deduceInvalidDiscriminator";
        present(union, deduce).map(|value| at.member(deduce).flag(value)).transpose()?;
        named_list(union, "fields", "fields", &at, read_union_field, String::as_str)?;
    }
    Ok(())
}

fn read_union_field(value: &Value, at: &At<'_>) -> Result<String> {
    let object = members(value, at, &["fieldName", "discriminatorValue"])?;
    let value = "discriminatorValue";
    present(object, value).map(|text| at.member(value).text(text)).transpose()?;
    read_name(object, "fieldName", at)
}

fn read_field(value: &Value, at: &At<'_>) -> Result<FieldDefinition> {
    let object = members(value, at, &["name", "type", "default"])?;
    Ok(FieldDefinition {
        name: read_name(object, "name", at)?,
        type_reference: read_reference(object, "type", at)?,
        default: present(object, "default").cloned(),
    })
}

#[cfg(test)]
// Tests hand over what `json!` makes, without an `&` before each.
#[allow(clippy::needless_pass_by_value)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::at::nested;

    fn error_of(value: Value) -> String {
        SchemaDefinition::from_json(&value).unwrap_err().to_string()
    }

    #[test]
    fn every_member_is_read_and_written() {
        let schema = json!({"types": [
            {"name": "pod", "map": {
                "fields": [
                    {"name": "ports", "type": {"list": {
                        "elementType": {"namedType": "port", "elementRelationship": "atomic"},
                        "elementRelationship": "associative",
                        "keys": ["port", "protocol"],
                    }}, "default": [{"port": 80}]},
                    {"name": "free"},
                ],
                "elementType": {"scalar": "untyped"},
                "elementRelationship": "separable",
            }},
            {"name": "port", "map": {"fields": []}},
            {"name": "any", "scalar": "boolean", "list": {}, "map": {}},
        ]});
        assert_eq!(SchemaDefinition::from_json(&schema).unwrap().to_json(), schema);
    }

    #[test]
    fn no_fields_differ_from_an_empty_list_of_them() {
        let schema =
            json!({"types": [{"name": "a", "map": {"fields": []}}, {"name": "b", "map": {"fields": null}}]});
        let types = SchemaDefinition::from_json(&schema).unwrap().types;
        let fields = |index: usize| types[index].atom.map.as_ref().unwrap().fields.clone();
        assert_eq!((fields(0), fields(1)), (Some(Vec::new()), None));
    }

    #[test]
    fn unions_and_untyped_are_accepted_and_ignored() {
        let schema = json!({"types": [
            {"name": "a", "map": {"unions": [{"discriminator": "d"}]}, "untyped": {"elementRelationship": "atomic"}},
        ]});
        let read = SchemaDefinition::from_json(&schema).unwrap();
        assert_eq!(read.to_json(), json!({"types": [{"name": "a", "map": {}}]}));
    }

    #[test]
    fn nullable_is_accepted_and_ignored() {
        let of = |nullable: Value| json!({"types": [{"name": "a", "map": {"elementType": {"namedType": "b", "nullable": nullable}}}]});
        let read = SchemaDefinition::from_json(&of(true.into())).unwrap();
        assert_eq!(
            read.to_json(),
            json!({"types": [{"name": "a", "map": {"elementType": {"namedType": "b"}}}]})
        );
        assert!(error_of(of(1.into())).contains("expected a boolean"));
    }

    #[test]
    fn unions_are_checked() {
        let with = |union: Value| json!({"types": [{"name": "a", "map": {"unions": [union]}}]});
        let error = error_of(with(json!({"fields": [{"fieldName": "b"}, {"fieldName": "b"}]})));
        assert!(error.contains("two fields called \"b\""), "{error}");
        assert!(error_of(with(json!({"on": "b"}))).contains("no member \"on\""));
        assert!(error_of(with(json!({"deduceInvalidDiscriminator": "yes"}))).contains("expected a boolean"));
    }

    #[test]
    fn null_is_the_empty_schema() {
        assert_eq!(SchemaDefinition::from_json(&Value::Null), Ok(SchemaDefinition::default()));
        assert_eq!(SchemaDefinition::from_json(&json!({"types": null})), Ok(SchemaDefinition::default()));
    }

    #[test]
    fn an_unknown_member_is_refused_with_its_place() {
        assert_eq!(
            error_of(json!({"types": [{"name": "a", "list": {"elementtype": {}}}]})),
            "$.types[0].list: there is no member \"elementtype\" here; \
             the members are elementType, elementRelationship, keys",
        );
    }

    #[test]
    fn a_name_must_be_there_once() {
        assert_eq!(error_of(json!({"types": [{}]})), "$.types[0]: the member \"name\" is missing");
        let twice = json!({"types": [{"name": "a"}, {"name": "a"}]});
        assert_eq!(error_of(twice), "$.types[1]: there are two types called \"a\"; rename or remove one");
        let twice = json!({"types": [{"name": "a", "map": {"fields": [{"name": "f"}, {"name": "f"}]}}]});
        assert!(error_of(twice).contains("two fields called \"f\""));
    }

    #[test]
    fn words_without_a_meaning_are_refused() {
        assert_eq!(
            error_of(json!({"types": [{"name": "a", "scalar": "text"}]})),
            "$.types[0].scalar: \"text\" is no scalar; use one of numeric, string, boolean, untyped",
        );
        let relation = json!({"types": [{"name": "a", "list": {"elementRelationship": "set"}}]});
        assert!(error_of(relation).contains("is no relationship"));
    }

    #[test]
    fn a_wrong_type_is_refused() {
        assert_eq!(error_of(json!({"types": {}})), "$.types: expected a list, found an object");
        assert_eq!(error_of(json!([])), "$: expected an object, found a list");
        assert!(error_of(json!({"types": [null]})).contains("found null"));
    }

    #[test]
    fn endless_nesting_is_refused() {
        let list = nested(1_000, &["list", "elementType"], Value::Null);
        let mut schema = json!({"types": [{"name": "a", "list": {}}]});
        schema["types"][0]["list"]["elementType"] = list;
        let error = error_of(schema);
        assert!(error.contains("nested deeper"), "{error}");
    }
}
