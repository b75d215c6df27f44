//! The command line: flags, each with its environment variable.

use std::{net::SocketAddr, num::NonZeroU16, str::FromStr, time::Duration};

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

/// Runs applications on Kubernetes by server-side apply, and passes their replicas to an autoscaler without a drop.
#[derive(Debug, Parser)]
#[command(name = "baton", version, arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the operator until SIGTERM or Ctrl-C. On SIGHUP it looks at every Workload again.
    Run(RunArgs),
    /// Print the Workload CustomResourceDefinition as YAML, for `kubectl apply --server-side -f -`.
    Crd,
}

/// Settings of `baton run`. The cluster is found as by every client: in a pod by its ServiceAccount, else by
/// `KUBECONFIG` or `~/.kube/config`.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// Watch Workloads in this namespace only; all namespaces if absent.
    #[arg(long, env = "BATON_NAMESPACE")]
    pub namespace: Option<String>,
    /// How many Workloads are reconciled at the same time.
    #[arg(long, env = "BATON_CONCURRENCY", default_value = "8")]
    pub concurrency: NonZeroU16,
    /// The time limit of each request, such as `30s` or `1m`.
    #[arg(long, env = "BATON_REQUEST_TIMEOUT", default_value = "30s")]
    pub request_timeout: Span,
    /// Where `/healthz`, `/readyz` and `/metrics` are served.
    #[arg(long, env = "BATON_ADMIN_ADDR", default_value = "0.0.0.0:8080")]
    pub admin_addr: SocketAddr,
    /// Whether each write is predicted first, so that those that would change nothing aren't sent, and people are told what
    /// the others take. `false` sends every apply.
    #[arg(long, env = "BATON_PREDICT", default_value_t = true, action = ArgAction::Set)]
    pub predict: bool,
    /// How often a Workload is applied for real even if that should change nothing, in case that a prediction is wrong.
    /// About: a quarter more or less, so that they don't all come at once.
    #[arg(long, env = "BATON_RESYNC", default_value = "6h")]
    pub resync: Span,
    /// How often the API server is asked whether its schemas are still the same. A prediction that turns out wrong asks at
    /// once.
    #[arg(long, env = "BATON_SCHEMA_REFRESH", default_value = "5m")]
    pub schema_refresh: Span,
    /// How log lines are written.
    #[arg(long, env = "BATON_LOG_FORMAT", value_enum, default_value_t = LogFormat::Text)]
    pub log_format: LogFormat,
    /// What is logged: a level, or directives such as `info,baton_controller=debug`.
    #[arg(long, env = "BATON_LOG", default_value = "info")]
    pub log: String,
}

/// How log lines are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For eyes.
    Text,
    /// One JSON object a line.
    Json,
}

/// A span of time as people write it: `30s`, `1m 30s`, `500ms`. Longer than zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Duration);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let example = "write it like `30s` or `1m`";
        let duration: jiff::SignedDuration = text.parse().map_err(|error| format!("{error}; {example}"))?;
        match Duration::try_from(duration) {
            Ok(duration) if !duration.is_zero() => Ok(Self(duration)),
            _ => Err(format!("a time limit has to be longer than zero; {example}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn spans_are_read_as_people_write_them_and_refused_with_an_example() {
        assert_eq!("30s".parse(), Ok(Span(Duration::from_secs(30))));
        assert_eq!("1m 30s".parse(), Ok(Span(Duration::from_secs(90))));
        for wrong in ["0s", "-1s", "soon", ""] {
            let error = wrong.parse::<Span>().unwrap_err();
            assert!(error.contains("30s"), "{wrong:?}: {error}");
        }
    }
}
