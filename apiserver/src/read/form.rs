//! Objects in the requested form: whole, metadata only, or as a table.

use std::{borrow::Cow, fmt::Write as _, sync::Arc};

use baton_merge::Arena;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::{
    http::{Form, Media, Request, Response},
    kinds,
    registry::{Resource, Schema},
    scale,
    server::{RequestTarget, Server, media},
    status::Failure,
    store::{Key, Record},
    table::{IncludeObject, Rows, TableOptions, TableRequest},
};

/// A response with an object.
pub(crate) fn rendered(
    server: &Server,
    request: &Request,
    target: &RequestTarget,
    record: &Record,
    code: u16,
) -> Result<Response, Failure> {
    let wanted = media(request, target)?;
    if target.subresource == "scale" {
        let arena = Arena::new();
        let resource = &target.resource;
        let api_version = resource.gvk.api_version();
        let parent = record.value(&arena, &api_version, &resource.gvk.kind).map_err(Failure::internal)?;
        let scale = scale::of(resource, parent)?;
        let scale = match wanted.form {
            Form::Table => scale_table(server, request, &scale, wanted.version)?,
            Form::Metadata => partial(&scale, wanted.version),
            Form::MetadataList => return Err(no_list("*autoscaling.Scale")),
            _ => scale,
        };
        return Ok(Response::json(code, &scale));
    }
    let text = Rendering::new(request, &target.resource, wanted, server.now())?.object(record)?;
    Ok(Response::text(code, text))
}

/// The table of a scale.
fn scale_table(
    server: &Server,
    request: &Request,
    scale: &Value,
    table_version: &str,
) -> Result<Value, Failure> {
    let arena = Arena::new();
    let scale = baton_merge::value::Value::from_json(&arena, scale).map_err(Failure::internal)?;
    let table = TableRequest {
        table_version,
        api_version: "autoscaling/v1",
        kind: "Scale",
        rows: Rows::BuiltIn { group: "autoscaling", kind: "Scale" },
        options: TableOptions { include: included(request)?, has_columns: true },
    };
    Ok(table.of_object(scale, server.now()))
}

/// The `includeObject` option of a table.
fn included(request: &Request) -> Result<IncludeObject, Failure> {
    let include = IncludeObject::parse(request.query.get("includeObject").unwrap_or_default());
    include.map_err(Failure::bad_request)
}

/// A response with a list.
pub(crate) fn listed(
    server: &Server,
    request: &Request,
    target: &RequestTarget,
    objects: &[(Key, Arc<Record>)],
    metadata: Value,
) -> Result<Response, Failure> {
    let wanted = media(request, target)?;
    let rendering = Rendering::new(request, &target.resource, wanted, server.now())?;
    Ok(Response::text(200, rendering.list(objects, metadata)?))
}

/// How the objects of a response are rendered.
pub(super) struct Rendering {
    resource: Arc<Resource>,
    api_version: String,
    form: Form,
    /// The version of the form.
    form_version: &'static str,
    include: IncludeObject,
    now: Timestamp,
}

impl Rendering {
    pub(super) fn new(
        request: &Request,
        resource: &Arc<Resource>,
        wanted: Media,
        now: Timestamp,
    ) -> Result<Self, Failure> {
        // Only tables have options.
        let include = if wanted.form == Form::Table { included(request)? } else { IncludeObject::default() };
        let api_version = resource.gvk.api_version();
        let Media { form, version: form_version, .. } = wanted;
        Ok(Self { resource: resource.clone(), api_version, form, form_version, include, now })
    }

    /// Whether it applies to watch events.
    pub(super) fn has_events(&self) -> bool {
        self.form != Form::MetadataList
    }

    pub(super) fn object(&self, record: &Record) -> Result<String, Failure> {
        match self.form {
            Form::Table => self.table(&[record], &Value::Null, true),
            Form::Metadata => Ok(partial(&parsed(record)?, self.form_version).to_string()),
            Form::MetadataList if self.resource.is_custom() => {
                Err(Failure::without_reason("content is not a list"))
            }
            Form::MetadataList => Err(no_list(&go_type(&self.resource, ""))),
            _ => {
                let record = self.resource.shown_record(record).map_err(Failure::internal)?;
                Ok(record.json(&self.api_version, &self.resource.gvk.kind))
            }
        }
    }

    /// The object of a watch event: its table has columns only in the first one.
    pub(super) fn event(&self, record: &Record, is_first: bool) -> Result<String, Failure> {
        match self.form {
            Form::Table => self.table(&[record], &Value::Null, is_first),
            _ => self.object(record),
        }
    }

