//! Records the runs that the README's pictures show, and draws the pictures, into `docs/pictures`.

use std::{fs, path::PathBuf};

use baton_e2e::pictures::{ownership, replicas, terminal};
use baton_testbed::{Error, workspace};
use clap::{Args, Subcommand};
use serde::Serialize;

/// Record a run and draw its picture, into docs/pictures.
#[derive(Args)]
pub(crate) struct Cli {
    #[command(subcommand)]
    picture: Picture,
}

#[derive(Subcommand)]
pub(crate) enum Picture {
    /// The replica counts of three operators after autoscaling is turned on. Three minutes on a real control plane.
    Replicas,
    /// The owners of a Deployment's fields during a handover. A second on the in-process API server.
    Ownership,
    /// `cargo demo` in a terminal, on the in-process API server.
    Demo,
}

pub(crate) async fn run(cli: Cli) -> anyhow::Result<()> {
    match cli.picture {
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
