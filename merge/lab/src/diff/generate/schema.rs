//! Schemas for the generators: enough to make values, and to write them into a request. Nothing is checked, and invalid
//! ones are made on purpose.

use baton_testbed::{Json, Random};
use serde::Serialize;
use serde_json::json;

use super::{
    definition,
    openapi::{self, Versions},
};

/// Named types; requests are about the first one.
#[derive(Clone, Debug, Default)]
pub struct Schema {
    /// The types by name.
    pub types: Vec<(String, Atom)>,
}

/// The possible values of a type.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Atom {
    /// A single value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scalar: Option<Scalar>,
    /// A list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<Box<List>>,
    /// A map or struct.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub map: Option<Box<Map>>,
    /// Interesting values. Schemas on the wire don't have them.
    #[serde(skip)]
    pub samples: Vec<Json>,
}

/// The kinds of single values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scalar {
    /// A number.
    Numeric,
    /// A string.
    String,
    /// A boolean.
    Boolean,
    /// Any of them.
    Untyped,
}

impl Scalar {
    /// All of them.
    const ALL: [Self; 4] = [Self::Numeric, Self::String, Self::Boolean, Self::Untyped];
}

/// A list type.
#[derive(Clone, Debug, Default, Serialize)]
pub struct List {
    /// The type of its items.
    #[serde(rename = "elementType")]
    pub element: TypeRef,
    /// The relationship: `associative`, `atomic` or an invalid one.
    #[serde(rename = "elementRelationship", skip_serializing_if = "Option::is_none")]
    pub relationship: Option<&'static str>,
    /// The key fields.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keys: Vec<String>,
}

/// A map or struct type.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Map {
    /// The named fields.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Field>,
    /// The type of all other members, if there may be any.
    #[serde(rename = "elementType", skip_serializing_if = "Option::is_none")]
    pub element: Option<TypeRef>,
    /// The relationship: `separable`, `atomic` or an invalid one.
    #[serde(rename = "elementRelationship", skip_serializing_if = "Option::is_none")]
    pub relationship: Option<&'static str>,
}

/// A field of a struct.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub of: TypeRef,
    /// The default of a key field.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Json>,
    /// Whether people set it often.
    #[serde(skip)]
    pub common: bool,
}

/// A type by name or in place.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TypeRef {
    /// The name.
    #[serde(rename = "namedType", skip_serializing_if = "Option::is_none")]
    pub named: Option<String>,
    /// The type itself; empty if there is a name.
    #[serde(flatten)]
    pub inlined: Atom,
    /// Overrides the relationship.
    #[serde(rename = "elementRelationship", skip_serializing_if = "Option::is_none")]
    pub relationship: Option<&'static str>,
}

impl TypeRef {
    /// A reference by name.
    pub fn named(name: impl Into<String>) -> Self {
        Self { named: Some(name.into()), ..Self::default() }
    }

    /// A type in place.
    pub fn inlined(inlined: Atom) -> Self {
        Self { inlined, ..Self::default() }
    }
}

impl Atom {
    /// A single value.
    pub fn scalar(scalar: Scalar) -> Self {
        Self { scalar: Some(scalar), ..Self::default() }
    }

    /// A list.
    pub fn list(list: List) -> Self {
        Self { list: Some(Box::new(list)), ..Self::default() }
    }

    /// A map or struct.
    pub fn map(map: Map) -> Self {
        Self { map: Some(Box::new(map)), ..Self::default() }
    }
}

impl Schema {
    /// As structured-merge-diff writes it.
    pub fn text(&self) -> String {
        #[derive(Serialize)]
        struct Named<'a> {
            name: &'a str,
            #[serde(flatten)]
            atom: &'a Atom,
        }
        let types: Vec<_> = self.types.iter().map(|(name, atom)| Named { name, atom }).collect();
        json!({"types": types}).to_string()
    }

    /// The type of requests.
    pub fn root(&self) -> TypeRef {
        TypeRef::named(self.types.first().map_or("t0", |(name, _)| name))
    }

    /// The type of a reference, if it resolves.
    pub fn resolve<'a>(&'a self, of: &'a TypeRef) -> Option<&'a Atom> {
        match &of.named {
            None => Some(&of.inlined),
            Some(name) => self.types.iter().find(|(known, _)| known == name).map(|(_, atom)| atom),
        }
    }
}

