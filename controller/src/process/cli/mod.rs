//! The command line: flags, each with its environment variable.

#[cfg(test)]
mod documented;
mod names;

use std::{
    net::SocketAddr,
    num::{NonZeroU16, NonZeroU32},
    path::PathBuf,
    str::FromStr,
    time::Duration,
};

use baton_runtime::{
    election::{Timing, TimingError},
    logs::LogFormat,
};
use clap::{
    ArgAction, Args, Parser, Subcommand,
    builder::{NonEmptyStringValueParser, PossibleValuesParser, TypedValueParser as _},
};

pub use self::names::{Identity, NamespaceName, ObjectName, ShardName};
use crate::observe::Scope;

/// The default name of the Lease.
pub const LEASE: &str = "baton";

/// Runs applications on Kubernetes by server-side apply, and hands their replica counts to an autoscaler without dropping a pod.
#[derive(Debug, Parser)]
#[command(name = "baton", version, arg_required_else_help = true, max_term_width = 80)]
pub struct Cli {
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// The command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the operator until SIGTERM or Ctrl-C. SIGHUP reconciles every Workload again.
    Run(Box<RunArgs>),
    /// Check whether Baton can work in this cluster, as `run` does at its start: is the CRD installed and of this version, is the API
    /// server's release supported, and does Baton have the permissions that it needs? Exit code 1 if not.
    Check(CheckArgs),
    /// Print the CRD as YAML, for `kubectl apply --server-side -f -`.
    Crd,
}

/// Settings of `baton run`. It finds the cluster as other clients do: in a pod by its ServiceAccount, else by `KUBECONFIG` or
/// `~/.kube/config`.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// Where it works.
    #[command(flatten)]
    pub scope: ScopeArgs,
    /// Whether it works alone.
    #[command(flatten)]
    pub lease: LeaseArgs,
    /// How it is elected.
    #[command(flatten)]
    pub election: ElectionArgs,
    /// How many Workloads are reconciled at the same time. Those that wait for a slow response don't count, up to four times as many.
    #[arg(long, env = "BATON_CONCURRENCY", default_value = "16")]
    pub concurrency: NonZeroU16,
    /// The most writes in a second, including status and Events. If there are more, the urgent ones come first: missing children,
    /// deletions, and handovers under way.
    #[arg(long, env = "BATON_WRITE_RATE", default_value = "200")]
    pub write_rate: NonZeroU32,
    /// The time limit of each request, such as `30s` or `1m`.
    #[arg(long, env = "BATON_REQUEST_TIMEOUT", default_value = "30s")]
    pub request_timeout: Span,
    /// The address of `/healthz`, `/readyz` and, without `--secure-metrics-addr`, `/metrics`.
    #[arg(long, env = "BATON_ADMIN_ADDR", default_value = "0.0.0.0:8080")]
    pub admin_addr: SocketAddr,
    /// The address of `/metrics` over HTTPS, such as `0.0.0.0:8443`. The API server reviews the client's bearer token: the client
    /// must be allowed to `get` the non-resource URL `/metrics`. The admin port then has no `/metrics`.
    #[arg(long, env = "BATON_SECURE_METRICS_ADDR")]
    pub secure_metrics_addr: Option<SocketAddr>,
    /// The folder with the certificate of `--secure-metrics-addr` and its key: `tls.crt` and `tls.key`, as in a Secret of the type
    /// `kubernetes.io/tls`. Baton reads them again when they change. If absent, Baton makes a self-signed certificate at its start.
    #[arg(long, env = "BATON_METRICS_CERT_DIR", requires = "secure_metrics_addr")]
    pub metrics_cert_dir: Option<PathBuf>,
    /// The audience of the tokens by which clients read `--secure-metrics-addr`, such as `baton`: the API server then accepts only
    /// tokens that were issued for it, and such a token is of no use elsewhere. If absent, the tokens are for the API server itself.
    #[arg(
        long, env = "BATON_METRICS_AUDIENCE", requires = "secure_metrics_addr",
        value_parser = NonEmptyStringValueParser::new()
    )]
    pub metrics_audience: Option<String>,
    /// Whether to predict each write, in order to skip those that change nothing and to report takeovers. `false` sends every apply.
    #[arg(long, env = "BATON_PREDICT", default_value_t = true, action = ArgAction::Set)]
    pub predict: bool,
    /// How often to apply each Workload even if no change is predicted, in case a prediction is wrong. Varies by up to a quarter, so
    /// that Workloads don't come all at once.
    #[arg(long, env = "BATON_RESYNC", default_value = "6h")]
    pub resync: Span,
    /// How often to check whether the API server's schemas have changed. After a wrong prediction, Baton checks at once.
    #[arg(long, env = "BATON_SCHEMA_REFRESH", default_value = "5m")]
    pub schema_refresh: Span,
    /// The format of log lines.
    #[arg(
        long, env = "BATON_LOG_FORMAT", default_value = "text",
        value_parser = PossibleValuesParser::new(LogFormat::NAMES).try_map(|name| name.parse::<LogFormat>())
    )]
    pub log_format: LogFormat,
    /// What to log: a level, or directives such as `info,baton_controller=debug`.
    #[arg(long, env = "BATON_LOG", default_value = "info")]
    pub log: String,
    /// Where to send spans of passes and requests, by OTLP over HTTP, such as `http://localhost:4318`. If absent, none are sent.
    #[cfg(feature = "otel")]
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    pub otlp_endpoint: Option<baton_runtime::telemetry::Endpoint>,
}

