//! Content negotiation, after `endpoints/handlers/negotiation` of apiserver.

use crate::status::Failure;

/// The encoding of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Yaml,
}

/// The transformation of objects in a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Object,
    /// `PartialObjectMetadata`
    Metadata,
    /// `PartialObjectMetadataList`
    MetadataList,
    Table,
    /// `APIGroupDiscoveryList`
    Discovery,
}

/// The accepted media type that the server prefers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Media {
    pub(crate) format: Format,
    pub(crate) form: Form,
    /// The version of the form; empty for the object's own.
    pub(crate) version: &'static str,
}

/// The kind of endpoint, which decides the available formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// Objects of a resource.
    Objects,
    /// `/api` and `/apis`.
    Groups,
    /// Others, and all failures.
    Others,
}

/// The formats in messages, as on the real server, which can write protobuf as well.
pub(crate) const FORMATS: [&str; 3] =
    ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];
/// The formats of watches.
pub(crate) const STREAMS: [&str; 2] =
    ["application/json;stream=watch", "application/vnd.kubernetes.protobuf;stream=watch"];

/// A media range of an `Accept` header.
struct Clause<'h> {
    media_type: &'h str,
    quality: f64,
    parameters: Vec<(&'h str, &'h str)>,
}

impl Media {
    const JSON: Self = Self { format: Format::Json, form: Form::Object, version: "" };

    /// Negotiates by an `Accept` header.
    pub(crate) fn accepted(header: &str, endpoint: Endpoint) -> Result<Self, Failure> {
        if header.is_empty() {
            return Ok(Self::JSON);
        }
        let mut clauses: Vec<_> = header.split(',').map(Clause::read).collect();
        clauses
            .sort_by(|one, other| other.quality.total_cmp(&one.quality).then(one.rank().cmp(&other.rank())));
        let found = clauses.iter().find_map(|clause| clause.media(endpoint));
        found.ok_or_else(|| Failure::not_acceptable(&FORMATS.join(", ")))
    }

    /// The format of a failure.
    pub(crate) fn of_failure(header: &str) -> Format {
        Self::accepted(header, Endpoint::Others).map_or(Format::Json, |media| media.format)
    }

    /// Refuses a client that accepts none of these formats, as the routes of built-in resources do first.
    pub(crate) fn check_routed(header: &str, formats: &[&str]) -> Result<(), Failure> {
        let mut types = header.split(',').map(|clause| clause.split(';').next().unwrap_or_default());
        let is_accepted =
            |name: &str| name == "*/*" || formats.iter().any(|format| format.split(';').next() == Some(name));
        if header.is_empty() || types.any(|name| is_accepted(name.trim_matches(' '))) {
            return Ok(());
        }
        Err(Failure::no_representation(&formats.join(", ")))
    }
}

impl<'h> Clause<'h> {
    fn read(text: &'h str) -> Self {
        let mut parts = text.split(';').map(|part| part.trim_matches(' '));
        let media_type = parts.next().unwrap_or_default();
        let (mut quality, mut parameters) = (1.0, Vec::new());
        for (key, value) in parts.filter_map(|part| part.split_once('=')) {
            match (key.trim_matches(' '), value.trim_matches(' ')) {
                ("q", value) => quality = value.parse().unwrap_or_default(),
                parameter => parameters.push(parameter),
            }
        }
        Self { media_type, quality, parameters }
    }

    /// More specific ranges come first.
    fn rank(&self) -> usize {
        self.media_type.matches('*').count()
    }

    fn media(&self, endpoint: Endpoint) -> Option<Media> {
        let format = match self.media_type {
            "application/json" | "*/*" | "*" | "application/*" => Format::Json,
            "application/yaml" => Format::Yaml,
            _ => return None,
        };
        let get =
            |key: &str| self.parameters.iter().rev().find(|(own, _)| *own == key).map(|(_, value)| *value);
        let is_stream = get("stream")
            .is_none_or(|stream| stream.is_empty() || stream == "watch" && format == Format::Json);
        let is_served = get("sv")
            .is_none_or(|version| version.is_empty() || version == "v1" && endpoint == Endpoint::Objects);
        if !is_stream || !is_served {
            return None;
        }
        let asked = [get("as"), get("g"), get("v")];
        if asked == [None; 3] {
            return Some(Media { format, ..Media::JSON });
        }
        let [kind, group, version] = asked.map(Option::unwrap_or_default);
        let version = match (endpoint, group, version) {
            (Endpoint::Objects, "meta.k8s.io", "v1") => "meta.k8s.io/v1",
            (Endpoint::Objects, "meta.k8s.io", "v1beta1") => "meta.k8s.io/v1beta1",
            (Endpoint::Groups, "apidiscovery.k8s.io", "v2") => "apidiscovery.k8s.io/v2",
            _ => return None,
        };
        let form = match (endpoint, kind) {
            (Endpoint::Objects, "Table") => Form::Table,
            (Endpoint::Objects, "PartialObjectMetadata") => Form::Metadata,
            (Endpoint::Objects, "PartialObjectMetadataList") => Form::MetadataList,
            (Endpoint::Groups, "APIGroupDiscoveryList") => Form::Discovery,
            _ => return None,
        };
        Some(Media { format, form, version })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clause_of_the_highest_quality_that_can_be_served_wins() {
        let accepted = |header| {
            let media = Media::accepted(header, Endpoint::Objects).ok()?;
            Some((media.format, media.form, media.version))
        };
        let json = Some((Format::Json, Form::Object, ""));
        let yaml = Some((Format::Yaml, Form::Object, ""));
        let table = |version| Some((Format::Json, Form::Table, version));
        assert_eq!(accepted(""), json);
        assert_eq!(accepted("*/*,application/yaml"), yaml, "what is more special comes first");
        assert_eq!(accepted("application/yaml;q=0.1, application/json"), json);
        assert_eq!(accepted("application/json;q=0.1,application/yaml;q=0.9"), yaml);
        assert_eq!(accepted("application/json;as=Table;v=v1;g=meta.k8s.io"), table("meta.k8s.io/v1"));
        assert_eq!(
            accepted("application/json;as=Table;v=v1beta1;g=meta.k8s.io"),
            table("meta.k8s.io/v1beta1")
        );
        assert_eq!(accepted("application/json;as=Table;v=v2;g=meta.k8s.io,*/*"), json);
        assert_eq!(accepted("application/json;as=Table"), None);
        assert_eq!(accepted("text/html"), None);
        assert_eq!(Media::of_failure("application/json;as=Table;v=v1;g=meta.k8s.io"), Format::Json);
    }

    #[test]
    fn a_route_takes_no_part_of_a_wildcard() {
        assert!(Media::check_routed("application/*", &FORMATS).is_err());
        assert!(Media::check_routed("text/html, */*;q=0.8", &FORMATS).is_ok());
        assert!(Media::check_routed("application/json;as=Table", &FORMATS).is_ok());
    }
}