/// The deduced type, under the names of structured-merge-diff.
pub fn deduced() -> Schema {
    let of = |name: &str, list: &str, map: &str, relationship| {
        let list = List { element: TypeRef::named(list), relationship: Some("atomic"), keys: Vec::new() };
        let map =
            Map { element: Some(TypeRef::named(map)), relationship: Some(relationship), fields: Vec::new() };
        let atom = Atom {
            scalar: Some(Scalar::Untyped),
            list: Some(Box::new(list)),
            map: Some(Box::new(map)),
            samples: Vec::new(),
        };
        (name.to_owned(), atom)
    };
    Schema {
        types: vec![of(DEDUCED, UNTYPED, DEDUCED, "separable"), of(UNTYPED, UNTYPED, UNTYPED, "atomic")],
    }
}

const DEDUCED: &str = "__untyped_deduced_";
const UNTYPED: &str = "__untyped_atomic_";

/// Few names, so that fields of different types and objects are equal.
pub const NAMES: [&str; 6] = ["a", "b", "c", "name", "port", "protocol"];
/// Names that are hard to write or to sort.
const ODD_NAMES: [&str; 9] = ["", "f:a", "a.b", "x\"y", "back\\slash", "<&>", "é", ".", "A"];
/// Names of key fields.
pub const KEYS: [&str; 4] = ["name", "port", "protocol", "a"];

/// A random schema, sometimes an invalid one.
pub fn schema(random: &mut Random) -> Schema {
    let count = 2 + random.below(6);
    let mut schema = Schema::default();
    for i in 0..count {
        let atom = match random.weighted(if i == 0 { &[0, 80, 8, 4, 8] } else { &[8, 40, 12, 30, 10] }) {
            0 => Atom::scalar(scalar(random)),
            1 => Atom::map(structure(random, count, 5)),
            2 => Atom::map(Map {
                element: Some(type_ref(random, count, 2)),
                relationship: relationship(random, "separable"),
                fields: Vec::new(),
            }),
            3 => list(random, count),
            _ => several(random, count),
        };
        schema.types.push((format!("t{i}"), atom));
    }
    let untyped = deduced();
    schema.types.extend(untyped.types);
    settle(random, &mut schema);
    if random.one_in(40) {
        spoil(random, &mut schema);
    }
    schema
}

/// Removes most overrides that make a type unusable: those of scalars, and sets of maps.
fn settle(random: &mut Random, schema: &mut Schema) {
    let known = schema.clone();
    for (_, atom) in &mut schema.types {
        settle_atom(random, &known, atom);
    }
}

fn settle_atom(random: &mut Random, known: &Schema, atom: &mut Atom) {
    if let Some(map) = &mut atom.map {
        for field in &mut map.fields {
            settle_reference(random, known, &mut field.of);
        }
        if let Some(element) = &mut map.element {
            settle_reference(random, known, element);
        }
    }
    if let Some(list) = &mut atom.list {
        settle_reference(random, known, &mut list.element);
    }
}

fn settle_reference(random: &mut Random, known: &Schema, of: &mut TypeRef) {
    settle_atom(random, known, &mut of.inlined);
    let Some(target) = known.resolve(of) else { return };
    let sensible: &[&'static str] = match (&target.list, &target.map) {
        (Some(list), None) if list.keys.is_empty() => &["atomic"],
        (Some(_), None) => &["atomic", "associative"],
        (None, Some(_)) => &["atomic", "separable"],
        (Some(_), Some(_)) => &["atomic"],
        (None, None) => &[],
    };
    if of.relationship.is_some_and(|relationship| !sensible.contains(&relationship)) && !random.one_in(50) {
        of.relationship = random.choose(sensible).copied();
    }
}

fn scalar(random: &mut Random) -> Scalar {
    Scalar::ALL[random.weighted(&[5, 6, 2, 2])]
}

/// A relationship: mostly absent or the usual one, sometimes atomic.
fn relationship(random: &mut Random, usual: &'static str) -> Option<&'static str> {
    [None, Some(usual), Some("atomic")][random.weighted(&[6, 3, 2])]
}

fn field_name(random: &mut Random) -> &'static str {
    if random.one_in(25) { random.pick(&ODD_NAMES) } else { random.pick(&NAMES) }
}

