//! Objects between a request and the store: decoding, defaults, preparation and validation.

use baton_merge::{Arena, schema::kinds::GroupVersionKind, value::Value, yaml};
use jiff::Timestamp;

use crate::{
    custom::{self, Findings, crd},
    definitions, kinds,
    registry::{Resource, Schema},
    server::Server,
    status::Failure,
    types::{Decoder, TYPES, Unreadable},
};

/// A decoded object, and the paths of its unknown fields.
pub(crate) struct ReadObject<'a> {
    pub(crate) object: Value<'a>,
    pub(crate) unknown: Vec<String>,
}

/// Parses a body of JSON or, if allowed, YAML.
pub(crate) fn parse<'a>(arena: &'a Arena, text: &str, is_yaml: bool) -> Result<Value<'a>, Failure> {
    if is_yaml {
        return parse_yaml(arena, text).map_err(|why| {
            Failure::bad_request(format!("error decoding YAML: error converting YAML to JSON: {why}"))
        });
    }
    Value::from_text(arena, arena.copy_text(text)).map_err(|error| {
        Failure::bad_request(format!("the object provided is unrecognized (must be of type {error})"))
    })
}

/// Parses YAML.
fn parse_yaml<'a>(arena: &'a Arena, text: &str) -> Result<Value<'a>, String> {
    // Most bodies of YAML are JSON.
    if text.trim_start().starts_with('{')
        && !yaml::is_json_alone(text)
        && let Ok(value) = Value::from_text(arena, arena.copy_text(text))
    {
        return Ok(value);
    }
    let document = yaml::read(text).map_err(|error| error.to_string())?;
    Value::from_text(arena, arena.copy_text(&document.json)).map_err(|error| error.to_string())
}

/// The deepest object. Most JSON parsers stop at 128 levels, and lists and `managedFields` add some.
const MAX_DEPTH: usize = 100;

/// Refuses an object that is too deep for other parsers.
pub(crate) fn check_depth(object: Value<'_>) -> Result<(), Failure> {
    fn fits(value: Value<'_>, depth: usize) -> bool {
        match value {
            Value::List(items) => depth > 0 && items.iter().all(|item| fits(*item, depth - 1)),
            Value::Map(map) => depth > 0 && map.members().iter().all(|(_, value)| fits(*value, depth - 1)),
            _ => true,
        }
    }
    if fits(object, MAX_DEPTH) { Ok(()) } else { Err(too_deep()) }
}

pub(crate) fn too_deep() -> Failure {
    Failure::bad_request(format!("lists and maps are nested more than {MAX_DEPTH} levels deep"))
}

/// The object in the body of a create or update.
pub(crate) fn parse_object<'a>(
    arena: &'a Arena,
    text: &str,
    is_yaml: bool,
    kind: &str,
) -> Result<Value<'a>, Failure> {
    let unrecognized = |why: &str| {
        unrecognized(kind, &format!("couldn't get version/kind; json parse error: {why}"), text.as_bytes())
    };
    let value = if is_yaml {
        parse_yaml(arena, text).map_err(|why| self::unrecognized(kind, &why, text.as_bytes()))?
    } else {
        parse(arena, text, false).map_err(|failure| {
            // Parsed again for the error.
            let error = serde_json::from_str::<serde::de::IgnoredAny>(text).err();
            error.map_or(failure, |error| unrecognized(&in_go(&error)))
        })?
    };
    let found = match value {
        Value::Map(_) | Value::Null => return Ok(value),
        Value::List(_) => "array",
        Value::String(_) => "string",
        Value::Bool(_) => "bool",
        Value::Int(_) | Value::Float(_) => "number",
    };
    Err(unrecognized(&format!(
        r#"json: cannot unmarshal {found} into Go value of type struct {{ APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }}"#
    )))
}

/// The object in a body of protobuf, which has this kind unless it names one.
pub(crate) fn parse_protobuf<'a>(
    arena: &'a Arena,
    body: &[u8],
    expected: &GroupVersionKind,
) -> Result<Value<'a>, Failure> {
    TYPES.read_protobuf(arena, body, expected).map_err(|Unreadable { kind: found, error }| match found {
        None => unrecognized(&expected.kind, &error.to_string(), body),
        Some(found) => Failure::bad_request(format!(
            "{} in version {:?} cannot be handled as a {}: {error}",
            found.kind, found.version, expected.kind
        )),
    })
}