/// Settings of `baton check`: give those that `baton run` gets.
#[derive(Clone, Debug, Args)]
pub struct CheckArgs {
    /// Where Baton is to work.
    #[command(flatten)]
    pub scope: ScopeArgs,
    /// Whether it is to work alone.
    #[command(flatten)]
    pub lease: LeaseArgs,
    /// The time limit of each request, such as `30s` or `1m`.
    #[arg(long, env = "BATON_REQUEST_TIMEOUT", default_value = "30s")]
    pub request_timeout: Span,
    /// The address of `/metrics` over HTTPS. If absent, the permissions for that aren't checked.
    #[arg(long, env = "BATON_SECURE_METRICS_ADDR")]
    pub secure_metrics_addr: Option<SocketAddr>,
}

/// Which Workloads are Baton's.
#[derive(Clone, Debug, Default, Args)]
pub struct ScopeArgs {
    /// Watch Workloads in this namespace only. For several namespaces, use commas or repeat the flag. If absent, all namespaces.
    #[arg(long, env = "BATON_NAMESPACE", value_delimiter = ',')]
    pub namespace: Vec<NamespaceName>,
    /// The name of this shard: Baton reconciles only the Workloads whose label `baton.rs/shard` has this value, and caches no others.
    /// If absent, only the Workloads without that label.
    #[arg(long, env = "BATON_SHARD")]
    pub shard: Option<ShardName>,
}

impl ScopeArgs {
    /// The shard's name, if there is one.
    pub fn shard(&self) -> Option<&str> {
        self.shard.as_ref().map(|shard| shard.0.as_str())
    }
}

impl From<&ScopeArgs> for Scope {
    fn from(args: &ScopeArgs) -> Self {
        let mut namespaces: Vec<_> = args.namespace.iter().map(|name| name.0.clone()).collect();
        namespaces.sort();
        namespaces.dedup();
        Self { namespaces, shard: args.shard().map(str::to_owned) }
    }
}

/// Whether one of several replicas is elected, and by which Lease.
#[derive(Clone, Debug, Args)]
pub struct LeaseArgs {
    /// Elect one of several replicas by a Lease. The others stand by with warm caches. Without it, run only one replica.
    #[arg(
        long, env = "BATON_LEADER_ELECT", action = ArgAction::Set, default_value_t = false,
        num_args = 0..=1, require_equals = true, default_missing_value = "true"
    )]
    pub leader_elect: bool,
    /// The Lease's name. If absent, `baton`, or for a shard `baton-` and the shard's name.
    #[arg(long, env = "BATON_LEASE_NAME")]
    pub lease_name: Option<ObjectName>,
    /// The Lease's namespace. If absent, that of the pod, or outside a pod that of the kubeconfig's context.
    #[arg(long, env = "BATON_LEASE_NAMESPACE")]
    pub lease_namespace: Option<NamespaceName>,
}

impl LeaseArgs {
    /// The Lease's name, for this shard or without one.
    pub fn name(&self, shard: Option<&str>) -> String {
        let default = || shard.map_or_else(|| LEASE.to_owned(), |shard| format!("{LEASE}-{shard}"));
        self.lease_name.as_ref().map_or_else(default, |name| name.0.clone())
    }
}

