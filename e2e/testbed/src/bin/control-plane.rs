//! Starts a control plane, says where it is, and keeps it until standard input ends or the process is stopped, in
//! whatever way. To explore the cluster that the tests run on, and for the tests of how it ends.
//!
//! `--keep` ends at once and leaves it running.

use std::{io, time::Instant};

use baton_testbed::ControlPlane;
use clap::Parser;

/// Starts a Kubernetes control plane and keeps it until standard input ends.
#[derive(Parser)]
struct Cli {
    /// End at once and leave it running, until the printed script stops it.
    #[arg(long)]
    keep: bool,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let cli = Cli::parse();
    let began = Instant::now();
    let control_plane = ControlPlane::options().start().await?;
    eprintln!("started in {:.1} s", began.elapsed().as_secs_f32());
    println!("dir {}", control_plane.dir().display());
    println!("kubeconfig {}", control_plane.kubeconfig().display());
    for (name, pid) in control_plane.processes() {
        println!("pid {pid} {name}");
    }
    if cli.keep {
        println!("stop {}", control_plane.keep()?.stop.display());
    } else {
        println!("ready");
        io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    }
    Ok(())
}
