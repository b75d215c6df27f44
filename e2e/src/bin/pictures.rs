//! Records the runs that the pictures of the README are drawn from, and draws them, into `docs/pictures`.

use std::{fs, path::PathBuf};

use baton_e2e::pictures::{ownership, replicas, terminal};
use baton_testbed::{Error, workspace};
use clap::{Parser, Subcommand};
use serde::Serialize;

/// Record a run, and draw its picture.
#[derive(Parser)]
#[command(name = "cargo pictures --")]
struct Cli {
    #[command(subcommand)]
    picture: Picture,
}

#[derive(Subcommand)]
enum Picture {
    /// Three operators turn on autoscaling: three minutes on a real control plane.
    Replicas,
    /// The owners of a Deployment's fields in a handover: a moment on the API server in the process.
    Ownership,
    /// `cargo demo` in a terminal, on the API server in the process.
    Demo,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    match Cli::parse().picture {
        Picture::Replicas => {
            let recording = replicas::record(|line| eprintln!("{line}")).await?;
            keep("replicas", &recording, &replicas::svg(&recording))?;
        }
        Picture::Ownership => {
            let recording = ownership::record().await?;
            keep("ownership", &recording, &ownership::svg(&recording))?;
        }
        Picture::Demo => {
            let recording = terminal::record()?;
            keep("demo", &recording, &terminal::svg(&recording))?;
        }
    }
    Ok(())
}

/// Writes a recording and its picture.
fn keep(name: &str, recording: &impl Serialize, svg: &str) -> anyhow::Result<()> {
    let folder = workspace().join("docs/pictures");
    let write = |path: PathBuf, text: &str| {
        fs::write(&path, text).map_err(Error::file("write", &path))?;
        println!("{}", path.display());
        Ok::<_, Error>(())
    };
    write(folder.join(format!("{name}.json")), &(serde_json::to_string_pretty(recording)? + "\n"))?;
    write(folder.join(format!("{name}.svg")), svg)?;
    Ok(())
}
