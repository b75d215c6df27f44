//! The binary `baton`: reads the command line and hands over to the library.

use std::{
    io::{IsTerminal, stderr},
    process::ExitCode,
};

use baton_controller::{
    causes::with_causes,
    cli::{Cli, Command, LogFormat, RunArgs},
    selfcheck::Finding,
};
use clap::Parser;
use tokio::runtime;
use tracing::error;
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let command = Cli::parse().command;
    // The operator waits for the API server nearly all of the time. Each further thread costs memory, not least the
    // allocator's.
    let runtime = runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let result = match runtime {
        Ok(runtime) => {
            let result = runtime.block_on(execute(command));
            // Nothing that is left over is worth waiting for, least of all when the lease is lost.
            runtime.shutdown_background();
            result
        }
        Err(error) => Err(error.into()),
    };
    let error = match result {
        Ok(code) => return code,
        Err(error) => error,
    };
    let words = with_causes(&*error);
    if tracing::dispatcher::has_been_set() {
        error!("{words}");
    } else {
        eprintln!("baton: {words}");
    }
    ExitCode::FAILURE
}

async fn execute(command: Command) -> Result<ExitCode, Box<dyn std::error::Error>> {
    match command {
        Command::Crd => print!("{}", baton_crd::workload_crd_yaml()?),
        Command::Run(args) => {
            start_logging(&args)?;
            baton_controller::run(&args).await?;
        }
        Command::Check(args) => {
            let findings = baton_controller::check(&args).await?;
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

fn start_logging(args: &RunArgs) -> Result<(), Box<dyn std::error::Error>> {
    let filter = EnvFilter::builder().parse(&args.log)?;
    let logs = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(stderr().is_terminal())
        .with_writer(stderr);
    match args.log_format {
        LogFormat::Text => logs.init(),
        LogFormat::Json => logs.json().init(),
    }
    Ok(())
}
