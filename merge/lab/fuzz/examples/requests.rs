//! Prints what inputs of `predict`, `crd` and `driver_request` ask, as requests of the driver protocol, one a line: they can be
//! sent to the core's driver and to the oracle. `cargo run --example requests -- predict FILE…`.

use std::{env, fs, path, process::ExitCode};

use baton_merge_fuzz::targets;

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let requests = match arguments.next().as_deref() {
        Some("predict") => targets::predict_requests,
        Some("crd") => targets::crd_requests,
        Some("driver_request") => |data: &[u8]| vec![targets::changed_request(data)],
        _ => {
            eprintln!("usage: requests predict|crd|driver_request FILE…");
            return ExitCode::FAILURE;
        }
    };
    // Targets may change the current folder.
    let files: Vec<_> = arguments.map(|file| path::absolute(&file).unwrap_or_else(|_| file.into())).collect();
    for file in files {
        match fs::read(&file) {
            Ok(data) => requests(&data).iter().for_each(|request| println!("{request}")),
            Err(error) => {
                eprintln!("{}: {error}", file.display());
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}
