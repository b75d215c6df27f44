//! The binary `baton`: reads the command line and hands over to the library.

use std::{
    io::{IsTerminal, stderr},
    process::ExitCode,
};

use baton_controller::{
    causes::with_causes,
    cli::{Cli, Command, LogFormat, RunArgs},
};
use clap::Parser;
use tracing_subscriber::EnvFilter;

#[tokio::main]
async fn main() -> ExitCode {
    match execute(Cli::parse().command).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("baton: {}", with_causes(&*error));
            ExitCode::FAILURE
        }
    }
}

async fn execute(command: Command) -> Result<(), Box<dyn std::error::Error>> {
    match command {
        Command::Crd => print!("{}", baton_crd::workload_crd_yaml()?),
        Command::Run(args) => {
            start_logging(&args)?;
            baton_controller::run(args).await?;
        }
    }
    Ok(())
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
