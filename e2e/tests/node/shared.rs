//! The node that the tests share, Baton's images on it, and ways to run commands and to wait.

use std::{
    env, fs,
    io::Write as _,
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

pub use baton_e2e::installed::{HOME, USER};
use baton_e2e::{guide, image, installed};
use baton_testbed::{Cluster, Error, Namespace, Node, node::Image, poll};
use serde_json::Value;
use tokio::sync::{Mutex, MutexGuard, OnceCell};

/// Longer than any step takes on a slow machine.
const PATIENCE: Duration = Duration::from_mins(2);

/// Two versions of Baton's image.
pub const VERSION: &str = "0.1.0";
pub const NEXT: &str = "0.1.1";

/// Whether the test can and should run on a node. If not, prints why.
pub fn is_wanted(name: &str) -> bool {
    let setting = env::var("BATON_E2E_NODE").unwrap_or_default();
    if setting == "skip" {
        print(&format!("skipped {name}: BATON_E2E_NODE=skip"));
        return false;
    }
    if let Err(reason) = baton_testbed::node::available() {
        assert!(setting != "require", "BATON_E2E_NODE=require, but {reason}");
        print(&format!("skipped {name}: {reason}"));
        return false;
    }
    true
}

/// The node for one test, with Baton's images and the web server's on it.
pub struct SharedNode {
    pub node: MutexGuard<'static, Node>,
    name: &'static str,
    began: Instant,
}

impl SharedNode {
    /// Waits for its turn. If there can be no node, prints why and returns `None`.
    pub async fn enter(name: &'static str) -> Option<Self> {
        static SHARED: OnceCell<Mutex<Node>> = OnceCell::const_new();
        if !is_wanted(name) {
            return None;
        }
        let shared = SHARED.get_or_init(async || Mutex::new(start().await)).await;
        let node = shared.lock().await;
        Some(Self { node, name, began: Instant::now() })
    }

    pub fn cluster(&self) -> &Cluster {
        self.node.cluster()
    }

    /// Runs a kubectl command that has to succeed, and returns what it printed.
    pub async fn kubectl(&self, command: &str) -> String {
        self.node.control_plane().kubectl(command.split(' ')).await.unwrap().success().unwrap()
    }

    /// Installs Baton by the commands of docs/install.md, if it isn't installed.
    pub async fn install(&self) {
        self.follow("Install").await;
    }

    /// Runs the first block of commands in a section of docs/install.md.
    pub async fn follow(&self, section: &str) -> String {
        let outcome = guide::run(self.cluster().real().kubeconfig(), &commands(section)[0]).await;
        self.or_report(outcome).await
    }

    /// Like [`follow`](Self::follow), with any block of the section, in the next version of this repository.
    pub async fn follow_in_next(&self, section: &str, block: usize) -> String {
        let next = tempfile::tempdir().unwrap();
        make_next(next.path());
        let outcome =
            guide::run_in(next.path(), self.cluster().real().kubeconfig(), &commands(section)[block]).await;
        self.or_report(outcome).await
    }

    /// Installs the metrics server, which gives autoscalers real figures of pods.
    pub async fn measure(&self) {
        let outcome = self.node.install_metrics_server().await;
        self.or_report(outcome).await;
    }

    /// Runs a Helm command.
    pub async fn helm(&self, command: &str) {
        let outcome = guide::run(self.cluster().real().kubeconfig(), &format!("helm {command}")).await;
        self.or_report(outcome).await;
    }

    /// Makes sure that nothing is installed.
    pub async fn uninstall(&self) {
        let installed = self.kubectl("get crd workloads.baton.rs --ignore-not-found -o name").await;
        if !installed.is_empty() {
            self.follow("Uninstall and take everything along").await;
        }
        self.absent(&format!("namespace/{HOME}")).await;
    }

    /// Waits until all of these are gone.
    pub async fn absent(&self, what: &str) {
        self.eventually(&format!("{what} to be gone"), async || {
            let left = self.kubectl(&format!("get {what} --ignore-not-found -o name")).await;
            if left.is_empty() { Ok(()) } else { Err(left) }
        })
        .await;
    }

    /// Waits until all replicas of Baton exist and are ready.
    pub async fn running(&self) {
        let outcome = installed::is_ready(&self.node).await;
        self.or_report(outcome).await;
    }

    async fn or_report<T>(&self, outcome: Result<T, Error>) -> T {
        match outcome {
            Ok(value) => value,
            Err(error) => panic!("{}\n{}", error.report(), self.node.report().await),
        }
    }

    /// Runs `kubectl apply --server-side -f -`.
    pub async fn apply(&self, namespace: &Namespace, manifest: &str) {
        let args = ["apply", "--server-side", "-f", "-", "--namespace", namespace.name()];
        let kubectl = self.cluster().real().kubectl_command(args).unwrap();
        kubectl.input(manifest).run().await.unwrap().success().unwrap();
    }

    /// An object as JSON.
    pub async fn get(&self, what: &str) -> Value {
        serde_json::from_str(&self.kubectl(&format!("get {what} -o json")).await).unwrap()
    }

    /// Waits until `probe` returns `Ok`. After the limit, it fails with what was seen last and a report of the node.
    pub async fn eventually<T>(&self, what: &str, probe: impl AsyncFn() -> Result<T, String>) -> T {
        match poll(PATIENCE, probe).await {
            Ok(found) => found,
            Err(seen) => {
                panic!("timed out waiting for {what}; last seen: {seen}\n{}", self.node.report().await)
            }
        }
    }

    /// Prints a figure, also if the test succeeds.
    pub fn report(&self, what: &str) {
        print(&format!("{}: {what}", self.name));
    }
}

impl Drop for SharedNode {
    fn drop(&mut self) {
        self.report(&format!("{:.1} s", self.began.elapsed().as_secs_f64()));
    }
}

/// The blocks of commands in a section.
fn commands(section: &str) -> Vec<String> {
    guide::commands("docs/install.md", section).unwrap()
}

/// Writes the manifests and the chart of the next version.
fn make_next(folder: &Path) {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for part in ["manifests", "charts"] {
        let copied = Command::new("cp").arg("-r").arg(repository.join(part)).arg(folder).status().unwrap();
        assert!(copied.success());
    }
    for file in ["manifests/deploy/deployment.yaml", "charts/baton/Chart.yaml"] {
        let path = folder.join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(VERSION), "{file}");
        fs::write(path, text.replace(VERSION, NEXT)).unwrap();
    }
}

async fn start() -> Node {
    let began = Instant::now();
    let build = || {
        let sample = Image::web_in_place_of("docker.io/library/nginx:1.29");
        [image(VERSION), image(NEXT), Image::web(), sample].map(Result::unwrap)
    };
    let images = tokio::task::spawn_blocking(build).await.unwrap();
    let (images_took, began) = (began.elapsed(), Instant::now());
    let node = Node::start().await.unwrap_or_else(|error| panic!("no node: {}", error.report()));
    let started = began.elapsed();
    for image in &images {
        node.load(image).await.unwrap();
    }
    print(&format!(
        "images after {:.1} s, the node {:.1} s later",
        images_took.as_secs_f64(),
        started.as_secs_f64()
    ));
    node
}

/// Prints a line. The output of a macro would be hidden if the test succeeds.
fn print(line: &str) {
    let _ = writeln!(std::io::stderr(), "node: {line}");
}
