//! The sources of types: schemas, OpenAPI documents and CRDs, in the request or in files, cached by content.

use std::{collections::HashMap, fs, io, path::Path, sync::Arc, time::SystemTime};

use baton_merge::{
    schema::{Schema, TypeId, definition::SchemaDefinition},
    server::Resources,
    yaml,
};
use serde::Deserialize;
use serde_json::Value;

use crate::{refusal::Refusal, request::Request};

/// The most compiled schemas in the cache: more than a test run has files, few enough for a new one in each request.
const KEPT: usize = 256;

/// The cache of compiled sources.
#[derive(Default)]
pub(crate) struct Sources {
    compiled: HashMap<(Kind, Arc<str>), Result<Arc<Source>, Refusal>>,
    files: HashMap<String, File>,
}

struct File {
    length: u64,
    modified: Option<SystemTime>,
    text: Arc<str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    Schema,
    OpenApi,
    Crd,
}

/// A compiled document.
enum Source {
    /// A schema alone.
    Schema(Schema),
    /// The kinds of an OpenAPI document or a CRD, with their schema.
    Resources(Resources),
}

impl Source {
    fn schema(&self) -> &Schema {
        match self {
            Self::Schema(schema) => schema,
            Self::Resources(resources) => resources.schema(),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reference {
    file: String,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Schema, Self::OpenApi, Self::Crd];

    fn member(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::OpenApi => "openapi",
            Self::Crd => "crd",
        }
    }
}

impl Sources {
    /// The type in a request of level 1 or 2.
    pub(crate) fn type_of<'a>(&'a mut self, request: &Request<'_>) -> Result<(&'a Schema, TypeId), Refusal> {
        let mut named = Kind::ALL.into_iter().filter(|kind| request.has(kind.member()));
        let Some(kind) = named.next() else {
            if request.has("type") {
                return Err(Refusal::bad_request("type: there is no schema that it is in"));
            }
            let schema = Schema::deduced();
            let id = schema.deduced_type().ok_or_else(|| Refusal::internal("there is no deduced type"))?;
            return Ok((schema, id));
        };
        if let Some(other) = named.next() {
            return Err(Refusal::bad_request(format!(
                "{}: there is {} already",
                other.member(),
                kind.member()
            )));
        }
        let name = request.text("type")?;
        let schema = self.get(request, kind)?.schema();
        let id = schema.type_named(&name);
        let id =
            id.ok_or_else(|| Refusal::not_found(format!("type: the {} has no {name:?}", kind.member())))?;
        Ok((schema, id))
    }

    /// The kinds in a request of level 3.
    pub(crate) fn resources(&mut self, request: &Request<'_>) -> Result<&Resources, Refusal> {
        let kind = match (request.has("openapi"), request.has("crd")) {
            (true, true) => return Err(Refusal::bad_request("openapi: there is crd already")),
            (true, false) => Kind::OpenApi,
            (false, true) => Kind::Crd,
            (false, false) => return Err(Refusal::bad_request("openapi: missing, as is crd")),
        };
        match self.get(request, kind)? {
            Source::Resources(resources) => Ok(resources),
            Source::Schema(_) => Err(Refusal::internal("a schema has no kinds")),
        }
    }

    /// The compiled source in a member of the request.
    fn get(&mut self, request: &Request<'_>, kind: Kind) -> Result<&Source, Refusal> {
        let text = self.text(request, kind)?;
        if self.compiled.len() >= KEPT {
            self.compiled.clear();
        }
        let compiled = self
            .compiled
            .entry((kind, Arc::clone(&text)))
            .or_insert_with(|| compile(kind, &text).map(Arc::new));
        compiled.as_deref().map_err(Refusal::clone)
    }

    /// The text of a member, which is either `{"file": PATH}` or the source itself.
    fn text(&mut self, request: &Request<'_>, kind: Kind) -> Result<Arc<str>, Refusal> {
        let member = kind.member();
        let raw = request.raw(member).unwrap_or("null");
        if !raw.starts_with('{') {
            return Err(Refusal::bad_request(format!("{member}: not an object")));
        }
        match serde_json::from_str::<Reference>(raw) {
            Ok(Reference { file }) => self.file(&file).map_err(|error| {
                let message = format!("{member}: {file}: {error}");
                if error.kind() == io::ErrorKind::NotFound {
                    Refusal::not_found(message)
                } else {
                    Refusal::bad_request(message)
                }
            }),
            Err(_) if kind == Kind::OpenApi => Err(Refusal::bad_request("openapi: not {\"file\": PATH}")),
            Err(_) => Ok(raw.into()),
        }
    }

    fn file(&mut self, path: &str) -> io::Result<Arc<str>> {
        let metadata = fs::metadata(Path::new(path))?;
        if !metadata.is_file() {
            return Err(io::Error::other("it is no regular file"));
        }
        let (length, modified) = (metadata.len(), metadata.modified().ok());
        if let Some(known) =
            self.files.get(path).filter(|known| known.length == length && known.modified == modified)
        {
            return Ok(Arc::clone(&known.text));
        }
        let text: Arc<str> = fs::read_to_string(path)?.into();
        if self.files.len() >= KEPT {
            self.files.clear();
        }
        self.files.insert(path.to_owned(), File { length, modified, text: Arc::clone(&text) });
        Ok(text)
    }
}

fn compile(kind: Kind, text: &str) -> Result<Source, Refusal> {
    let wrong = |error: &dyn std::fmt::Display| Refusal::bad_request(format!("{}: {error}", kind.member()));
    let document = parse(text).map_err(|error| wrong(&error))?;
    match kind {
        Kind::Schema => {
            let definition = SchemaDefinition::from_json(&document).map_err(|error| wrong(&error))?;
            Ok(Source::Schema(Schema::compile(&definition)))
        }
        Kind::OpenApi => {
            Resources::from_openapi(&document).map(Source::Resources).map_err(|error| wrong(&error))
        }
        Kind::Crd => Resources::from_crd(&document).map(Source::Resources).map_err(|error| wrong(&error)),
    }
}

/// Parses JSON or, if it is none, YAML.
fn parse(text: &str) -> Result<Value, String> {
    match serde_json::from_str(text) {
        Ok(value) => Ok(value),
        Err(error) if text.trim_start().starts_with('{') => Err(error.to_string()),
        Err(_) => yaml::from_str(text).map_err(|error| error.to_string()),
    }
}
