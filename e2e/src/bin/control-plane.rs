//! Starts a control plane, says where it is, and keeps it until standard input ends or the process is stopped, in
//! whatever way. For a look at the cluster that the tests run on, and for the test that nothing outlives its owner.

use std::io;

use baton_e2e::ControlPlane;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let began = std::time::Instant::now();
    let control_plane = ControlPlane::options().start().await?;
    eprintln!("started in {:.1} s", began.elapsed().as_secs_f32());
    println!("export KUBECONFIG={}", control_plane.kubeconfig().display());
    println!("dir {}", control_plane.dir().display());
    for (name, pid) in control_plane.processes() {
        println!("pid {pid} {name}");
    }
    println!("ready");
    io::copy(&mut io::stdin().lock(), &mut io::sink())?;
    Ok(())
}
