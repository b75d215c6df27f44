//! Baton beside the cluster of a test, with only its ServiceAccount, so that RBAC is enforced as in a cluster. Beside a real
//! control plane it is a process of its own, and tests use only its binary, flags, manifests, log and admin endpoint.

pub(crate) mod binary;
pub(crate) mod in_process;
mod install;
pub(crate) mod mismatches;

use std::{
    net::{Ipv4Addr, SocketAddr},
    os::unix::process::ExitStatusExt as _,
    path::Path,
    process::{Command, ExitStatus},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use baton_testbed::{
    Cluster, ControlPlane, Error, Metrics, PATIENCE, Process, Proxy, Route, blocking, cpu_time, net, process,
    wait_for,
};

use self::in_process::InProcess;
pub use install::{apply, apply_manifests, install_manifests};

/// How long a shutdown may take.
const STOPPED: Duration = Duration::from_secs(30);
/// How many health ports are tried, because another program may take one.
const ATTEMPTS: usize = 5;

/// How the operator is run.
#[derive(Clone, Debug, Default)]
pub struct OperatorOptions {
    /// The only namespace that it watches; all if absent.
    pub namespace: Option<String>,
    /// The namespace of its ServiceAccount, which has to exist; `default` if absent.
    pub home: Option<String>,
    /// The name of its ServiceAccount, its log and its binding; a unique one if absent. Operators of the same name share them, for
    /// example after a restart.
    pub name: Option<String>,
    /// Whether an installation has already created its ServiceAccount and its permissions. If not, it gets what the manifests grant
    /// for all namespaces.
    pub installed: bool,
    /// More flags of `baton run`.
    pub args: Vec<String>,
    /// The route to the API server, through a [`Proxy`]; direct if absent.
    pub by_way_of: Option<Route>,
    /// Whether it may log wrong predictions. If not, they cause a panic when it is stopped or dropped.
    pub expect_mismatches: bool,
    /// Whether it is returned at once, before it is ready.
    pub unready: bool,
}

/// A running operator. Dropping it kills it. If a test panics, that prints the end of its log; if not, it panics if a prediction
/// was wrong.
pub struct Operator {
    // Dropped first: the log is complete when the operator is gone.
    run: Run,
    expects_mismatches: bool,
    name: String,
    user: String,
}

enum Run {
    Process { process: Process, health: SocketAddr },
    InProcess(InProcess),
}

/// How an operator has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was asked to stop, and finished its work.
    Success,
    /// It gave up; its log shows why.
    Failure,
    /// By [`Operator::kill`], or another SIGKILL.
    Killed,
}

impl End {
    fn of(status: ExitStatus) -> Self {
        match (status.success(), status.signal()) {
            (true, _) => Self::Success,
            (false, Some(9)) => Self::Killed,
            (false, _) => Self::Failure,
        }
    }
}

impl Operator {
    /// Installs the operator's CRDs and permissions, starts it and waits until it is ready: beside a real control plane as a
    /// process, and on a server inside this process as a task.
    ///
    /// The process runs the binary that the environment variable `BATON_BIN` names, or builds and runs `baton` of this workspace in
    /// the profile of this crate.
    ///
    /// # Errors
    /// When one of these steps fails. If the operator doesn't start, the message shows the end of its log.
    pub async fn start(cluster: &Cluster, options: OperatorOptions) -> Result<Self, Error> {
        static COUNT: AtomicU32 = AtomicU32::new(1);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        // Also unique among processes that share one cluster.
        let name = options.name.clone().unwrap_or_else(|| format!("baton-{}-{count}", std::process::id()));
        let home = options.home.as_deref().unwrap_or("default").to_owned();
        if !options.installed {
            install::install(cluster, &home, &name).await?;
        }
        let user = format!("system:serviceaccount:{home}:{name}");
        let start = Start { name, home, user, options };
        match cluster {
            Cluster::Real(control_plane) => start.process(control_plane, count).await,
            Cluster::InProcess(_) => start.in_process(cluster).await,
        }
    }

