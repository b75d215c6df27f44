//! Writes the CRD into `manifests/crd` and its reference into `docs`. With `--check`, it only reports whether they are up to date.
//!
//! Run it as `cargo crdgen`. The library renders both files.

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use baton_crd::{manifest, reference};

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let check = match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => false,
        ["--check"] => true,
        _ => {
            eprintln!("usage: cargo crdgen [--check]");
            return ExitCode::from(2);
        }
    };
    match run(check) {
        Ok(message) => {
            println!("{message}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn run(check: bool) -> Result<String, String> {
    let crd = manifest::render().map_err(|error| format!("the CRD can't be written as YAML: {error}"))?;
    let page = reference::render().map_err(|error| format!("the reference can't be written: {error}"))?;
    let files = [(manifest::PATH, crd), (reference::PATH, page)];
    let messages: Result<Vec<String>, String> =
        files.iter().map(|(name, wanted)| file(name, wanted, check)).collect();
    messages.map(|messages| messages.join("\n"))
}

fn file(name: &str, wanted: &str, check: bool) -> Result<String, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    if check {
        return match fs::read_to_string(&path) {
            Ok(found) if found == wanted => Ok(format!("{name} is up to date")),
            Ok(_) => Err(format!("{name} is stale: run `cargo crdgen` and commit the result")),
            Err(error) => Err(format!("{name} can't be read: {error}; run `cargo crdgen`")),
        };
    }
    let write = || {
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(&path, wanted)
    };
    write().map_err(|error| format!("{name} can't be written: {error}"))?;
    Ok(format!("wrote {name}"))
}
