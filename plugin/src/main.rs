//! The binary `kubectl-baton`.

use std::{
    io::{IsTerminal as _, stdin},
    process::ExitCode,
};

use kubectl_baton::{Terminal, run};
use tokio::runtime;

fn main() -> ExitCode {
    let mut terminal = Terminal {
        out: Box::new(anstream::stdout()),
        err: Box::new(anstream::stderr()),
        input: Box::new(stdin().lock()),
        is_interactive: stdin().is_terminal(),
    };
    match runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => ExitCode::from(runtime.block_on(run(std::env::args_os(), &mut terminal))),
        Err(error) => {
            anstream::eprintln!("error: can't start: {error}");
            ExitCode::from(2)
        }
    }
}