    /// Its user in RBAC and in the audit log.
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Its process.
    ///
    /// # Panics
    /// When it runs inside this process.
    pub fn process(&self) -> &Process {
        match &self.run {
            Run::Process { process, .. } => process,
            Run::InProcess(_) => panic!("{} has no process of its own", self.name),
        }
    }

    /// The address of `/healthz` and `/readyz`.
    ///
    /// # Panics
    /// When it runs inside this process.
    pub fn health_address(&self) -> SocketAddr {
        match &self.run {
            Run::Process { health, .. } => *health,
            Run::InProcess(_) => panic!("{} has no port", self.name),
        }
    }

    /// The response of `/readyz`: the status code, and the reasons if it isn't ready. `None` without a response.
    pub async fn readiness(&self) -> Option<(u16, String)> {
        match &self.run {
            Run::Process { health, .. } => {
                let address = *health;
                tokio::task::spawn_blocking(move || net::http_response(address, "/readyz")).await.ok()?.ok()
            }
            Run::InProcess(operator) => match operator.view.obstacles() {
                obstacles if obstacles.is_empty() => Some((200, "ok\n".to_owned())),
                obstacles => Some((503, obstacles.join("\n") + "\n")),
            },
        }
    }

    /// Its metrics.
    pub async fn metrics(&self) -> Result<Metrics, Error> {
        Metrics::parse(&self.metrics_text().await?).map_err(Error::parse(self.what_metrics()))
    }

    /// Its [`metrics`](Self::metrics) as text.
    pub async fn metrics_text(&self) -> Result<String, Error> {
        let what = self.what_metrics();
        match &self.run {
            Run::Process { health, .. } => {
                let address = *health;
                blocking(move || net::http_get(address, "/metrics").map_err(Error::parse(what))).await
            }
            Run::InProcess(operator) => operator.view.metrics().map_err(Error::parse(what)),
        }
    }

    fn what_metrics(&self) -> String {
        format!("the metrics of {}", self.name)
    }

    /// Makes it reconcile every Workload, as SIGHUP does, and doesn't wait for that.
    pub fn reconcile_all(&self) -> Result<(), Error> {
        match &self.run {
            Run::Process { process, .. } => process.hang_up(),
            Run::InProcess(operator) => {
                operator.control.reconcile_all();
                Ok(())
            }
        }
    }

    /// The CPU time of its process, as [`cpu_time`] counts it.
    pub fn cpu_time(&self) -> Result<Duration, Error> {
        cpu_time(self.process().pid())
    }

    /// All that it has logged.
    pub fn logs(&self) -> String {
        match &self.run {
            Run::Process { process, .. } => {
                let path = process.log();
                std::fs::read(path).map_or_else(
                    |error| format!("(can't read {}: {error})", path.display()),
                    |bytes| String::from_utf8_lossy(&bytes).into_owned(),
                )
            }
            Run::InProcess(operator) => operator.log.text(),
        }
    }

    /// The last lines that it has logged.
    pub fn log_tail(&self, lines: usize) -> String {
        process::last_lines(&self.logs(), lines)
    }

    /// How it ended; `None` while it runs.
    pub fn end(&self) -> Option<End> {
        match &self.run {
            Run::Process { process, .. } => process.status().map(End::of),
            Run::InProcess(operator) => operator.end(),
        }
    }

    /// Asks it to stop, as SIGTERM does, waits until it has ended, and returns how.
    ///
    /// # Errors
    /// When it still runs after half a minute.
    ///
    /// # Panics
    /// When a prediction was wrong, unless that is expected.
    pub async fn stop(&self) -> Result<End, Error> {
        match &self.run {
            Run::Process { process, .. } => process.terminate()?,
            Run::InProcess(operator) => operator.control.stop(),
        }
        let what = format!("{} stopping", self.name);
        let ended = async || Ok(self.end().ok_or_else(|| self.log_tail(30)));
        wait_for(&what, STOPPED, ended).await.inspect(|_| self.check_predictions())
    }