pub(crate) fn unrecognized(kind: &str, why: &str, body: &[u8]) -> Failure {
    let summary = summary(body);
    Failure::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {why} ({summary})"
    ))
}

/// The beginning of a body for messages.
fn summary(body: &[u8]) -> String {
    const SHOWN: usize = 30;
    let (shown, more) = if body.len() > SHOWN { (&body[..SHOWN], " ...") } else { (body, "") };
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(shown)),
        Some(_) => shown.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}")) + more,
    }
}

/// Go's message for truncated JSON. Other errors have our parser's.
pub(crate) fn in_go(error: &serde_json::Error) -> String {
    if error.is_eof() { "unexpected end of JSON input".to_owned() } else { error.to_string() }
}

/// The object with the request's empty `managedFields`, which ask for a reset and are lost by decoding.
fn with_reset<'a>(arena: &'a Arena, object: Value<'a>, asked: Value<'a>) -> Value<'a> {
    let path = ["metadata", "managedFields"];
    match asked.at(&path) {
        Some(list @ Value::List([])) => object.with(arena, &path, Some(list)),
        _ => object,
    }
}

impl Server {
    /// Decodes the object of a request.
    pub(crate) fn read_object<'a>(
        &self,
        arena: &'a Arena,
        resource: &'a Resource,
        object: Value<'a>,
    ) -> Result<ReadObject<'a>, Failure> {
        let read = self.read(arena, resource, object, true)?;
        Ok(ReadObject { object: without_nulls(arena, resource, read.object), ..read })
    }

    /// Decodes an object and sets its defaults.
    pub(crate) fn completed<'a>(
        &self,
        arena: &'a Arena,
        resource: &'a Resource,
        object: Value<'a>,
    ) -> Result<ReadObject<'a>, Failure> {
        self.read(arena, resource, object, false)
    }

    /// The object of an update as it is stored, without the empty lists that only `managedFields` records.
    pub(crate) fn without_empty_lists<'a>(
        &self,
        arena: &'a Arena,
        resource: &Resource,
        object: Value<'a>,
    ) -> Value<'a> {
        let Schema::BuiltIn { of: Some(of), .. } = &resource.schema else { return object };
        if !has_empty_list(object) {
            return object;
        }
        let reader =
            Decoder { types: &TYPES, arena, fills_in: false, keeps_empty: false, release: self.release };
        reader.decode(*of, object).map_or(object, |decoded| decoded.object)
    }

    fn read<'a>(
        &self,
        arena: &'a Arena,
        resource: &'a Resource,
        object: Value<'a>,
        keeps_empty: bool,
    ) -> Result<ReadObject<'a>, Failure> {
        let reader = Decoder { types: &TYPES, arena, fills_in: true, keeps_empty, release: self.release };
        let asked = object;
        match &resource.schema {
            Schema::BuiltIn { of: Some(of), .. } => {
                let unreadable = |error: String| {
                    let (kind, version) = (&resource.gvk.kind, &resource.gvk.version);
                    Failure::bad_request(format!(
                        "{kind} in version {version:?} cannot be handled as a {kind}: {error}"
                    ))
                };
                let decoded = reader.decode(*of, object).map_err(|error| unreadable(error.to_string()))?;
                if let Some(error) = kinds::unreadable(&resource.gvk, decoded.object) {
                    return Err(unreadable(error));
                }
                let mut object = kinds::default(arena, &resource.gvk, decoded.object);
                if resource.is(definitions::GROUP, definitions::KIND) {
                    object = definitions::changed(arena, object, crd::default);
                }
                let object = with_reset(arena, object, asked);
                Ok(ReadObject { object, unknown: decoded.unknown })
            }
            // A built-in kind without a Go type, which has no objects.
            Schema::BuiltIn { of: None, .. } => Ok(ReadObject { object, unknown: Vec::new() }),
            Schema::Custom(custom) => {
                let Some(version) = custom.version() else {
                    return Ok(ReadObject { object, unknown: Vec::new() });
                };
                let read_metadata = |metadata| {
                    let plain = Decoder { fills_in: false, ..reader };
                    let decoded =
                        plain.decode(TYPES.metadata(), metadata).map_err(|error| error.to_string())?;
                    Ok((decoded.object, decoded.unknown))
                };
                let decoded = version.decode(arena, object, &read_metadata).map_err(Failure::bad_request)?;
                Ok(ReadObject { object: decoded.object, unknown: decoded.unknown_fields })
            }
        }
    }
}

