//! The binary `baton`: reads the command line and hands over to the library.

use std::{
    io::{IsTerminal, stderr},
    process::ExitCode,
};

use baton_controller::process::{
    self,
    cli::{Cli, Command, RunArgs},
    selfcheck::Finding,
};
#[cfg(feature = "otel")]
use baton_runtime::telemetry;
use baton_runtime::{logs::log_to, text::with_causes};
use clap::Parser;
use tokio::runtime;
use tracing::error;
#[cfg(feature = "otel")]
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

fn main() -> ExitCode {
    let command = Cli::parse().command;
    // The operator waits for the API server nearly all of the time: one core makes far more requests than a server serves. Waking
    // threads would cost a fifth as much again. The Lease alone has a thread of its own, so that no pass can cost the leadership.
    let result = match runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            let result = runtime.block_on(execute(command));
            // Nothing that is left over is worth waiting for, least of all when the lease is lost.
            runtime.shutdown_background();
            result
        }
        Err(error) => Err(error.into()),
    };
    let message = match result {
        Ok(code) => return code,
        Err(error) => with_causes(&*error),
    };
    if tracing::dispatcher::has_been_set() {
        error!("{message}");
    } else {
        eprintln!("baton: {message}");
    }
    ExitCode::FAILURE
}

async fn execute(command: Command) -> Result<ExitCode, Box<dyn std::error::Error>> {
    match command {
        Command::Crd => print!("{}", baton_crd::workload_crd_yaml()?),
        Command::Run(args) => {
            let logging = start_logging(&args)?;
            process::run(&args).await?;
            logging.finish().await;
        }
        Command::Check(args) => {
            let findings = process::check(&args).await?;
            for finding in &findings {
                println!("{finding}");
            }
            if findings.iter().any(Finding::is_obstacle) {
                return Ok(ExitCode::FAILURE);
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Traces that are still to be sent when the operator ends; not when the lease is lost, which can't wait.
struct Logging {
    #[cfg(feature = "otel")]
    traces: Option<telemetry::Traces>,
}

impl Logging {
    #[cfg_attr(not(feature = "otel"), expect(clippy::unused_async, reason = "as with the feature"))]
    async fn finish(self) {
        #[cfg(feature = "otel")]
        if let Some(traces) = self.traces {
            // An error means that the runtime is going.
            let _ = tokio::task::spawn_blocking(|| traces.flush()).await;
        }
    }
}

fn start_logging(args: &RunArgs) -> Result<Logging, Box<dyn std::error::Error>> {
    let subscriber = log_to(stderr, stderr().is_terminal(), &args.log, args.log_format)?;
    #[cfg(feature = "otel")]
    {
        let layer = |endpoint| telemetry::layer(endpoint, "baton", env!("CARGO_PKG_VERSION"), process::SPANS);
        let (layer, traces) = args.otlp_endpoint.as_ref().map(layer).transpose()?.unzip();
        subscriber.with(layer).init();
        Ok(Logging { traces })
    }
    #[cfg(not(feature = "otel"))]
    {
        subscriber.init();
        Ok(Logging {})
    }
}
