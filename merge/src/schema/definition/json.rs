//! The JSON form of a schema definition, in upstream's member names.
//!
//! What is refused is what `typed.NewParser` refuses by its schema of schemas: unknown members, wrong types, two types
//! or fields of one name. On top, words without a meaning (a scalar or a relationship) are refused here, where
//! upstream fails when it meets a value. `untyped` and `unions` are let through and mean nothing, as upstream.

use serde_json::{Map, Value, json};

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
        json!({"types": self.types.iter().map(write_type).collect::<Vec<_>>()})
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

/// A list whose items are told apart by `name`: it must be there and may not be there twice.
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
        _ => return Err(unknown_word(at, "scalar", value, SCALARS)),
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
        _ => return Err(unknown_word(&at, "relationship", value, RELATIONSHIPS)),
    })
}

fn unknown_word(
    at: &At<'_>,
    what: &'static str,
    found: &Value,
    known: &'static [&'static str],
) -> SchemaError {
    at.error(Problem::UnknownWord { what, found: found.to_string(), known })
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

fn write_type(each: &TypeDefinition) -> Value {
    let mut object = Object::new();
    object.insert("name".to_owned(), each.name.clone().into());
    write_atom(&each.atom, &mut object);
    Value::Object(object)
}

fn write_atom(atom: &AtomDefinition, into: &mut Object) {
    if let Some(scalar) = atom.scalar {
        let word = match scalar {
            Scalar::Numeric => "numeric",
            Scalar::String => "string",
            Scalar::Boolean => "boolean",
            Scalar::Untyped => "untyped",
        };
        into.insert("scalar".to_owned(), word.into());
    }
    if let Some(list) = &atom.list {
        let mut object = Object::new();
        write_element_type(&list.element_type, &mut object);
        write_relationship(list.relationship, &mut object);
        if !list.keys.is_empty() {
            object.insert("keys".to_owned(), json!(list.keys));
        }
        into.insert("list".to_owned(), Value::Object(object));
    }
    if let Some(map) = &atom.map {
        let mut object = Object::new();
        if let Some(fields) = &map.fields {
            object.insert("fields".to_owned(), fields.iter().map(write_field).collect());
        }
        write_element_type(&map.element_type, &mut object);
        write_relationship(map.relationship, &mut object);
        into.insert("map".to_owned(), Value::Object(object));
    }
}

fn write_field(field: &FieldDefinition) -> Value {
    let mut object = Object::new();
    object.insert("name".to_owned(), field.name.clone().into());
    if field.type_reference != TypeReference::default() {
        object.insert("type".to_owned(), write_reference(&field.type_reference));
    }
    if let Some(default) = &field.default {
        object.insert("default".to_owned(), default.clone());
    }
    Value::Object(object)
}

fn write_element_type(reference: &TypeReference, into: &mut Object) {
    if *reference != TypeReference::default() {
        into.insert("elementType".to_owned(), write_reference(reference));
    }
}

fn write_reference(reference: &TypeReference) -> Value {
    let mut object = Object::new();
    if let Some(name) = &reference.named {
        object.insert("namedType".to_owned(), name.clone().into());
    }
    if let Some(atom) = &reference.inlined {
        write_atom(atom, &mut object);
    }
    write_relationship(reference.relationship, &mut object);
    Value::Object(object)
}

fn write_relationship(relationship: Option<Relationship>, into: &mut Object) {
    let word = match relationship {
        None => return,
        Some(Relationship::Associative) => "associative",
        Some(Relationship::Atomic) => "atomic",
        Some(Relationship::Separable) => "separable",
    };
    into.insert("elementRelationship".to_owned(), word.into());
}

#[cfg(test)]
// Tests hand over what `json!` makes, without an `&` before each.
#[allow(clippy::needless_pass_by_value)]
mod tests {
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
