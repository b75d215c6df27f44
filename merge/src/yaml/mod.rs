//! YAML as Kubernetes reads it: `kubectl` a manifest, the API server the body of an apply.
//!
//! They read YAML 1.1 (`sigs.k8s.io/yaml` on `go.yaml.in/yaml/v2`), and most parsers YAML 1.2, where `0644`, `yes`, `1_000` and
//! `<<` mean something else. A document becomes the text of a JSON value, with the members in the order of the document:
//!
//! ```
//! let read = baton_merge::yaml::read("mode: 0644\nhostNetwork: no\n")?;
//! assert_eq!(read.json, r#"{"mode":420,"hostNetwork":false}"#);
//! # Ok::<(), baton_merge::yaml::Error>(())
//! ```
//!
//! Documents that it writes are read alike by all readers, also of YAML 1.2.
//!
//! Three things differ from the Go library on purpose. Nesting ends at [`MAX_DEPTH`] instead of 10,000 levels. Of keys that
//! are equal as text, such as `1` and `"1"`, the last one wins; in Go that is random. Numbers that JSON lacks, such as
//! `.inf`, are refused even if a later key replaces them.

mod nodes;
mod print;
mod scalar;
mod write;

use serde::{Serialize, de::DeserializeOwned};

use self::nodes::{Events, is_control, of_json_alone};

/// The deepest document. JSON readers and the API server refuse such objects long before.
pub const MAX_DEPTH: usize = 1_000;

/// A document of a YAML text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// Its value in JSON; `null` for an empty document.
    pub json: String,
    /// Warnings of the API server, or errors with `fieldValidation=Strict`: each key that its map has already, such as
    /// `line 4: key "a" already set in map`. The last one counts.
    pub duplicates: Vec<String>,
}

/// A text can't be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text isn't YAML, or has keys that JSON can't have.
    #[error("yaml: {0}")]
    Yaml(String),
    /// A number that JSON lacks: `+Inf`, `-Inf` or `NaN`.
    #[error("json: unsupported value: {0}")]
    Number(&'static str),
    /// The value isn't of the caller's type.
    #[error(transparent)]
    Shape(#[from] serde_json::Error),
}

impl Error {
    fn yaml(message: impl Into<String>) -> Self {
        Self::Yaml(message.into())
    }
}

impl Document {
    /// The document as a value of a type.
    pub fn to<T: DeserializeOwned>(&self) -> Result<T, Error> {
        Ok(serde_json::from_str(&self.json)?)
    }
}

/// Reads the first document of a text and ignores others, as the API server does with a body.
pub fn read(text: &str) -> Result<Document, Error> {
    Documents::new(text)
        .next()
        .unwrap_or_else(|| Ok(Document { json: "null".to_owned(), duplicates: Vec::new() }))
}

/// Reads all documents of a text, as `kubectl` does with a file. Objects in JSON may follow one another as well.
pub fn read_all(text: &str) -> Result<Vec<Document>, Error> {
    if text.trim_start().starts_with('{')
        && let Some(documents) = json_stream(text)
    {
        return Ok(documents);
    }
    Documents::new(text).collect()
}

/// Reads the first document of a text into a type.
pub fn from_str<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    read(text)?.to()
}

/// A value as a document, in which strings such as `no` and `0644` are quoted.
pub fn to_string<T: Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    of_json(&serde_json::to_string(value)?)
}

/// JSON as a document, with the members in their order.
pub fn of_json(json: &str) -> Result<String, Error> {
    Ok(print::print(json)?)
}

/// Whether JSON isn't YAML: it has escapes that YAML lacks, or control characters.
pub fn is_json_alone(json: &str) -> bool {
    of_json_alone(json).is_some() || json.contains(is_control)
}

/// The values of a stream of JSON. YAML may begin with a brace, too.
fn json_stream(text: &str) -> Option<Vec<Document>> {
    let values = serde_json::Deserializer::from_str(text).into_iter::<Box<serde_json::value::RawValue>>();
    let documents = values
        .map(|value| value.map(|value| Document { json: value.get().to_owned(), duplicates: Vec::new() }));
    documents.collect::<Result<_, _>>().ok()
}

/// The documents of a text, until the first error.
struct Documents<'a> {
    events: Events<'a>,
    has_ended: bool,
}

impl<'a> Documents<'a> {
    fn new(text: &'a str) -> Self {
        Self { events: Events::new(text), has_ended: false }
    }
}

impl Iterator for Documents<'_> {
    type Item = Result<Document, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let read = self.events.document().and_then(|nodes| nodes.as_ref().map(write::document).transpose());
        self.has_ended = !matches!(read, Ok(Some(_)));
        read.transpose()
    }
}
