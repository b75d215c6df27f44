//! Chooses the requests about one object: writes as [`Sequence`] chooses them, reads in several forms, deletions, and requests that
//! make no sense.

use std::fmt;

use baton_testbed::{
    Json, Random,
    prediction::{Method, Write},
    raw::Request,
    writes::{Kind, Sequence},
};

use super::normal::Names;

/// A request, with names instead of values that servers generate.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    /// Its sort.
    pub(super) label: String,
    pub(super) method: &'static str,
    pub(super) uri: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) body: String,
    /// The path of the object that it is about.
    pub(super) object: String,
    write: Option<Write>,
}

impl Asked {
    /// A request outside a sequence.
    pub(super) fn of(
        label: &str,
        method: &'static str,
        uri: &str,
        header: Option<(&'static str, &str)>,
        body: String,
    ) -> Self {
        let headers = header.into_iter().map(|(name, value)| (name, value.to_owned())).collect();
        Self {
            label: label.to_owned(),
            method,
            object: uri.to_owned(),
            uri: uri.to_owned(),
            headers,
            body,
            write: None,
        }
    }

    /// A request with a JSON body, about an object at this path or in this collection.
    pub(super) fn plain(label: &str, method: &'static str, uri: &str, body: &str) -> Self {
        Self::of(label, method, uri, Some(("content-type", "application/json")), body.to_owned())
    }

    /// The request to one of the servers.
    pub(super) fn request(&self, names: &Names) -> Request {
        Request {
            method: self.method,
            uri: names.unnamed(&self.uri),
            headers: self.headers.clone(),
            body: names.unnamed(&self.body),
        }
    }

    /// Whether its response doesn't show what is written.
    pub(super) fn hides_times(&self) -> bool {
        self.uri.contains("/scale") || self.method == "DELETE"
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {:?} {}", self.method, self.uri, self.headers, self.body)
    }
}

/// The requests about one object.
pub(super) struct Requests {
    kind: &'static Kind,
    namespace: String,
    name: String,
    sequence: Sequence,
    random: Random,
}

pub(super) const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";
pub(super) const METADATA: &str = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

impl Requests {
    /// The requests about the object `web` of a namespace, or about one with a unique name if the kind has no namespace.
    pub(super) fn new(kind: &'static Kind, namespace: String, random: Random) -> Self {
        let mut random = random;
        let name = if kind.cluster { format!("web-{namespace}") } else { "web".to_owned() };
        let of_writes = Random::new(u64::try_from(random.below(1 << 30)).unwrap_or_default(), 1);
        let sequence = Sequence::new(kind, name.clone(), of_writes);
        Self { kind, namespace, name, sequence, random }
    }

    pub(super) fn length(&mut self) -> usize {
        self.sequence.length()
    }

    pub(super) fn pauses(&mut self) -> bool {
        self.sequence.pauses()
    }

    /// The path of the collection.
    fn collection(&self) -> String {
        self.collection_in(&self.kind.version)
    }

    /// A selector for this object: other objects without a namespace differ between the servers.
    fn among_others(&self) -> String {
        format!("fieldSelector=metadata.name%3D{}", self.name)
    }

    /// A list of the objects that both servers have.
    pub(super) fn list_uri(&self) -> String {
        let uri = self.collection();
        if self.kind.cluster { format!("{uri}?{}", self.among_others()) } else { format!("{uri}?") }
    }

    fn collection_in(&self, version: &str) -> String {
        let root = if self.kind.group.is_empty() { "/api" } else { "/apis" };
        let api_version = self.kind.api_version(version);
        let within =
            if self.kind.cluster { String::new() } else { format!("/namespaces/{}", self.namespace) };
        format!("{root}/{api_version}{within}/{}", self.kind.plural)
    }

    /// The path of the object.
    pub(super) fn object(&self) -> String {
        format!("{}/{}", self.collection(), self.name)
    }

    /// Notes a request after the responses of both servers.
    pub(super) fn responded(&mut self, asked: &Asked, succeeded: bool) {
        if let (Some(write), true) = (&asked.write, succeeded) {
            self.sequence.succeeded(write);
        }
    }

    /// The next request, given the live object.
    pub(super) fn next(&mut self, live: Option<&Json>) -> Asked {
        let weights = if live.is_none() { [90, 4, 4, 1, 1, 0] } else { [74, 7, 6, 4, 4, 5] };
        match self.random.weighted(&weights) {
            0 => self.write(live),
            1 => self.get(),
            2 => self.list(),
            3 => self.delete(live),
            4 => self.broken(live),
            _ => self.odd_write(live),
        }
    }

    /// A write of the sequence.
    fn write(&mut self, live: Option<&Json>) -> Asked {
        let write = self.sequence.next(live);
        let (method, content_type) = write.method.on_the_wire();
        let collection = self.collection_in(&write.version);
        let mut uri =
            if write.method == Method::Create { collection } else { format!("{collection}/{}", self.name) };
        if !write.subresource.is_empty() {
            uri = format!("{uri}/{}", write.subresource);
        }
        uri = format!("{uri}?fieldManager={}", write.manager);
        if let Method::Apply { force } = write.method {
            uri = format!("{uri}&force={force}");
        }
        if self.random.one_in(20) {
            uri += "&dryRun=All";
        }
        let label =
            if uri.contains("dryRun") { format!("{} (dry run)", write.label()) } else { write.label() };
        let headers = vec![("content-type", content_type.to_owned())];
        let (body, object) = (write.body.to_string(), self.object());
        Asked { label, method, uri, headers, body, object, write: Some(write) }
    }