    fn list(&self, objects: &[(Key, Arc<Record>)], metadata: Value) -> Result<String, Failure> {
        let records: Vec<&Record> = objects.iter().map(|(_, record)| record.as_ref()).collect();
        match self.form {
            Form::Table => self.table(&records, &metadata, true),
            Form::Metadata => {
                let type_name = go_type(&self.resource, "List");
                let why = "you requested PartialObjectMetadata, but the requested object is a list";
                Err(Failure::new(406, "NotAcceptable", format!("{why} ({type_name})")))
            }
            Form::MetadataList => {
                let items = records.iter().map(|record| Ok(partial(&parsed(record)?, self.form_version)));
                let items = items.collect::<Result<Vec<_>, Failure>>()?;
                let items = if items.is_empty() { Value::Null } else { items.into() };
                let list = json!({
                    "kind": "PartialObjectMetadataList", "apiVersion": self.form_version, "metadata": metadata,
                    "items": items,
                });
                Ok(list.to_string())
            }
            _ => {
                let mut metadata = metadata;
                // Lists of custom resources always have `continue`.
                if self.resource.is_custom() && metadata.get("continue").is_none() {
                    metadata["continue"] = "".into();
                }
                let shown = records.into_iter().map(|record| self.resource.shown_record(record));
                let shown = shown.collect::<Result<Vec<_>, _>>().map_err(Failure::internal)?;
                Ok(self.plain_list(&shown, &metadata))
            }
        }
    }

    fn plain_list(&self, records: &[Cow<'_, Record>], metadata: &Value) -> String {
        let size: usize = records.iter().map(|record| record.text().len() + 64).sum();
        let mut text = String::with_capacity(size + 256);
        let (kind, api_version) = (&self.resource.list_kind, &self.api_version);
        // Writing to a string can't fail.
        let _ =
            write!(text, r#"{{"kind":"{kind}","apiVersion":"{api_version}","metadata":{metadata},"items":["#);
        for (position, record) in records.iter().enumerate() {
            if position > 0 {
                text.push(',');
            }
            // The items of a built-in list have no kind.
            if self.resource.is_custom() {
                text.push_str(&record.json(api_version, &self.resource.gvk.kind));
            } else {
                text.push_str(record.text());
            }
        }
        text.push_str("]}");
        text
    }

    fn table(&self, records: &[&Record], metadata: &Value, has_columns: bool) -> Result<String, Failure> {
        let arena = Arena::new();
        let objects = records.iter().map(|record| self.resource.value(&arena, record));
        let objects = objects.collect::<Result<Vec<_>, _>>().map_err(Failure::internal)?;
        let request = self.table_request(has_columns);
        let mut table = match (objects.as_slice(), metadata) {
            ([object], Value::Null) => request.of_object(*object, self.now),
            (objects, metadata) => {
                let metadata =
                    baton_merge::value::Value::from_json(&arena, metadata).map_err(Failure::internal)?;
                request.of_list(metadata, objects, self.now)
            }
        };
        // Rows, and the metadata in them, are made of stored objects.
        if self.resource.is_converted() && self.include == IncludeObject::Object {
            for (row, record) in records.iter().enumerate() {
                let record = self.resource.shown_record(record).map_err(Failure::internal)?;
                let text = record.json(&self.api_version, &self.resource.stored_as.kind);
                table["rows"][row]["object"] = serde_json::from_str(&text).map_err(Failure::internal)?;
            }
        }
        Ok(table.to_string())
    }

    fn table_request(&self, has_columns: bool) -> TableRequest<'_> {
        let gvk = &self.resource.stored_as;
        let rows = match &self.resource.schema {
            Schema::BuiltIn { .. } => Rows::BuiltIn { group: &gvk.group, kind: &gvk.kind },
            Schema::Custom(custom) => Rows::Custom(&custom.columns),
        };
        TableRequest {
            table_version: self.form_version,
            api_version: &self.api_version,
            kind: &gvk.kind,
            rows,
            options: TableOptions { include: self.include, has_columns },
        }
    }
}

fn parsed(record: &Record) -> Result<Value, Failure> {
    serde_json::from_str(record.text()).map_err(Failure::internal)
}

fn partial(object: &Value, api_version: &str) -> Value {
    let metadata = kinds::plain_metadata(object["metadata"].clone());
    json!({"kind": "PartialObjectMetadata", "apiVersion": api_version, "metadata": metadata})
}

fn no_list(type_name: &str) -> Failure {
    let why = "you requested PartialObjectMetadataList, but the requested object is not a list";
    Failure::new(406, "NotAcceptable", format!("{why} ({type_name})"))
}

/// The Go type of a resource's objects, lists or tables.
fn go_type(resource: &Resource, of: &str) -> String {
    if resource.is_custom() {
        return format!("*unstructured.Unstructured{of}");
    }
    let package = match resource.stored_as.group.split('.').next() {
        Some("") | None => "core",
        Some(package) => package,
    };
    format!("*{package}.{}{of}", resource.gvk.kind)
}

/// Bookmarks.
impl Rendering {
    pub(super) fn bookmark(
        &self,
        version: u64,
        ends_initial_events: bool,
        is_first: bool,
    ) -> Result<Value, Failure> {
        let (kind, api_version) = match self.form {
            Form::Table => ("Table", self.form_version),
            Form::Metadata => ("PartialObjectMetadata", self.form_version),
            _ => (self.resource.gvk.kind.as_str(), self.api_version.as_str()),
        };
        let mut metadata = json!({"resourceVersion": version.to_string()});
        if ends_initial_events {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        let bookmark = json!({"kind": kind, "apiVersion": api_version, "metadata": metadata});
        // A table has no annotations, but its rows have.
        if self.form == Form::Table && ends_initial_events {
            let arena = Arena::new();
            let object =
                baton_merge::value::Value::from_json(&arena, &bookmark).map_err(Failure::internal)?;
            return Ok(self.table_request(is_first).of_object(object, self.now));
        }
        Ok(bookmark)
    }
}
