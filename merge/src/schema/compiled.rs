//! A schema with resolved references, for walks over values.

use std::{collections::HashMap, sync::LazyLock};

use super::definition::{
    AtomDefinition, ListDefinition, MapDefinition, Relationship, Scalar, SchemaDefinition, TypeReference,
    UNTYPED_DEDUCED,
};
use super::fields::{Field, Fields};
use super::openapi::convert::common_types;

/// A compiled schema. Made once, then shared between threads and predictions.
///
/// ```
/// use baton_merge::schema::{Schema, definition::{AtomDefinition, Scalar, SchemaDefinition, TypeDefinition}};
///
/// let number = AtomDefinition { scalar: Some(Scalar::Numeric), ..Default::default() };
/// let definition = SchemaDefinition { types: vec![TypeDefinition { name: "number".into(), atom: number }] };
/// let schema = Schema::compile(&definition);
/// assert!(schema.type_named("number").is_some());
/// assert!(schema.type_named("string").is_none());
/// ```
#[derive(Debug)]
pub struct Schema {
    /// By [`TypeId`]; none for an unresolved reference.
    types: Vec<Option<Atom>>,
    names: HashMap<String, TypeId>,
    has_only_named_items: bool,
}

/// A type of one [`Schema`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TypeId(u32);

impl TypeId {
    /// The type of an unresolved reference.
    const MISSING: Self = Self(0);
    /// The empty reference: it has no values, and a map of it has no members but its fields.
    pub(crate) const EMPTY: Self = Self(1);
}

/// The kinds of values of a type: any of those that are set.
#[derive(Clone, Debug, Default)]
pub(crate) struct Atom {
    pub(crate) scalar: Option<Scalar>,
    pub(crate) list: Option<List>,
    pub(crate) map: Option<Map>,
}

#[derive(Clone, Debug)]
pub(crate) struct List {
    pub(crate) element: TypeId,
    pub(crate) relationship: Option<Relationship>,
    pub(crate) keys: Vec<Key>,
    /// The indexes of the keys in the order of their names, as in field sets.
    pub(crate) sorted_keys: Vec<usize>,
}

/// A key field of a list.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) name: String,
    pub(crate) default: KeyDefault,
}

/// The value of an omitted key field.
#[derive(Clone, Debug)]
pub(crate) enum KeyDefault {
    /// None: the field isn't a part of this item's key.
    None,
    /// The default.
    Value(serde_json::Value),
    /// The items' type is missing.
    UnknownType,
    /// The items' type isn't a map.
    NotAMap,
}

#[derive(Clone, Debug)]
pub(crate) struct Map {
    fields: Fields,
    pub(crate) element: TypeId,
    pub(crate) is_atomic: bool,
    /// Whether the members are untyped, so that their ownership is never reconciled.
    pub(crate) is_untyped: bool,
}

impl List {
    pub(crate) fn is_atomic(&self) -> bool {
        self.relationship == Some(Relationship::Atomic)
    }

    pub(crate) fn is_associative(&self) -> bool {
        self.relationship == Some(Relationship::Associative)
    }
}

impl Map {
    fn field(&self, name: &str) -> Option<&Field> {
        self.fields.get(name)
    }

    pub(crate) fn has_named_fields(&self) -> bool {
        !self.fields.is_empty()
    }

    /// The type of a named field.
    pub(crate) fn named_field(&self, name: &str) -> Option<TypeId> {
        self.field(name).map(|field| field.type_id)
    }

    /// The type of any member.
    pub(crate) fn member(&self, name: &str) -> TypeId {
        self.named_field(name).unwrap_or(self.element)
    }
}

impl Schema {
    /// Compiles a schema. An unresolved reference is an error only if a value needs it.
    pub fn compile(definition: &SchemaDefinition) -> Self {
        Compiler::default().compile(definition)
    }

    /// The schema of untyped values: maps are granular, lists and scalars atomic.
    pub fn deduced() -> &'static Self {
        static DEDUCED: LazyLock<Schema> =
            LazyLock::new(|| Schema::compile(&SchemaDefinition { types: common_types().into() }));
        &DEDUCED
    }

    /// The type of this name.
    pub fn type_named(&self, name: &str) -> Option<TypeId> {
        self.names.get(name).copied()
    }

    /// The type of untyped values, in [`deduced`](Self::deduced) and every schema from OpenAPI or a CRD.
    pub fn deduced_type(&self) -> Option<TypeId> {
        self.type_named(UNTYPED_DEDUCED)
    }

    /// Whether every list is atomic or associative, as it should be. Items of other lists are valid and have no name, so
    /// that walks over them fail although validation passed, and no walk can be skipped.
    pub(crate) fn has_only_named_items(&self) -> bool {
        self.has_only_named_items
    }

    /// The kinds of values of a type; none if the type is missing.
    pub(crate) fn atom(&self, id: TypeId) -> Option<&Atom> {
        self.types[id.0 as usize].as_ref()
    }
}

#[derive(Default)]
struct Compiler {
    types: Vec<Option<Atom>>,
    names: HashMap<String, TypeId>,
    /// References with overridden relationships.
    overrides: HashMap<(TypeId, Relationship), TypeId>,
}

impl Compiler {
    fn compile(mut self, definition: &SchemaDefinition) -> Schema {
        self.add(None);
        self.add(Some(Atom::default()));
        for named in &definition.types {
            let id = self.add(None);
            self.names.insert(named.name.clone(), id);
        }
        for named in &definition.types {
            let atom = self.atom(&named.atom);
            let id = self.names[&named.name];
            self.types[id.0 as usize] = Some(atom);
        }
        for ((base, relationship), id) in std::mem::take(&mut self.overrides) {
            self.types[id.0 as usize] =
                self.types[base.0 as usize].clone().and_then(|atom| overridden(atom, relationship));
        }
        self.default_keys();
        let mut lists = self.types.iter().flatten().filter_map(|atom| atom.list.as_ref());
        let has_only_named_items = lists.all(|list| list.is_atomic() || list.is_associative());
        Schema { types: self.types, names: self.names, has_only_named_items }
    }