    /// A write with unusual options or an unusual body.
    fn odd_write(&mut self, live: Option<&Json>) -> Asked {
        let mut asked = self.write(live);
        asked.write = None;
        match self.random.below(6) {
            0 => asked.uri += "&fieldValidation=Strict",
            1 => asked.uri += "&fieldValidation=Ignore",
            2 => asked.body = with_member(&asked.body, "unknownField"),
            3 => {
                asked.body = with_member(&asked.body, "unknownField");
                asked.uri += "&fieldValidation=Strict";
            }
            4 => {
                asked.body =
                    asked.body.replacen(&format!(r#""name":"{}""#, self.name), r#""name":"other""#, 1);
            }
            _ => asked.uri = asked.uri.replace("fieldManager=", "was="),
        }
        asked.label = format!("{} (odd)", asked.label);
        asked
    }

    fn read(&self, label: &str, uri: &str, accept: Option<&str>) -> Asked {
        let accept = accept.map(|accept| ("accept", accept));
        Asked { object: self.object(), ..Asked::of(label, "GET", uri, accept, String::new()) }
    }

    /// A read of the live object.
    pub(super) fn read_back(&self) -> Asked {
        self.read("get", &self.object(), None)
    }

    fn get(&mut self) -> Asked {
        let uri = self.object();
        match self.random.below(6) {
            0 => self.read("get a table", &uri, Some(TABLE)),
            1 => self.read("get metadata", &uri, Some(METADATA)),
            2 => self.read("get status", &format!("{uri}/status"), None),
            3 => self.read("get scale", &format!("{uri}/scale"), None),
            4 => self.read("get another", &format!("{uri}-other"), None),
            _ => self.read("get", &uri, None),
        }
    }

    fn list(&mut self) -> Asked {
        let uri = self.list_uri();
        let selector = self.random.pick(&["a=x", "a!=x", "a", "!a", "a in (x,y)", "app=web", "a=x,b", "a=="]);
        let field = self.random.pick(&[
            "metadata.name=web",
            "metadata.name!=web",
            "metadata.namespace=x",
            "spec.replicas=1",
            "status.phase=Pending",
            "type=Opaque",
        ]);
        let field = field.replace("web", &self.name);
        let query = |key: &str, value: &str| {
            let value = baton_testbed::query::escape(value);
            match uri.split_once("fieldSelector=") {
                Some((path, own)) if key == "fieldSelector" => format!("{path}{key}={own}%2C{value}"),
                _ => format!("{uri}&{key}={value}"),
            }
        };
        match self.random.below(7) {
            0 => self.read("list a table", &uri, Some(TABLE)),
            1 => self.read("list metadata", &uri, Some(METADATA_LIST)),
            2 | 3 => self.read("list by label", &query("labelSelector", selector), None),
            4 => self.read("list by field", &query("fieldSelector", &field), None),
            5 => self.read("list one", &query("limit", "1"), None),
            _ => self.read("list", &uri, None),
        }
    }

    fn delete(&mut self, live: Option<&Json>) -> Asked {
        let mut options = Json::object().with("apiVersion", "v1").with("kind", "DeleteOptions");
        let mut label = "delete";
        match self.random.below(8) {
            0 => options.set("propagationPolicy", "Foreground"),
            1 => options.set("propagationPolicy", "Orphan"),
            2 => options.set("propagationPolicy", "Background"),
            3 => {
                label = "delete by precondition";
                let uid = "0b7ab0a5-0b1a-4b1c-8d7a-7d3f6c1e2f12";
                options.set("preconditions", Json::object().with("uid", uid));
            }
            4 => {
                label = "delete by precondition";
                options.set("preconditions", Json::object().with("resourceVersion", "1"));
            }
            5 => {
                label = "delete (dry run)";
                options.set("dryRun", vec![Json::string("All")]);
            }
            6 => options.set("propagationPolicy", "Sideways"),
            _ => {}
        }
        let uri = if live.is_some() && self.random.one_in(6) {
            label = "delete collection";
            // Controllers create others, again and again.
            format!("{}?{}", self.collection(), self.among_others())
        } else {
            self.object()
        };
        Asked { object: self.object(), ..Asked::plain(label, "DELETE", &uri, &options.to_string()) }
    }

    /// A request that is always refused.
    fn broken(&mut self, live: Option<&Json>) -> Asked {
        let mut asked = self.write(live);
        asked.write = None;
        "nonsense".clone_into(&mut asked.label);
        match self.random.below(7) {
            0 => asked.body = asked.body[..asked.body.len() / 2].to_owned(),
            1 => asked.headers = vec![("content-type", "text/plain".to_owned())],
            2 => asked.uri = asked.uri.replace(&self.kind.plural, "nothings"),
            3 => asked.uri += "&dryRun=Some",
            4 => asked.uri += "&fieldValidation=Maybe",
            5 => "[]".clone_into(&mut asked.body),
            _ => {
                let name = format!("/{}", self.name);
                asked.uri = asked.uri.replace(&name, &format!("{name}/nowhere"));
            }
        }
        asked
    }
}

/// A body with another member in its spec, or at its top.
fn with_member(body: &str, name: &str) -> String {
    let Ok(mut json) = body.parse::<Json>() else { return body.to_owned() };
    match json.get_mut("spec") {
        Some(spec @ Json::Object(_)) => spec.set(name, "x"),
        _ => json.set(name, "x"),
    }
    json.to_string()
}
