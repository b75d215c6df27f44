//! What every test plays on: the one node, Baton's images on it, and ways to type commands and to wait.

use std::{
    env,
    io::Write as _,
    time::{Duration, Instant},
};

pub use baton_e2e::node::{HOME, USER};
use baton_e2e::{ControlPlane, Error, Namespace, Node, node::Image};
use serde_json::Value;
use tokio::sync::{Mutex, MutexGuard, OnceCell};

/// Longer than anything takes on a slow machine; a test never asserts on time.
const PATIENCE: Duration = Duration::from_mins(2);

/// Two versions of Baton's image.
pub const VERSION: &str = "0.1.0";
pub const NEXT: &str = "0.1.1";

/// The node for one test, with Baton's images and the web server's on it.
pub struct Stage {
    pub node: MutexGuard<'static, Node>,
    name: &'static str,
    began: Instant,
}

impl Stage {
    /// Waits for its turn. `None` where there can be no node, after having said why.
    pub async fn enter(name: &'static str) -> Option<Self> {
        static SHARED: OnceCell<Mutex<Node>> = OnceCell::const_new();
        if let Err(reason) = baton_e2e::node::available() {
            let required = env::var("BATON_E2E_NODE").is_ok_and(|value| value == "require");
            assert!(!required, "BATON_E2E_NODE=require, but {reason}");
            say(&format!("skipped {name}: {reason}"));
            return None;
        }
        let shared = SHARED.get_or_init(async || Mutex::new(start().await)).await;
        let node = shared.lock().await;
        Some(Self { node, name, began: Instant::now() })
    }

    pub fn cluster(&self) -> &ControlPlane {
        self.node.control_plane()
    }

    /// Types a kubectl command that has to succeed, and returns what it printed.
    pub async fn kubectl(&self, command: &str) -> String {
        self.cluster().kubectl(command.split(' ')).await.unwrap().success().unwrap()
    }

    /// Installs this version of Baton as docs/install.md says, or goes over to it, and waits until it runs.
    pub async fn install(&self, version: &str) {
        let image = Image::baton(version).unwrap();
        let outcome = self.node.install_baton(&image).await;
        self.or_report(outcome).await;
    }

    /// Waits until all replicas of Baton that are wanted are there and ready.
    pub async fn running(&self) {
        let outcome = self.node.baton_is_ready().await;
        self.or_report(outcome).await;
    }

    async fn or_report(&self, outcome: Result<(), Error>) {
        if let Err(error) = outcome {
            panic!("{}\n{}", error.report(), self.node.report().await);
        }
    }

    /// As `kubectl apply --server-side -f -`.
    pub async fn apply(&self, namespace: &Namespace, manifest: &str) {
        let args = ["apply", "--server-side", "-f", "-", "--namespace", namespace.name()];
        let kubectl = self.cluster().kubectl_command(args).unwrap();
        kubectl.input(manifest).run().await.unwrap().success().unwrap();
    }

    /// An object as JSON.
    pub async fn get(&self, what: &str) -> Value {
        serde_json::from_str(&self.kubectl(&format!("get {what} -o json")).await).unwrap()
    }

    /// Waits until `probe` says `Ok`; when patience ends, fails with what it saw last and what the node says.
    pub async fn eventually<T>(&self, what: &str, probe: impl AsyncFn() -> Result<T, String>) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match probe().await {
                Ok(value) => return value,
                Err(seen) if Instant::now() > deadline => {
                    panic!("waited in vain for {what}; last seen: {seen}\n{}", self.node.report().await)
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            }
        }
    }

    /// Prints a figure, also where the test succeeds.
    pub fn tell(&self, what: &str) {
        say(&format!("{}: {what}", self.name));
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        self.tell(&format!("{:.1} s", self.began.elapsed().as_secs_f64()));
    }
}

async fn start() -> Node {
    let began = Instant::now();
    let images = || [Image::web(), Image::baton(VERSION), Image::baton(NEXT)].map(Result::unwrap);
    let images = tokio::task::spawn_blocking(images).await.unwrap();
    let built = Instant::now();
    let node = Node::start().await.unwrap_or_else(|error| panic!("no node: {}", error.report()));
    for image in &images {
        node.load(image).await.unwrap();
    }
    let (images, node_and_load) = (built - began, built.elapsed());
    say(&format!(
        "images after {:.1} s, the node {:.1} s later",
        images.as_secs_f64(),
        node_and_load.as_secs_f64()
    ));
    node
}

/// Not by a macro, whose output is kept back where a test succeeds.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "node: {line}");
}
