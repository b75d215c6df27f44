//! Baton as a process of its own beside a control plane, with a ServiceAccount's token and nothing else, so that RBAC is
//! enforced on it as in a cluster. It knows Baton by its binary, flags, manifests, log and admin endpoint only.

mod binary;
mod install;
mod mismatches;

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    process::{Command, ExitStatus},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use baton_testbed::{ControlPlane, Error, Metrics, PATIENCE, Process, blocking, cpu_time, net, wait_for};

use self::mismatches::MismatchCheck;
pub use install::install_manifests;

/// How long it may take to shut down once it was asked to.
const STOPPED: Duration = Duration::from_secs(30);
/// How often another health port is tried because another program took the last one.
const ATTEMPTS: usize = 5;

/// How the operator is run.
#[derive(Clone, Debug, Default)]
pub struct OperatorOptions {
    /// The only namespace that it watches; all if absent.
    pub namespace: Option<String>,
    /// The namespace of its ServiceAccount, which has to exist; `default` if absent.
    pub home: Option<String>,
    /// The name of its ServiceAccount, its log and its binding; a unique one if absent. Operators of the same name share
    /// them, as one that is started again does.
    pub name: Option<String>,
    /// Whether its ServiceAccount, with all that it may do, is there already, by an installation. Otherwise it gets what the
    /// manifests grant for all namespaces.
    pub installed: bool,
    /// More flags of `baton run`.
    pub args: Vec<String>,
    /// More environment variables.
    pub env: Vec<(String, String)>,
    /// The URL at which it finds the API server, such as that of a [`Proxy`](baton_testbed::Proxy); the server's own if absent.
    pub api_server: Option<String>,
    /// Whether it may log that the server did something else than was predicted; otherwise that is a panic when it is
    /// stopped or dropped.
    pub expect_mismatches: bool,
    /// Whether it is given back at once, instead of when it is ready.
    pub unready: bool,
}

/// A running operator. Dropping it kills it; if that happens because a test panics, the end of its log is shown, and
/// otherwise it panics if the operator has predicted wrongly.
#[derive(Debug)]
pub struct Operator {
    // Dropped in this order: the log is complete when the process is gone.
    process: Process,
    mismatches: MismatchCheck,
    user: String,
    health: SocketAddr,
}

impl Operator {
    /// Builds the operator if it isn't built, installs its definitions and permissions, starts it and waits until it is
    /// ready.
    ///
    /// The binary is `baton` of this workspace in the profile that this crate was built with, or the one that the
    /// environment variable `BATON_BIN` names.
    ///
    /// # Errors
    /// When one of these steps fails; of a start that fails the message shows the end of the operator's log.
    pub async fn start(control_plane: &ControlPlane, options: OperatorOptions) -> Result<Self, Error> {
        static COUNT: AtomicU32 = AtomicU32::new(1);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        // Unique also among processes that share one cluster.
        let name = options.name.clone().unwrap_or_else(|| format!("baton-{}-{count}", std::process::id()));
        let home = options.home.as_deref().unwrap_or("default");
        let binary = blocking(binary::find).await?;
        if !options.installed {
            install::install(control_plane, home, &name).await?;
        }
        let kubeconfig = match &options.api_server {
            Some(url) => control_plane.kubeconfig_by_way_of(url, home, &name).await?,
            None => control_plane.kubeconfig_for_service_account(home, &name).await?,
        };
        let user = format!("system:serviceaccount:{home}:{name}");
        let log = control_plane.logs_dir().join(format!("{name}.{count}.log"));

        let mut attempt = 1;
        loop {
            let [port] = net::free_ports()?;
            let health = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            let command = command(&binary, &kubeconfig, health, &options);
            let process = Process::spawn(&name, &command, &log, STOPPED)?;
            let mismatches = MismatchCheck::new(&log, options.expect_mismatches);
            let operator = Self { process, mismatches, user: user.clone(), health };
            if options.unready {
                return Ok(operator);
            }
            match operator.wait_until_ready().await {
                Err(Error::Ended { tail, .. })
                    if attempt < ATTEMPTS && tail.to_lowercase().contains("address already in use") =>
                {
                    attempt += 1;
                }
                outcome => return outcome.map(|()| operator),
            }
        }
    }