fn structure(random: &mut Random, types: usize, most: usize) -> Map {
    let mut fields: Vec<Field> = Vec::new();
    for _ in 0..=random.below(most) {
        let name = field_name(random);
        if fields.iter().all(|field| field.name != name) {
            fields.push(Field { name: name.to_owned(), of: type_ref(random, types, 2), ..Field::default() });
        }
    }
    Map {
        fields,
        // Some structs accept unknown fields, as with preserve-unknown-fields.
        element: random.one_in(8).then(|| type_ref(random, types, 1)),
        relationship: relationship(random, "separable"),
    }
}

fn type_ref(random: &mut Random, types: usize, depth: usize) -> TypeRef {
    let mut of = match random.weighted(&[40, 42, if depth > 0 { 12 } else { 0 }, 4]) {
        0 => TypeRef::inlined(Atom::scalar(scalar(random))),
        1 => TypeRef::named(format!("t{}", random.below(types))),
        2 => TypeRef::inlined(match random.below(3) {
            0 => Atom::map(structure(random, types, 3)),
            1 => Atom::map(Map {
                element: Some(type_ref(random, types, depth - 1)),
                relationship: relationship(random, "separable"),
                fields: Vec::new(),
            }),
            _ => list(random, types),
        }),
        _ => TypeRef::named(random.pick(&[DEDUCED, UNTYPED])),
    };
    if random.one_in(10) {
        of.relationship = Some(random.pick(&["atomic", "separable", "associative"]));
    }
    of
}

/// A list: mostly a map list, otherwise a set or atomic.
fn list(random: &mut Random, types: usize) -> Atom {
    let (relationship, keys) = match random.weighted(&[55, 25, 20]) {
        0 => {
            let mut names = KEYS;
            random.shuffle(&mut names);
            (Some("associative"), names[..=random.weighted(&[6, 3, 1])].to_vec())
        }
        1 => (Some("associative"), Vec::new()),
        // A list without a relationship can't be merged, but can be written.
        _ => (if random.one_in(15) { None } else { Some("atomic") }, Vec::new()),
    };
    let element = if keys.is_empty() {
        if relationship == Some("associative") && !random.one_in(30) {
            TypeRef::inlined(Atom::scalar(scalar(random)))
        } else {
            type_ref(random, types, 1)
        }
    } else {
        let mut item = structure(random, types, 3);
        item.fields.retain(|field| !keys.contains(&field.name.as_str()));
        for key in &keys {
            let scalar = [Scalar::String, Scalar::Numeric, Scalar::Boolean, Scalar::Untyped]
                [random.weighted(&[6, 4, 1, 1])];
            let default = random.one_in(4).then(|| sample(random, scalar));
            let of = TypeRef::inlined(Atom::scalar(scalar));
            item.fields.push(Field { name: (*key).to_owned(), of, default, common: true });
        }
        if !random.one_in(8) {
            item.relationship = None;
        }
        TypeRef::inlined(Atom::map(item))
    };
    Atom::list(List { element, relationship, keys: keys.into_iter().map(str::to_owned).collect() })
}

fn sample(random: &mut Random, scalar: Scalar) -> Json {
    match scalar {
        Scalar::Numeric => Json::from([0, 1, 80][random.below(3)]),
        Scalar::Boolean => Json::Bool(random.one_in(2)),
        Scalar::String | Scalar::Untyped => Json::string(random.pick(&["TCP", "a", ""])),
    }
}

/// A type of several kinds, such as int-or-string and untyped ones.
fn several(random: &mut Random, types: usize) -> Atom {
    let mut atom = list(random, types);
    if random.one_in(3) {
        atom.list = None;
    }
    if !random.one_in(3) {
        atom.scalar = Some(scalar(random));
    }
    if !random.one_in(3) || (atom.list.is_none() && atom.scalar.is_none()) {
        atom.map = Some(Box::new(structure(random, types, 3)));
    }
    atom
}

