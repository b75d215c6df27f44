//! The log of a program, as text for people or as JSON.

use std::str::FromStr;

use tracing::Subscriber;
use tracing_subscriber::{
    Layer as _,
    filter::{LevelFilter, ParseError, Targets},
    fmt::MakeWriter,
    layer::SubscriberExt as _,
    registry::LookupSpan,
};

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

impl LogFormat {
    /// The names of all formats, for a flag.
    pub const NAMES: [&str; 2] = ["text", "json"];
}

impl FromStr for LogFormat {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "text" => Ok(Self::Text),
            "json" => Ok(Self::Json),
            _ => Err("the format of a log is `text` or `json`".to_owned()),
        }
    }
}

/// A subscriber that writes the log to this writer, with colours or without. `directives` are a level such as `info`, or levels by
/// target such as `info,my_operator=debug`.
///
/// # Errors
/// When `directives` can't be parsed.
pub fn log_to<W>(
    writer: W,
    ansi: bool,
    directives: &str,
    format: LogFormat,
) -> Result<impl Subscriber + for<'a> LookupSpan<'a> + Send + Sync + use<W>, ParseError>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let filter: Targets = directives.parse()?;
    // kube logs a response that it can't decode as a whole, with all values in it. The request's own error has none.
    let filter = filter.with_target("kube_client::client", LevelFilter::ERROR);
    let logs = tracing_subscriber::fmt::layer().with_ansi(ansi).with_writer(writer);
    let logs = match format {
        LogFormat::Text => logs.boxed(),
        LogFormat::Json => logs.json().boxed(),
    };
    Ok(tracing_subscriber::registry().with(logs.with_filter(filter)))
}
