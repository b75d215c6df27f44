//! The Go types of built-in kinds: how objects are decoded and encoded, and plain defaults.
//!
//! OpenAPI describes what a field may hold; only the Go types describe what is written. `e2e/controlplane/types` makes the
//! table from them.

mod decode;
mod protobuf;
mod scalars;
mod size;
#[cfg(test)]
mod tests;
mod wire;

use std::{
    collections::{BTreeMap, HashMap},
    sync::LazyLock,
};

use baton_merge::schema::kinds::GroupVersionKind;
use serde::Deserialize;

pub(crate) use self::{
    decode::Decoder,
    protobuf::Unreadable,
    scalars::second_time,
    size::{delimited, varint},
};
use crate::kinds;

/// The types of all built-in kinds.
pub(crate) static TYPES: LazyLock<Types> = LazyLock::new(Types::read);

#[derive(Default)]
pub(crate) struct Types {
    structs: Vec<Struct>,
    kinds: HashMap<String, usize>,
    metadata: usize,
    delete_options: usize,
}

/// A struct of the API.
#[derive(Debug, Default)]
struct Struct {
    schema: String,
    /// Its name in Go, such as `v1.PodSpec`.
    name: String,
    /// Sorted by name.
    fields: Vec<Field>,
}

#[derive(Debug)]
struct Field {
    name: String,
    /// In protobuf: its number, after those of the enclosing messages that are inline in JSON.
    number: Vec<u32>,
    shape: Shape,
    is_pointer: bool,
    omitted: Omitted,
    default: Option<serde_json::Value>,
}

/// The values of a field that are omitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Omitted {
    Never,
    /// `omitempty`: zero scalars, nil pointers, empty lists and maps.
    Empty,
    /// `omitzero`: zero structs as well.
    Zero,
}

#[derive(Debug)]
enum Shape {
    Struct(usize),
    List(Box<Shape>),
    Map(Box<Shape>),
    Scalar(Scalar, String),
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    Bytes,
    /// Any JSON.
    Any(Opaque),
}

/// How a JSON value is written in protobuf.
#[derive(Debug)]
enum Opaque {
    /// As it is.
    Json,
    /// A schema or a bool.
    SchemaOrBool(Box<Shape>),
    /// A schema, or a list of this shape.
    SchemaOrList(Box<Shape>, Box<Shape>),
}

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const SCHEMA: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scalar {
    Bool,
    Int32,
    Int64,
    Float,
    Text,
}

/// The table as recorded.
#[derive(Default, Deserialize)]
struct Table {
    kinds: HashMap<String, String>,
    types: BTreeMap<String, Row>,
}

#[derive(Deserialize)]
struct Row {
    fields: BTreeMap<String, String>,
    #[serde(default)]
    defaults: BTreeMap<String, serde_json::Value>,
}

impl Types {
    fn read() -> Self {
        let table: Table = serde_json::from_str(include_str!("../../data/types.json")).unwrap_or_default();
        let places: HashMap<&str, usize> =
            table.types.keys().enumerate().map(|(place, name)| (name.as_str(), place)).collect();
        let read = |(name, row): (&String, &Row)| {
            let field = |(field, shape): (&String, &String)| {
                let is_decided = kinds::CONDITIONAL.contains(&(name.as_str(), field.as_str()));
                let default = row.defaults.get(field).filter(|_| !is_decided).cloned();
                Field::read(field, shape, default, &places)
            };
            Struct {
                schema: name.clone(),
                name: go_name(name),
                fields: row.fields.iter().map(field).collect(),
            }
        };
        let structs = table.types.iter().map(read).collect();
        let kinds =
            table.kinds.iter().filter_map(|(kind, name)| Some((kind.clone(), *places.get(name.as_str())?)));
        let meta = |name| places.get(format!("{META}.{name}").as_str()).copied().unwrap_or_default();
        let (metadata, delete_options) = (meta("ObjectMeta"), meta("DeleteOptions"));
        Self { structs, kinds: kinds.collect(), metadata, delete_options }
    }