/// The times of the election, with the meaning that they have in other Kubernetes components.
#[derive(Clone, Debug, Args)]
pub struct ElectionArgs {
    /// How long after the last renewal another replica takes over, in whole seconds.
    #[arg(long, env = "BATON_LEASE_DURATION", default_value = "15s")]
    pub lease_duration: Span,
    /// How long after the last renewal the leader stops writing and exits. Must be shorter than the lease duration.
    #[arg(long, env = "BATON_RENEW_DEADLINE", default_value = "10s")]
    pub renew_deadline: Span,
    /// How often the leader renews its Lease, and the others read it.
    #[arg(long, env = "BATON_RETRY_PERIOD", default_value = "2s")]
    pub retry_period: Span,
    /// The name of this process in the Lease, different for each process. If absent, the hostname and a random part.
    #[arg(long, env = "BATON_IDENTITY")]
    pub identity: Option<Identity>,
}

impl ElectionArgs {
    /// The times, checked.
    ///
    /// # Errors
    /// When they don't fit together.
    pub fn timing(&self) -> Result<Timing, TimingError> {
        Timing::new(self.lease_duration.0, self.renew_deadline.0, self.retry_period.0)
    }
}

/// A span of time as people write it: `30s`, `1m 30s`, `500ms`. Longer than zero, and not so long that clocks have no such time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Duration);

impl Span {
    const LONGEST: Duration = Duration::from_hours(365 * 24);
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let example = "write it like `30s` or `1m`";
        // The parser's own message is about its grammar, which doesn't help here.
        let duration: jiff::SignedDuration = text.parse().map_err(|_| example.to_owned())?;
        match Duration::try_from(duration) {
            Ok(duration) if duration > Self::LONGEST => {
                Err(format!("it has to be a year at the most; {example}"))
            }
            Ok(duration) if !duration.is_zero() => Ok(Self(duration)),
            _ => Err(format!("it has to be longer than zero; {example}")),
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

    fn run(args: &[&str]) -> Result<RunArgs, String> {
        let line = ["baton", "run"].into_iter().chain(args.iter().copied());
        match Cli::try_parse_from(line).map_err(|error| error.to_string())?.command {
            Command::Run(args) => Ok(*args),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn namespaces_are_given_several_times_or_with_commas() {
        let namespaces = |args: &[&str]| {
            run(args).unwrap().scope.namespace.into_iter().map(|name| name.0).collect::<Vec<_>>()
        };
        assert_eq!(namespaces(&[]), Vec::<String>::new());
        assert_eq!(namespaces(&["--namespace", "a,b", "--namespace", "c"]), ["a", "b", "c"]);
    }

    #[test]
    fn an_empty_value_is_refused_and_the_flag_is_named() {
        for flag in ["--namespace", "--shard", "--identity", "--lease-name", "--metrics-audience"] {
            let error = run(&[flag, ""]).unwrap_err();
            assert!(error.contains(flag), "{error}");
        }
        assert!(run(&["--namespace", "a,,b"]).unwrap_err().contains("leave it out"));
    }

    #[test]
    fn a_certificate_for_metrics_that_are_not_served_over_https_is_refused() {
        let certificate = ["--metrics-cert-dir", "/certificate"];
        assert!(run(&certificate).unwrap_err().contains("--secure-metrics-addr"));
        let both = [&certificate[..], &["--secure-metrics-addr", "0.0.0.0:8443"]].concat();
        assert!(run(&both).unwrap().metrics_cert_dir.is_some());
    }

    #[test]
    fn leader_election_is_off_until_asked_for() {
        let elects = |args: &[&str]| run(args).unwrap().lease.leader_elect;
        assert!(!elects(&[]) && !elects(&["--leader-elect=false"]));
        assert!(elects(&["--leader-elect"]) && elects(&["--leader-elect=true"]));
        let timing = run(&["--lease-duration", "10s"]).unwrap().election.timing();
        assert_eq!(timing, Err(TimingError::DeadlineTooLong));
    }

    #[test]
    fn a_shard_has_a_lease_of_its_own_unless_another_is_asked_for() {
        let lease = |args: &[&str]| {
            let args = run(args).unwrap();
            args.lease.name(args.scope.shard())
        };
        assert_eq!(lease(&[]), "baton");
        assert_eq!(lease(&["--shard", "second"]), "baton-second");
        assert_eq!(lease(&["--shard", "second", "--lease-name", "mine"]), "mine");
    }

    #[test]
    fn spans_are_read_as_people_write_them_and_refused_with_an_example() {
        assert_eq!("30s".parse(), Ok(Span(Duration::from_secs(30))));
        assert_eq!("1m 30s".parse(), Ok(Span(Duration::from_secs(90))));
        assert_eq!("8760h".parse(), Ok(Span(Span::LONGEST)));
        for wrong in ["0s", "-1s", "soon", "", "9000000000000000000s"] {
            let error = wrong.parse::<Span>().unwrap_err();
            assert!(error.contains("30s"), "{wrong:?}: {error}");
        }
    }
}
