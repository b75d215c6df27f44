//! Where the API server's OpenAPI v3 documents are, and how one is fetched.

use std::{collections::BTreeMap, time::Duration};

use http::Request;
use kube::Client;
use serde::Deserialize;

use crate::{ApiError, bounded};

/// Where the index is.
pub const INDEX: &str = "/openapi/v3";

/// The index: where each document is.
#[derive(Deserialize)]
pub struct Index {
    paths: BTreeMap<String, Location>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    #[serde(rename = "serverRelativeURL")]
    server_relative_url: String,
}

impl Index {
    /// The URL of the document at this path; none where it isn't served. It has the document's hash in it.
    pub fn url(&self, path: &str) -> Option<&str> {
        self.paths.get(path).map(|location| location.server_relative_url.as_str())
    }
}

/// The text at a URL, as JSON.
///
/// # Errors
/// When the request fails, or gets no response within the limit.
pub async fn get(client: &Client, limit: Duration, url: &str) -> Result<String, ApiError> {
    let request = Request::get(url).header(http::header::ACCEPT, "application/json").body(Vec::new());
    let request = request.map_err(kube::Error::HttpError).map_err(ApiError::Client)?;
    bounded(limit, client.request_text(request)).await
}