    /// The type of a built-in kind.
    pub(crate) fn of_kind(&self, kind: &GroupVersionKind) -> Option<TypeRef> {
        // Every group has these.
        if kind.kind == "DeleteOptions" {
            return Some(TypeRef(self.delete_options));
        }
        self.kinds.get(&format!("{} {}", kind.api_version(), kind.kind)).copied().map(TypeRef)
    }

    /// The name of a type's schema.
    pub(crate) fn name(&self, of: TypeRef) -> &str {
        self.structs.get(of.0).map(|of| of.schema.as_str()).unwrap_or_default()
    }

    /// The type of the metadata of every object.
    pub(crate) fn metadata(&self) -> TypeRef {
        TypeRef(self.metadata)
    }
}

/// The index of a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TypeRef(usize);

impl Field {
    fn read(
        name: &str,
        text: &str,
        default: Option<serde_json::Value>,
        places: &HashMap<&str, usize>,
    ) -> Self {
        let (text, number) = text.split_once(' ').unwrap_or((text, ""));
        let number = number.split('.').filter_map(|number| number.parse().ok()).collect();
        let (omitted, text) = match text.split_at_checked(1) {
            Some(("?", rest)) => (Omitted::Empty, rest),
            Some(("!", rest)) => (Omitted::Zero, rest),
            _ => (Omitted::Never, text),
        };
        let is_pointer = text.starts_with('*');
        Self { name: name.to_owned(), number, shape: Shape::read(text, places), is_pointer, omitted, default }
    }
}

impl Shape {
    fn read(text: &str, places: &HashMap<&str, usize>) -> Self {
        if let Some(pointee) = text.strip_prefix('*') {
            return Self::read(pointee, places);
        }
        if let Some(item) = text.strip_prefix("[]") {
            return Self::List(Box::new(Self::read(item, places)));
        }
        if let Some(value) = text.strip_prefix("map[]") {
            return Self::Map(Box::new(Self::read(value, places)));
        }
        let (name, kind) = text.split_once('=').unwrap_or((text, text));
        let scalar = |scalar| Self::Scalar(scalar, name.to_owned());
        let schema = || Box::new(Self::read(SCHEMA, places));
        let list = |item: &str| Box::new(Self::read(&format!("[]{item}"), places));
        match kind {
            "bool" => scalar(Scalar::Bool),
            "int32" => scalar(Scalar::Int32),
            "int64" => scalar(Scalar::Int64),
            "float64" => scalar(Scalar::Float),
            "string" => scalar(Scalar::Text),
            "bytes" => Self::Bytes,
            "@Time" => Self::Time,
            "@MicroTime" => Self::MicroTime,
            "@Quantity" => Self::Quantity,
            "@IntOrString" => Self::IntOrString,
            "@JSONSchemaPropsOrBool" => Self::Any(Opaque::SchemaOrBool(schema())),
            "@JSONSchemaPropsOrArray" => Self::Any(Opaque::SchemaOrList(schema(), list(SCHEMA))),
            "@JSONSchemaPropsOrStringArray" => Self::Any(Opaque::SchemaOrList(schema(), list("string"))),
            _ => places.get(kind).map_or(Self::Any(Opaque::Json), |place| Self::Struct(*place)),
        }
    }

    /// The Go name of the type, as in errors of Go's JSON decoder.
    fn go_name(&self, types: &Types) -> String {
        match self {
            Self::Struct(place) => types.structs[*place].name.clone(),
            Self::List(item) => format!("[]{}", item.go_name(types)),
            Self::Map(value) => format!("map[string]{}", value.go_name(types)),
            Self::Scalar(_, name) => name.clone(),
            Self::Time | Self::MicroTime => "string".to_owned(),
            Self::Quantity => "resource.Quantity".to_owned(),
            Self::IntOrString => "intstr.IntOrString".to_owned(),
            Self::Bytes => "[]uint8".to_owned(),
            Self::Any(_) => "interface {}".to_owned(),
        }
    }
}

/// `v1.PodSpec` for `io.k8s.api.core.v1.PodSpec`.
fn go_name(schema: &str) -> String {
    let mut parts = schema.rsplitn(3, '.');
    let (name, package) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    format!("{package}.{name}")
}
