//! In which form and format a client wants an answer, after `endpoints/handlers/negotiation` of apiserver.

use crate::status::Failure;

/// How an answer is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Yaml,
}

/// What is made of objects before they are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Object,
    /// `PartialObjectMetadata`, or a list of these.
    Metadata,
    Table,
    /// `APIGroupDiscoveryList`
    Discovery,
}

/// What a client accepts first of what is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Media {
    pub(crate) format: Format,
    pub(crate) form: Form,
}

/// As the real server says it, which writes protobuf as well.
const SUPPORTED: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

impl Media {
    pub(crate) const JSON: Self = Self { format: Format::Json, form: Form::Object };

    /// Reads an `Accept` header.
    pub(crate) fn accepted(header: &str) -> Result<Self, Failure> {
        if header.trim().is_empty() {
            return Ok(Self::JSON);
        }
        header.split(',').find_map(Self::clause).ok_or_else(|| Failure::not_acceptable(SUPPORTED))
    }

    fn clause(clause: &str) -> Option<Self> {
        let mut parts = clause.split(';').map(str::trim);
        let format = match parts.next()? {
            "application/json" | "*/*" | "application/*" => Format::Json,
            "application/yaml" => Format::Yaml,
            _ => return None,
        };
        let parameters: Vec<_> = parts.filter_map(|part| part.split_once('=')).collect();
        let get = |key: &str| parameters.iter().find(|(own, _)| *own == key).map(|(_, value)| *value);
        let form = match (get("as"), get("g"), get("v")) {
            (None, _, _) => Form::Object,
            (Some("Table"), Some("meta.k8s.io"), Some("v1")) => Form::Table,
            (
                Some("PartialObjectMetadata" | "PartialObjectMetadataList"),
                Some("meta.k8s.io"),
                Some("v1"),
            ) => Form::Metadata,
            (Some("APIGroupDiscoveryList"), Some("apidiscovery.k8s.io"), Some("v2")) => Form::Discovery,
            _ => return None,
        };
        Some(Self { format, form })
    }
}
