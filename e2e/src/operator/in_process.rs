//! The operator inside this process: a task, with the permissions of its ServiceAccount.

use std::sync::{Arc, Mutex};

use baton_controller::process::{
    self, View,
    cli::{Cli, Command, RunArgs},
};
use baton_runtime::{
    clock::Clock,
    cluster::Cluster,
    logs::log_to,
    signals::{Control, Signals},
    text::with_causes,
};
use baton_testbed::{Error, lock};
use clap::Parser as _;
use jiff::Timestamp;
use kube::Client;
use tokio::task::AbortHandle;
use tracing::{error, instrument::WithSubscriber as _};

use super::End;
use crate::logs::Log;

/// A running operator. Dropping it ends it.
pub(crate) struct InProcess {
    pub(crate) view: View,
    pub(crate) control: Control,
    pub(crate) log: Log,
    task: AbortHandle,
    end: Arc<Mutex<Option<End>>>,
}

impl InProcess {
    /// Starts it with these arguments of `baton run`.
    pub(crate) fn start(client: Client, args: &[String], now: Timestamp) -> Result<Self, Error> {
        let (args, log) = (parse(args)?, Log::default());
        let subscriber = log_to(log.clone(), false, &args.log, args.log_format)
            .map_err(Error::parse("what an operator logs"))?;
        let operator = process::Operator::new(Cluster::of(client), args, Clock::set_to(now));
        let operator = operator.map_err(Error::parse("how an operator is made"))?;
        let view = operator.view();
        let (control, signals) = Signals::controlled();
        let end = Arc::<Mutex<Option<End>>>::default();
        let ended = end.clone();
        let run = async move {
            let outcome = operator.run(signals).await;
            if let Err(error) = &outcome {
                error!("{}", with_causes(error));
            }
            *lock(&ended) = Some(if outcome.is_ok() { End::Success } else { End::Failure });
        };
        let task = tokio::spawn(run.with_subscriber(subscriber));
        Ok(Self { view, control, log, task: task.abort_handle(), end })
    }

    pub(crate) fn end(&self) -> Option<End> {
        let end = *lock(&self.end);
        // A task that panicked has set no end.
        end.or_else(|| self.task.is_finished().then_some(End::Failure))
    }

    pub(crate) fn kill(&self) {
        self.task.abort();
        lock(&self.end).get_or_insert(End::Killed);
    }
}

impl Drop for InProcess {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn parse(args: &[String]) -> Result<RunArgs, Error> {
    let line = ["baton", "run"].into_iter().chain(args.iter().map(String::as_str));
    match Cli::try_parse_from(line).map_err(Error::parse("the arguments of an operator"))?.command {
        Command::Run(args) => Ok(*args),
        Command::Check(_) | Command::Crd => unreachable!("the command is `run`"),
    }
}
