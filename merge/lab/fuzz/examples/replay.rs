//! Runs inputs through a target, without a fuzzer: `cargo run --example replay -- crd FILE…`.

use std::{env, fs, path, process::ExitCode};

fn main() -> ExitCode {
    let mut arguments = env::args().skip(1);
    let name = arguments.next().unwrap_or_default();
    let Some((_, target)) = baton_merge_fuzz::all().find(|(own, _)| *own == name) else {
        let names: Vec<_> = baton_merge_fuzz::all().map(|(name, _)| name).collect();
        eprintln!("usage: replay TARGET FILE…; the targets are {}", names.join(", "));
        return ExitCode::FAILURE;
    };
    // Targets may change the current folder.
    let files: Vec<_> = arguments.map(|file| path::absolute(&file).unwrap_or_else(|_| file.into())).collect();
    for file in files {
        let file = file.display();
        match fs::read(file.to_string()) {
            Ok(data) => target(&data),
            Err(error) => {
                eprintln!("{file}: {error}");
                return ExitCode::FAILURE;
            }
        }
        println!("{file}: fine");
    }
    ExitCode::SUCCESS
}
