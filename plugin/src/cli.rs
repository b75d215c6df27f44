//! The command line.

use clap::{CommandFactory as _, Parser, Subcommand};

use crate::{cluster::ClusterArgs, commands as c, error::Ending, terminal::Terminal};

/// The end of every help text.
const EXIT_CODES: &str = "\
Exit codes:
  0  done, or nothing to report
  1  differences or conflicts, or the server refused the write
  2  the command line, a manifest or a path is wrong, or there is no such kind or object
  3  the cluster can't be reached, or doesn't allow it";

const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (predicts for Kubernetes 1.33 to 1.37)");

/// Server-side apply explained: who owns a field, what an apply would do, and how to pass a field on.
///
/// Works on any cluster. Writes are predicted from the schemas of the cluster before anything is sent.
#[derive(Debug, Parser)]
#[command(
    name = "kubectl-baton",
    bin_name = "kubectl baton",
    version = VERSION,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = EXIT_CODES,
    subcommand_help_heading = "Commands"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    cluster: ClusterArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    Owners(c::owners::OwnersArgs),
    Why(c::why::WhyArgs),
    Apply(c::apply::ApplyArgs),
    Diff(c::diff::DiffArgs),
    Conflicts(c::conflicts::ConflictsArgs),
    Handover(c::handover::HandoverArgs),
    Transfer(c::transfer::TransferArgs),
    Share(c::share::ShareArgs),
    Release(c::release::ReleaseArgs),
    Migrate(c::migrate::MigrateArgs),
    Reset(c::reset::ResetArgs),
    Watch(c::watch::WatchArgs),
    Workloads(c::workloads::WorkloadsArgs),
    Plan(c::plan::PlanArgs),
    Completion(c::completion::CompletionArgs),
    #[command(name = "__complete", hide = true)]
    Complete(c::completion::CompleteArgs),
    #[command(hide = true)]
    Manual(c::completion::ManualArgs),
}

impl Cli {
    pub(crate) async fn run(self, terminal: &mut Terminal) -> Ending {
        let Self { command, cluster } = self;
        match command {
            Command::Owners(args) => c::owners::run(args, &cluster, terminal).await,
            Command::Why(args) => c::why::run(args, &cluster, terminal).await,
            Command::Apply(args) => c::apply::run(args, &cluster, terminal).await,
            Command::Diff(args) => c::diff::run(args, &cluster, terminal).await,
            Command::Conflicts(args) => c::conflicts::run(args, &cluster, terminal).await,
            Command::Handover(args) => c::handover::run(args, &cluster, terminal).await,
            Command::Transfer(args) => c::transfer::run(args, &cluster, terminal).await,
            Command::Share(args) => c::share::run(args, &cluster, terminal).await,
            Command::Release(args) => c::release::run(args, &cluster, terminal).await,
            Command::Migrate(args) => c::migrate::run(args, &cluster, terminal).await,
            Command::Reset(args) => c::reset::run(args, &cluster, terminal).await,
            Command::Watch(args) => c::watch::run(args, &cluster, terminal).await,
            Command::Workloads(args) => c::workloads::run(args, &cluster, terminal).await,
            Command::Plan(args) => c::plan::run(args, &cluster, terminal).await,
            Command::Completion(args) => c::completion::run(&args, Self::command(), terminal),
            Command::Complete(args) => {
                c::completion::complete(args, Self::command(), &cluster, terminal).await
            }
            Command::Manual(args) => c::completion::manual(&args, Self::command()),
        }
    }
}
