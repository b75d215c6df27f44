//! Requests and responses.

mod body;
mod media;
mod warnings;

pub(crate) use self::{
    body::Body,
    media::{Endpoint, FORMATS, Form, Format, Media, STREAMS},
};

use baton_merge::yaml;
use bytes::Bytes;
use http::{
    HeaderValue, Method, StatusCode,
    header::{ACCEPT, CONTENT_TYPE, HeaderName, RETRY_AFTER, USER_AGENT, X_CONTENT_TYPE_OPTIONS},
};
use serde_json::Value;

use crate::{options::Query, status::Failure};

const WARNING: HeaderName = HeaderName::from_static("warning");

/// A request with its whole body.
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: Query,
    pub(crate) headers: http::HeaderMap,
    pub(crate) body: Bytes,
}

impl Request {
    pub(crate) fn new(parts: http::request::Parts, body: Bytes) -> Self {
        let path = parts.uri.path().to_owned();
        Self { query: Query::of(parts.uri.query()), method: parts.method, path, headers: parts.headers, body }
    }

    pub(crate) fn header(&self, name: impl http::header::AsHeaderName) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// The `Accept` header.
    pub(crate) fn accept(&self) -> &str {
        self.header(ACCEPT)
    }

    pub(crate) fn user_agent(&self) -> &str {
        self.header(USER_AGENT)
    }

    /// The media type of the body, without parameters.
    pub(crate) fn content_type(&self) -> &str {
        self.header(CONTENT_TYPE).split(';').next().unwrap_or_default().trim()
    }
}

/// Marks a response whose body is the events of a watch.
#[derive(Clone, Copy)]
pub(crate) struct Streamed;

/// A response, before it is converted to one of the `http` crate.
pub(crate) struct Response {
    pub(crate) code: u16,
    pub(crate) body: Body,
    /// Empty without a body.
    pub(crate) content_type: &'static str,
    pub(crate) warnings: Vec<String>,
    pub(crate) headers: Vec<(HeaderName, String)>,
}

impl Response {
    /// A response of this JSON.
    pub(crate) fn text(code: u16, json: String) -> Self {
        Self {
            code,
            body: Body::whole(json.into()),
            content_type: "application/json",
            warnings: Vec::new(),
            headers: Vec::new(),
        }
    }

    pub(crate) fn json(code: u16, value: &Value) -> Self {
        Self::text(code, value.to_string())
    }

    pub(crate) fn plain(code: u16, text: &str) -> Self {
        Self {
            content_type: "text/plain; charset=utf-8",
            headers: vec![(X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned())],
            ..Self::text(code, text.to_owned())
        }
    }

    pub(crate) fn failure(failure: &Failure) -> Self {
        let mut response = Self::json(failure.code, &failure.to_json());
        if let Some(seconds) = failure.retry_after {
            response.headers.push((RETRY_AFTER, seconds.to_string()));
        }
        response
    }

    /// Converts JSON to the client's format.
    pub(crate) fn in_format(self, format: Format) -> Self {
        if format == Format::Json || self.content_type != "application/json" {
            return self;
        }
        let json = self.body.as_whole().and_then(|json| str::from_utf8(json).ok());
        match json.and_then(|json| yaml::of_json(json).ok()) {
            Some(yaml) => Self { body: Body::whole(yaml.into()), content_type: "application/yaml", ..self },
            None => self,
        }
    }

    pub(crate) fn into_response(self) -> http::Response<Body> {
        let is_streamed = self.body.as_whole().is_none();
        let mut response = http::Response::new(self.body);
        if is_streamed {
            response.extensions_mut().insert(Streamed);
        }
        *response.status_mut() = StatusCode::from_u16(self.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let headers = response.headers_mut();
        if !self.content_type.is_empty() {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(self.content_type));
        }
        headers.insert(http::header::CACHE_CONTROL, HeaderValue::from_static("no-cache, private"));
        for (name, value) in self.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(name, value);
            }
        }
        for warning in warnings::limited(self.warnings) {
            let quoted = warning.replace('\\', "\\\\").replace('"', "\\\"");
            if let Ok(value) = HeaderValue::from_bytes(format!("299 - \"{quoted}\"").as_bytes()) {
                headers.append(WARNING, value);
            }
        }
        response
    }
}
