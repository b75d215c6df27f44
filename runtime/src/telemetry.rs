//! Traces for an OpenTelemetry collector, with the feature `otel`.
//!
//! The spans are those of the program, such as one for each pass, with one for each request below it, which is kube's. They go to the
//! collector as OTLP over HTTP, in protobuf, without TLS: a collector runs beside the program or in its cluster.
//!
//! The exporter sends from a thread of its own, outside of tokio, so `Sender` hands each request to the runtime. `opentelemetry-http`
//! has a client as well, which needs the same `Sender` around it and adds HTTP/2.

use std::{str::FromStr, time::Duration};

use http::{Request, Response, Uri, uri::Authority};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::{Bytes, HttpClient, HttpError};
use opentelemetry_otlp::{
    ExporterBuildError, Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _,
};
use opentelemetry_sdk::{Resource, trace::SdkTracerProvider};
use tokio::{runtime::Handle, time::timeout};
use tracing::{Level, Subscriber};
use tracing_subscriber::{Layer, filter::Targets, registry::LookupSpan};

/// How long the last spans may take to be sent when the program ends.
const FLUSH: Duration = Duration::from_secs(3);
/// How long a request may take.
const LIMIT: Duration = Duration::from_secs(10);
/// The largest body of a response, in bytes: it is empty, or names an error.
const LARGEST: usize = 64 << 10;

/// Where spans are sent: an OTLP/HTTP endpoint such as `http://localhost:4318`. The path `/v1/traces` is added.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint(String);

impl FromStr for Endpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let example = "write it like `http://localhost:4318`";
        let uri: Uri = text.parse().map_err(|error| format!("{error}; {example}"))?;
        let is_valid = |authority: &Authority| {
            let host_and_port = authority.as_str().rsplit('@').next().unwrap_or_default();
            !authority.host().is_empty()
                && (host_and_port == authority.host() || authority.port_u16().is_some())
        };
        if !uri.authority().is_some_and(is_valid) {
            return Err(format!("it needs a host, and a port up to 65535; {example}"));
        }
        if uri.scheme_str() != Some("http") {
            return Err(format!("it has to be an http URL: TLS isn't supported; {example}"));
        }
        if uri.query().is_some() {
            return Err(format!("it can't have a query; {example}"));
        }
        let base = text.trim_end_matches('/');
        Ok(Self(if base.ends_with("/v1/traces") { base.to_owned() } else { format!("{base}/v1/traces") }))
    }
}

/// The spans that are still to be sent.
#[derive(Debug)]
pub struct Traces(SdkTracerProvider);

impl Traces {
    /// Sends what is left, for a moment at most. Blocks the thread.
    pub fn flush(self) {
        // The end of a program doesn't wait for a collector.
        let _ = self.0.shutdown_with_timeout(FLUSH);
    }
}

/// The layer that turns spans into traces of the service of this name and version: those of requests, and those of `target`, whatever
/// the level of the log. Call it within the runtime.
///
/// # Errors
/// When the exporter rejects its settings, some of which are in `OTEL_…` variables.
pub fn layer<S>(
    Endpoint(endpoint): &Endpoint,
    service: &'static str,
    version: &'static str,
    target: &str,
) -> Result<(impl Layer<S> + Send + Sync + use<S>, Traces), ExporterBuildError>
where
    S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
{
    let exporter = SpanExporter::builder()
        .with_http()
        .with_http_client(Sender::new())
        .with_protocol(Protocol::HttpBinary)
        .with_endpoint(endpoint)
        .build()?;
    let resource = Resource::builder()
        .with_service_name(service)
        .with_attribute(opentelemetry::KeyValue::new("service.version", version))
        .build();
    let provider = SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource).build();
    let spans = Targets::new()
        .with_target(target, Level::INFO)
        .with_target("kube_client::client::builder", Level::DEBUG);
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer(service)).with_filter(spans);
    Ok((layer, Traces(provider)))
}

/// Sends requests in the runtime in which it was made.
#[derive(Debug)]
struct Sender {
    client: Client<HttpConnector, Full<Bytes>>,
    runtime: Handle,
}

impl Sender {
    fn new() -> Self {
        Self { client: Client::builder(TokioExecutor::new()).build_http(), runtime: Handle::current() }
    }
}

#[async_trait::async_trait]
impl HttpClient for Sender {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let response = self.client.request(request.map(Full::new));
        let received = async {
            let (head, body) = response.await?.into_parts();
            let body = Limited::new(body, LARGEST).collect().await?.to_bytes();
            Ok::<_, HttpError>(Response::from_parts(head, body))
        };
        // A time limit begins within the runtime.
        self.runtime.spawn(async { timeout(LIMIT, received).await }).await??
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endpoint_is_a_plain_http_url() {
        let traces = Endpoint("http://localhost:4318/v1/traces".to_owned());
        for text in ["http://localhost:4318", "http://localhost:4318/", "http://localhost:4318/v1/traces"] {
            assert_eq!(text.parse(), Ok(traces.clone()));
        }
        for text in ["http://[::1]", "http://[::1]:4318"] {
            assert!(text.parse::<Endpoint>().is_ok(), "{text}");
        }
        for text in [
            "https://localhost:4318",
            "localhost:4318",
            "",
            "/v1/traces",
            "http://a:b",
            "http://a:99999",
            "http://:4318",
            "http://a?b",
        ] {
            let error = text.parse::<Endpoint>().unwrap_err();
            assert!(error.contains("http://localhost:4318"), "{text}: {error}");
        }
    }
}