    fn add(&mut self, atom: Option<Atom>) -> TypeId {
        // Four billion types don't fit into memory.
        let id = TypeId(u32::try_from(self.types.len()).unwrap_or(u32::MAX));
        self.types.push(atom);
        id
    }

    fn reference(&mut self, reference: &TypeReference) -> TypeId {
        let base = match (&reference.named, reference.inlined.as_deref()) {
            (Some(name), _) => self.names.get(name).copied().unwrap_or(TypeId::MISSING),
            (None, Some(atom)) if *atom != AtomDefinition::default() => {
                let atom = self.atom(atom);
                self.add(Some(atom))
            }
            (None, _) => TypeId::EMPTY,
        };
        let Some(relationship) = reference.relationship else { return base };
        if let Some(known) = self.overrides.get(&(base, relationship)) {
            return *known;
        }
        let id = self.add(None);
        self.overrides.insert((base, relationship), id);
        id
    }

    fn atom(&mut self, atom: &AtomDefinition) -> Atom {
        Atom {
            scalar: atom.scalar,
            list: atom.list.as_ref().map(|list| self.list(list)),
            map: atom.map.as_ref().map(|map| self.map(map)),
        }
    }

    fn list(&mut self, list: &ListDefinition) -> List {
        let key = |name: &String| Key { name: name.clone(), default: KeyDefault::None };
        let mut sorted_keys: Vec<_> = (0..list.keys.len()).collect();
        sorted_keys.sort_by_key(|at| &list.keys[*at]);
        List {
            element: self.reference(&list.element_type),
            relationship: list.relationship,
            keys: list.keys.iter().map(key).collect(),
            sorted_keys,
        }
    }

    fn map(&mut self, map: &MapDefinition) -> Map {
        let mut fields: Vec<Field> = Vec::new();
        for field in map.fields.iter().flatten() {
            let type_id = self.reference(&field.type_reference);
            // A null default is absent.
            let default = field.default.clone().filter(|default| !default.is_null());
            fields.push(Field { name: field.name.clone(), type_id, default });
        }
        Map {
            fields: Fields::new(fields),
            element: self.reference(&map.element_type),
            is_atomic: map.relationship == Some(Relationship::Atomic),
            is_untyped: map.fields.is_none() && is_untyped(&map.element_type),
        }
    }

    fn default_keys(&mut self) {
        for at in 0..self.types.len() {
            let Some(list) = self.types[at].as_ref().and_then(|atom| atom.list.as_ref()) else { continue };
            if list.keys.is_empty() {
                continue;
            }
            let element = self.types[list.element.0 as usize].as_ref();
            let default = |name: &str| match element.map(|element| element.map.as_ref()) {
                None => KeyDefault::UnknownType,
                Some(None) => KeyDefault::NotAMap,
                Some(Some(map)) => map
                    .field(name)
                    .and_then(|field| field.default.clone())
                    .map_or(KeyDefault::None, KeyDefault::Value),
            };
            let defaults: Vec<_> = list.keys.iter().map(|key| default(&key.name)).collect();
            if let Some(list) = self.types[at].as_mut().and_then(|atom| atom.list.as_mut()) {
                for (key, default) in list.keys.iter_mut().zip(defaults) {
                    key.default = default;
                }
            }
        }
    }
}

/// The atom with another relationship of its map or, without one, its list. A scalar has none.
fn overridden(mut atom: Atom, relationship: Relationship) -> Option<Atom> {
    if let Some(map) = &mut atom.map {
        map.is_atomic = relationship == Relationship::Atomic;
    } else {
        atom.list.as_mut()?.relationship = Some(relationship);
    }
    Some(atom)
}

fn is_untyped(reference: &TypeReference) -> bool {
    match &reference.named {
        Some(name) => name == UNTYPED_DEDUCED,
        None => reference.inlined.as_ref().is_some_and(|atom| atom.scalar == Some(Scalar::Untyped)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_deduced_type_is_a_granular_map_an_atomic_list_or_a_scalar() {
        let schema = Schema::deduced();
        let atom = schema.atom(schema.deduced_type().unwrap()).unwrap();
        assert!(atom.scalar.is_some());
        assert!(atom.list.as_ref().unwrap().is_atomic());
        let map = atom.map.as_ref().unwrap();
        assert!(!map.is_atomic && map.is_untyped);
        assert_eq!(map.member("anything"), schema.deduced_type().unwrap());
    }

    #[test]
    fn a_reference_overrides_the_relationship_where_it_stands_and_nowhere_else() {
        let definition = SchemaDefinition::from_json(&json!({"types": [
            {"name": "outer", "map": {"fields": [
                {"name": "plain", "type": {"namedType": "inner"}},
                {"name": "atomic", "type": {"namedType": "inner", "elementRelationship": "atomic"}},
            ]}},
            {"name": "inner", "map": {"elementRelationship": "separable"}},
        ]}));
        let schema = Schema::compile(&definition.unwrap());
        let outer = schema.atom(schema.type_named("outer").unwrap()).unwrap().map.clone().unwrap();
        let is_atomic = |name| schema.atom(outer.member(name)).unwrap().map.as_ref().unwrap().is_atomic;
        assert!(!is_atomic("plain"));
        assert!(is_atomic("atomic"));
        assert_eq!(outer.member("unknown"), TypeId::EMPTY);
    }
}
