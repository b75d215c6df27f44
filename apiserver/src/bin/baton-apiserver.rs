//! The binary `baton-apiserver`: the API server on an address of this machine, for kubectl and other HTTP clients.

use std::{
    error::Error,
    fs::{self, OpenOptions},
    io::{self, Write as _},
    net::SocketAddr,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf, absolute},
    process::ExitCode,
};

use baton_apiserver::{Actor, ApiServer, Release};
use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

/// A Kubernetes API server in one small process, for tests: without etcd, and with controllers only if they are asked for.
#[derive(Parser)]
#[command(name = "baton-apiserver", version, max_term_width = 80)]
struct Cli {
    /// Where to listen, on the loopback interface; port 0 is any free one.
    #[arg(long, default_value = "127.0.0.1:0", value_name = "ADDRESS:PORT", value_parser = address)]
    listen: SocketAddr,
    /// Where to write the kubeconfig for clients, once the server serves. The file is removed at the end.
    #[arg(long, value_name = "FILE")]
    kubeconfig: PathBuf,
    /// Custom resource definitions to begin with, as YAML; may be given several times.
    #[arg(long, value_name = "FILE")]
    crd: Vec<PathBuf>,
    /// Objects to begin with, as YAML, after the definitions; may be given several times.
    #[arg(long, value_name = "FILE")]
    load: Vec<PathBuf>,
    // Another crate lists the names.
    #[arg(long, default_value = "none", value_name = "NAMES", value_parser = Actor::list, help = actors_help())]
    actors: Actors,
    /// The release of Kubernetes that writes are merged as in, such as 1.34.
    #[arg(long, default_value_t = ApiServer::RELEASE)]
    release: Release,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse()
        .map_err(|_| "expected an IP address and a port, such as 127.0.0.1:8080 or [::1]:0".to_owned())
}

fn actors_help() -> String {
    let names = Actor::all().map(Actor::name).collect::<Vec<_>>().join(", ");
    format!("Who else is there: `all`, `none`, or several of these with commas between them: {names}")
}

/// Several actors in one argument.
type Actors = Vec<Actor>;

#[tokio::main]
async fn main() -> ExitCode {
    match run(Cli::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("baton-apiserver: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(cli: Cli) -> Result<(), Box<dyn Error>> {
    if !cli.listen.ip().is_loopback() {
        let message = format!(
            "won't listen on {}: every client that reaches this server may do everything, so it serves its own machine only; use an \
             address such as 127.0.0.1:0 or [::1]:0",
            cli.listen
        );
        return Err(message.into());
    }
    // Registered first, so that a signal during the start isn't lost.
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let server = ApiServer::builder().release(cli.release).actors(cli.actors).start()?;
    for path in cli.crd.iter().chain(&cli.load) {
        let text =
            fs::read_to_string(path).map_err(|error| format!("can't read {}: {error}", path.display()))?;
        server.load(&text).map_err(|error| format!("can't load {}: {error}", path.display()))?;
    }
    let serving = server.serve(cli.listen).await;
    let serving = serving.map_err(|error| format!("can't listen on {}: {error}", cli.listen))?;
    let kubeconfig = KubeconfigFile::write(&cli.kubeconfig, serving.kubeconfig())?;
    println!(
        "Kubernetes {} is served on http://{} until Ctrl-C. To use it:\n\n    export KUBECONFIG={}\n    kubectl get namespaces\n",
        cli.release,
        serving.address(),
        absolute(&kubeconfig.path)?.display()
    );
    tokio::select! {
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    Ok(())
}

/// A kubeconfig file that is removed on drop.
struct KubeconfigFile {
    path: PathBuf,
    text: String,
}

/// A text in every kubeconfig of this server, and unlikely in any other.
const MARK: &str = "current-context: baton-apiserver";

impl KubeconfigFile {
    /// Writes the file atomically, readable for its owner only. A file of another program isn't overwritten.
    fn write(path: &Path, text: String) -> Result<Self, String> {
        let name = path.file_name().ok_or_else(|| format!("{} is no name of a file", path.display()))?;
        match fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Ok(found) if found.contains(MARK) => {}
            _ => {
                return Err(format!(
                    "won't overwrite {}, which isn't a kubeconfig of baton-apiserver: name another file, or remove it",
                    path.display()
                ));
            }
        }
        let draft = path.with_file_name(format!(".{}.{}", name.display(), std::process::id()));
        let written = || {
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
            file.write_all(text.as_bytes())?;
            fs::rename(&draft, path)
        };
        written().map_err(|error| {
            let _ = fs::remove_file(&draft);
            format!("can't write the kubeconfig {}: {error}", path.display())
        })?;
        Ok(Self { path: path.to_owned(), text })
    }
}

impl Drop for KubeconfigFile {
    fn drop(&mut self) {
        // Another server may have overwritten the file.
        if fs::read_to_string(&self.path).is_ok_and(|found| found == self.text) {
            let _ = fs::remove_file(&self.path);
        }
    }
}