    /// Ends it by SIGKILL, like a node that fails.
    pub fn kill(&self) {
        match &self.run {
            Run::Process { process, .. } => drop(process.kill()),
            Run::InProcess(operator) => operator.kill(),
        }
    }

    /// Lets its process run on when this program ends; returns its process id.
    pub fn keep(self) -> u32 {
        let pid = self.process().pid();
        self.process().release();
        std::mem::forget(self);
        pid
    }

    fn check_predictions(&self) {
        mismatches::check(&self.logs(), self.expects_mismatches);
    }

    /// Waits until it is ready.
    ///
    /// # Errors
    /// When it ends, or isn't ready within [`PATIENCE`]; the message shows the end of its log.
    pub async fn wait_until_ready(&self) -> Result<(), Error> {
        let what = format!("{} being ready", self.name);
        wait_for(&what, PATIENCE, async || {
            if let Run::Process { process, .. } = &self.run {
                process.check()?;
            }
            Ok(match self.readiness().await {
                Some((200, _)) => Ok(()),
                other => Err(format!("the response is {other:?}; its log:\n{}", self.log_tail(30))),
            })
        })
        .await
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- the end of {}'s log:\n{}\n---", self.name, self.log_tail(60));
        } else {
            self.kill();
            self.check_predictions();
        }
    }
}

/// An operator that is about to start.
struct Start {
    name: String,
    home: String,
    user: String,
    options: OperatorOptions,
}

impl Start {
    async fn process(self, control_plane: &ControlPlane, count: u32) -> Result<Operator, Error> {
        let Self { name, home, user, options } = self;
        let binary = blocking(binary::find).await?;
        let kubeconfig = match &options.by_way_of {
            Some(Route::Url(url)) => control_plane.kubeconfig_by_way_of(url, &home, &name).await?,
            _ => control_plane.kubeconfig_for_service_account(&home, &name).await?,
        };
        let log = control_plane.logs_dir().join(format!("{name}.{count}.log"));
        let mut attempt = 1;
        loop {
            let [port] = net::free_ports()?;
            let health = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            let command = command(&binary, &kubeconfig, health, &options);
            let process = Process::spawn(&name, &command, &log, STOPPED)?;
            let operator = Operator {
                run: Run::Process { process, health },
                expects_mismatches: options.expect_mismatches,
                name: name.clone(),
                user: user.clone(),
            };
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

    async fn in_process(self, cluster: &Cluster) -> Result<Operator, Error> {
        let Self { name, home, user, options } = self;
        let client = match &options.by_way_of {
            Some(route) => cluster.client_by_way_of(route, &home, &name).await?,
            None => cluster.client_for(&home, &name).await?,
        };
        let operator = InProcess::start(client, &options.flags(), cluster.now())?;
        let (run, expects_mismatches) = (Run::InProcess(operator), options.expect_mismatches);
        let operator = Operator { run, expects_mismatches, name, user };
        if !options.unready {
            operator.wait_until_ready().await?;
        }
        Ok(operator)
    }
}

impl OperatorOptions {
    /// With these flags of `baton run`, separated by blanks.
    pub fn with_flags(flags: &str) -> Self {
        Self { args: flags.split(' ').map(str::to_owned).collect(), ..Self::default() }
    }

    /// With all requests by way of this proxy.
    pub fn by_way_of(proxy: &Proxy) -> Self {
        Self { by_way_of: Some(proxy.route()), ..Self::default() }
    }

    fn flags(&self) -> Vec<String> {
        let namespace = self.namespace.iter().map(|namespace| format!("--namespace={namespace}"));
        namespace.chain(self.args.iter().cloned()).collect()
    }
}

/// `baton run`, with its health checks and metrics on this address.
pub(crate) fn command(
    binary: &Path,
    kubeconfig: &Path,
    health: SocketAddr,
    options: &OperatorOptions,
) -> Command {
    let mut command = Command::new(binary);
    command.arg("run").arg("--admin-addr").arg(health.to_string());
    command.args(options.flags());
    // The user may have set variables for another operator.
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("BATON_")) {
        command.env_remove(name);
    }
    command.env("KUBECONFIG", kubeconfig);
    command
}