    /// Its user, as RBAC and the audit log know it.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Its process.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// Where `/healthz` and `/readyz` are.
    pub fn health_address(&self) -> SocketAddr {
        self.health
    }

    /// What `/readyz` says: the status code, and the reasons if it isn't ready. Nothing where it doesn't answer.
    pub async fn readiness(&self) -> Option<(u16, String)> {
        let address = self.health;
        tokio::task::spawn_blocking(move || net::http_response(address, "/readyz")).await.ok()?.ok()
    }

    /// What it has counted up to now.
    pub async fn metrics(&self) -> Result<Metrics, Error> {
        Metrics::parse(&self.metrics_text().await?).map_err(Error::parse(self.what_metrics()))
    }

    /// As [`metrics`](Self::metrics), in the form in which it tells them.
    pub async fn metrics_text(&self) -> Result<String, Error> {
        let address = self.health;
        let what = Error::parse(self.what_metrics());
        blocking(move || net::http_get(address, "/metrics").map_err(what)).await
    }

    fn what_metrics(&self) -> String {
        format!("the metrics of {}", self.process.name())
    }

    /// Has it look at every Workload again, by SIGHUP, and doesn't wait for that.
    pub fn look_again(&self) -> Result<(), Error> {
        self.process.hang_up()
    }

    /// The processor's time that it has had, as [`cpu_time`] counts it.
    pub fn cpu_time(&self) -> Result<Duration, Error> {
        cpu_time(self.process.pid())
    }

    /// All that it has logged.
    pub fn logs(&self) -> String {
        let path = self.process.log();
        std::fs::read(path).map_or_else(
            |error| format!("(can't read {}: {error})", path.display()),
            |bytes| String::from_utf8_lossy(&bytes).into_owned(),
        )
    }

    /// The last lines that it has logged.
    pub fn log_tail(&self, lines: usize) -> String {
        self.process.log_tail(lines)
    }

    /// How it ended; `None` while it runs.
    pub fn status(&self) -> Option<ExitStatus> {
        self.process.status()
    }

    /// Asks it to end, by SIGTERM, and waits until it has; how it ended is its answer.
    ///
    /// # Errors
    /// When it still runs after half a minute.
    ///
    /// # Panics
    /// When it has predicted wrongly, unless that was expected.
    pub async fn stop(&self) -> Result<ExitStatus, Error> {
        self.process.terminate()?;
        let what = format!("{} ending after SIGTERM", self.process.name());
        let ended = async || Ok(self.process.status().ok_or_else(|| self.process.log_tail(30)));
        wait_for(&what, STOPPED, ended).await.inspect(|_| self.mismatches.run())
    }

    /// Ends it by SIGKILL, as a node that fails does.
    pub fn kill(&self) {
        self.process.kill();
    }

    /// Lets it run on when this program ends; returns its process id.
    pub fn keep(self) -> u32 {
        let pid = self.process.pid();
        self.process.release();
        pid
    }

    async fn wait_until_ready(&self) -> Result<(), Error> {
        let what = format!("{} being ready at http://{}/readyz", self.process.name(), self.health);
        wait_for(&what, PATIENCE, async || {
            self.process.check()?;
            Ok(match self.readiness().await {
                Some((200, _)) => Ok(()),
                other => Err(format!("the response is {other:?}; its log:\n{}", self.process.log_tail(30))),
            })
        })
        .await
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- the end of {}'s log:\n{}\n---", self.process.name(), self.process.log_tail(60));
        }
    }
}

fn command(binary: &Path, kubeconfig: &Path, health: SocketAddr, options: &OperatorOptions) -> Command {
    let mut command = Command::new(binary);
    command.arg("run").arg("--admin-addr").arg(health.to_string());
    if let Some(namespace) = &options.namespace {
        command.args(["--namespace", namespace]);
    }
    command.args(&options.args);
    // What the user has set for an operator of their own is not for this one.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("BATON_")) {
        command.env_remove(name);
    }
    command.env("KUBECONFIG", kubeconfig).envs(options.env.iter().cloned());
    command
}