/// Makes an invalid schema.
fn spoil(random: &mut Random, schema: &mut Schema) {
    let at = random.below(schema.types.len());
    match random.below(6) {
        // Its references dangle.
        0 => drop(schema.types.remove(at)),
        1 => "t0".clone_into(&mut schema.types[at].0),
        2 => schema.types[at].1 = Atom::default(),
        3 => {
            if let Some(list) = &mut schema.types[at].1.list {
                list.relationship = Some(random.pick(&["separable", ""]));
            }
        }
        4 => {
            if let Some(list) = &mut schema.types[at].1.list {
                list.keys.push("absent".to_owned());
            }
        }
        _ => {
            if let Some(map) = &mut schema.types[at].1.map {
                map.relationship = Some(random.pick(&["associative", ""]));
                let twice = map.fields.first().cloned();
                map.fields.extend(twice);
            }
        }
    }
}

/// A schema, and its changes in later releases.
#[derive(Clone, Debug)]
pub struct Releases {
    /// The first schema.
    pub schema: Schema,
    /// Whether it is the deduced one.
    pub deduced: bool,
    /// The same with relationships changed.
    pub changed: [Schema; 2],
    /// The members of requests that name the schema and the changed ones.
    named: [Json; 3],
}

impl Releases {
    /// A random schema.
    pub fn any(random: &mut Random) -> Self {
        let known = match random.weighted(&[50, 6, 10, 14]) {
            1 => return Self::of(random, deduced(), true),
            2 => random.choose(openapi::constructs()).cloned(),
            3 => openapi::defined_versions(&definition::definition(random)),
            _ => None,
        };
        match known {
            Some(versions) => Self::of_versions(versions),
            None => {
                let schema = schema(random);
                Self::of(random, schema, false)
            }
        }
    }

    fn of(random: &mut Random, schema: Schema, deduced: bool) -> Self {
        let changed = [changed(random, &schema), changed(random, &schema)];
        let named = [&schema, &changed[0], &changed[1]].map(|schema| {
            let text = Json::Text(schema.text().into());
            Json::object().with("schema", text).with("type", "t0")
        });
        Self { schema, deduced, changed, named }
    }

    fn of_versions(versions: Versions) -> Self {
        let [(schema, first), (second, second_name), (third, third_name)] = versions;
        Self { schema, deduced: false, changed: [second, third], named: [first, second_name, third_name] }
    }

    /// Sets the schema of a request, the first or a changed one.
    pub fn name(&self, request: Json, changed: Option<usize>) -> Json {
        if self.deduced {
            return request;
        }
        let named = self.named.get(changed.map_or(0, |i| i + 1)).unwrap_or(&self.named[0]);
        named.members().iter().fold(request, |request, (name, value)| request.with(name, value.clone()))
    }
}

/// The schema with some relationships changed, as in a new release of a CRD.
pub fn changed(random: &mut Random, schema: &Schema) -> Schema {
    let mut changed = change(random, schema);
    settle(random, &mut changed);
    changed
}

fn change(random: &mut Random, schema: &Schema) -> Schema {
    let mut changed = schema.clone();
    let count = changed.types.len();
    for _ in 0..=random.below(3) {
        let at = random.below(count);
        let atom = &mut changed.types[at].1;
        match random.below(5) {
            0 | 1 => {
                if let Some(map) = &mut atom.map {
                    map.relationship = if map.relationship == Some("atomic") { None } else { Some("atomic") };
                }
                if let Some(list) = &mut atom.list {
                    list.relationship =
                        Some(if list.relationship == Some("associative") { "atomic" } else { "associative" });
                }
            }
            2 => {
                if let Some(map) = &mut atom.map
                    && !map.fields.is_empty()
                {
                    let field = random.below(map.fields.len());
                    let of = &mut map.fields[field].of;
                    of.relationship =
                        [None, Some("atomic"), Some("separable"), Some("associative")][random.below(4)];
                }
            }
            3 => {
                if let Some(map) = &mut atom.map
                    && !map.fields.is_empty()
                {
                    let field = random.below(map.fields.len());
                    map.fields.remove(field);
                }
            }
            _ => {
                if let Some(map) = &mut atom.map
                    && !map.fields.is_empty()
                {
                    let field = random.below(map.fields.len());
                    map.fields[field].of = type_ref(random, count.saturating_sub(2).max(1), 1);
                }
            }
        }
    }
    changed
}