/// Drops nulls that the schema of a custom resource doesn't allow. An applied object keeps them until it is stored.
pub(crate) fn without_nulls<'a>(arena: &'a Arena, resource: &Resource, object: Value<'a>) -> Value<'a> {
    match &resource.schema {
        Schema::Custom(custom) => {
            custom.version().map_or(object, |version| version.without_nulls(arena, object))
        }
        Schema::BuiltIn { .. } => object,
    }
}

fn has_empty_list(value: Value<'_>) -> bool {
    match value {
        Value::List(items) => items.is_empty() || items.iter().any(|item| has_empty_list(*item)),
        Value::Map(map) => map.members().iter().any(|(_, value)| has_empty_list(*value)),
        _ => false,
    }
}

/// A custom resource as read from the store, with defaults.
pub(crate) fn with_defaults<'a>(arena: &'a Arena, resource: &'a Resource, object: Value<'a>) -> Value<'a> {
    match &resource.schema {
        Schema::Custom(custom) => custom.version().map_or(object, |version| version.default(arena, object)),
        Schema::BuiltIn { .. } => object,
    }
}

/// Prepares an object by the strategy of its kind.
pub(crate) fn prepare<'a>(
    arena: &'a Arena,
    resource: &'a Resource,
    subresource: &str,
    new: Value<'a>,
    old: Option<Value<'a>>,
    now: Timestamp,
) -> Value<'a> {
    match &resource.schema {
        Schema::Custom(custom) => match custom.version() {
            Some(version) => version.prepare(arena, new, old, subresource == "status"),
            None => new,
        },
        Schema::BuiltIn { .. } if resource.is(definitions::GROUP, definitions::KIND) => {
            let old = old.map(|old| old.to_json());
            let to_status = subresource == "status";
            definitions::changed(arena, new, |crd| crd::prepare(crd, old.as_ref(), to_status))
        }
        Schema::BuiltIn { .. } => kinds::prepare(arena, &resource.gvk, subresource, new, old, now),
    }
}

/// Validates an object before it is stored, and collects warnings.
pub(crate) fn validate(
    resource: &Resource,
    subresource: &str,
    new: Value<'_>,
    old: Option<Value<'_>>,
) -> Findings {
    let gvk = &resource.gvk;
    match &resource.schema {
        Schema::Custom(custom) => {
            let Some(version) = custom.version() else { return Findings::default() };
            let metadata =
                kinds::validate_metadata(new, old, kinds::NameRule::Subdomain, resource.namespaced);
            let write = custom::Write {
                new,
                old,
                status: subresource == "status",
                check_metadata: &kinds::validate_embedded,
            };
            let mut findings = version.validate(&Arena::new(), write, metadata);
            findings.warnings.extend(custom::finalizer_warnings(new, old));
            findings
        }
        Schema::BuiltIn { .. } if resource.is(definitions::GROUP, definitions::KIND) => {
            let metadata = kinds::validate_metadata(new, old, kinds::NameRule::Subdomain, false);
            let new = new.to_json();
            if subresource == "status" {
                return Findings { errors: crd::validate_status(&new, metadata), warnings: Vec::new() };
            }
            let old = old.map(|old| old.to_json());
            Findings {
                errors: crd::validate(&new, old.as_ref(), metadata),
                warnings: crd::warnings(&new, old.as_ref()),
            }
        }
        Schema::BuiltIn { .. } => {
            let not_implemented = || {
                let qualified = resource.qualified();
                format!("baton-apiserver doesn't implement the defaults and the validation of {qualified}")
            };
            let warnings = if kinds::is_implemented(gvk) {
                kinds::warnings(gvk, subresource, new, old)
            } else {
                vec![not_implemented()]
            };
            Findings { errors: kinds::validate(gvk, subresource, new, old), warnings }
        }
    }
}
