//! The operator's log, in the level and format of its arguments.

use tracing::Subscriber;
use tracing_subscriber::{
    Layer as _,
    filter::{LevelFilter, ParseError, Targets},
    fmt::MakeWriter,
    layer::SubscriberExt as _,
    registry::LookupSpan,
};

use super::cli::{LogFormat, RunArgs};

/// A subscriber that writes the log to this writer, with or without colours.
///
/// # Errors
/// When `--log` isn't a list of directives.
pub fn log_to<W>(
    writer: W,
    ansi: bool,
    args: &RunArgs,
) -> Result<impl Subscriber + for<'a> LookupSpan<'a> + Send + Sync + use<W>, ParseError>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let filter: Targets = args.log.parse()?;
    // kube logs a response that it can't decode as a whole, with all values in it. The request's own error has none.
    let filter = filter.with_target("kube_client::client", LevelFilter::ERROR);
    let logs = tracing_subscriber::fmt::layer().with_ansi(ansi).with_writer(writer);
    let logs = match args.log_format {
        LogFormat::Text => logs.boxed(),
        LogFormat::Json => logs.json().boxed(),
    };
    Ok(tracing_subscriber::registry().with(logs.with_filter(filter)))
}
