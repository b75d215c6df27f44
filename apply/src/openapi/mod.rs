//! The API server's OpenAPI v3 documents: where each is, and how one is fetched.

mod lean;

use std::{collections::BTreeMap, time::Duration};

use http::Request;
use kube::{Client, core::ApiResource};
use serde::Deserialize;
use serde_json::Value;

use crate::{ApiError, with_timeout};

/// The index: where each document is.
#[derive(Debug, Deserialize)]
pub struct Index {
    paths: BTreeMap<String, Location>,
}

#[derive(Debug, Deserialize)]
struct Location {
    #[serde(rename = "serverRelativeURL")]
    url: String,
}

/// A document, or the index, that couldn't be fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenApiError {
    /// The request failed.
    #[error(transparent)]
    Request(#[from] ApiError),
    /// The response doesn't have the expected form.
    #[error("the response isn't JSON, or not of the expected form")]
    Json(#[from] serde_json::Error),
}

impl Index {
    /// Fetches the index.
    ///
    /// # Errors
    /// When the request fails, gets no response within the limit, or the response isn't an index.
    pub async fn fetch(client: &Client, limit: Duration) -> Result<Self, OpenApiError> {
        Ok(serde_json::from_str(&text(client, limit, "/openapi/v3").await?)?)
    }

    /// The URL of the document that describes a kind; none if it isn't served. It contains the document's hash.
    pub fn url(&self, kind: &ApiResource) -> Option<&str> {
        self.paths.get(&document_path(kind)).map(|location| location.url.as_str())
    }

    /// The URLs of the documents of all versions of a kind's group.
    pub fn urls_of_group(&self, kind: &ApiResource) -> impl Iterator<Item = &str> {
        let group = if kind.group.is_empty() { "api/".to_owned() } else { format!("apis/{}/", kind.group) };
        let of_group = move |(path, _): &(&String, &Location)| path.starts_with(&group);
        self.paths.iter().filter(of_group).map(|(_, location)| location.url.as_str())
    }
}

/// The path of the document that describes a kind, below `/openapi/v3/`.
pub fn document_path(kind: &ApiResource) -> String {
    let ApiResource { group, version, .. } = kind;
    if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") }
}

/// Fetches the parts of the document at a URL that describe these kinds.
///
/// # Errors
/// When the request fails, gets no response within the limit, or the response isn't an OpenAPI document.
pub async fn fetch(
    client: &Client,
    limit: Duration,
    url: &str,
    kinds: &[ApiResource],
) -> Result<Value, OpenApiError> {
    Ok(lean::read(&text(client, limit, url).await?, kinds)?)
}

/// Fetches the parts of several documents that describe these kinds, as [one](united).
pub(crate) async fn fetch_all(
    client: &Client,
    limit: Duration,
    urls: impl IntoIterator<Item = &str>,
    kinds: &[ApiResource],
) -> Result<Value, OpenApiError> {
    let mut documents = Vec::new();
    for url in urls {
        documents.push(fetch(client, limit, url, kinds).await?);
    }
    Ok(united(documents))
}

/// One document of those of several versions of a group. The types of each version have names of their own.
pub fn united(documents: impl IntoIterator<Item = Value>) -> Value {
    fn add(to: &mut Value, more: Value) {
        match (to, more) {
            (Value::Object(members), Value::Object(more)) => {
                for (name, value) in more {
                    add(members.entry(name).or_insert(Value::Null), value);
                }
            }
            (to, more) => *to = more,
        }
    }
    documents.into_iter().fold(Value::Null, |mut united, document| {
        add(&mut united, document);
        united
    })
}

async fn text(client: &Client, limit: Duration, url: &str) -> Result<String, ApiError> {
    let request = Request::get(url).header(http::header::ACCEPT, "application/json").body(Vec::new());
    let request = request.map_err(kube::Error::HttpError).map_err(ApiError::Client)?;
    with_timeout(limit, client.request_text(request)).await
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::{apps::v1::Deployment, core::v1::Service};

    use super::*;

    #[test]
    fn a_documents_path_has_its_group_and_version() {
        assert_eq!(document_path(&ApiResource::erase::<Service>(&())), "api/v1");
        assert_eq!(document_path(&ApiResource::erase::<Deployment>(&())), "apis/apps/v1");
    }
}
