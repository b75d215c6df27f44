//! The measured operator: a process, measured by its pid and its metrics.

use std::{
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    process::Command,
    time::Duration,
};

use baton_testbed::{Error, Memory, Metrics, Process, blocking, cpu_time, memory, net, wait_for};

use super::figures::Requests;
use crate::{OperatorOptions, operator};

/// How long it may take to start or to end.
const PATIENCE: Duration = Duration::from_mins(5);

/// Which operator is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Baton, with more flags of `baton run`.
    Baton(Vec<String>),
    /// Another operator of Workloads, by its name and a command for the shell, in which `{port}` is where it serves its metrics.
    Other(String, String),
}

impl Subject {
    /// The name in the figures.
    pub fn name(&self) -> String {
        match self {
            Self::Baton(flags) => {
                ["baton"].into_iter().chain(flags.iter().map(String::as_str)).collect::<Vec<_>>().join(" ")
            }
            Self::Other(name, _) => name.clone(),
        }
    }

    /// Whether SIGHUP makes it reconcile everything. Other operators end.
    pub fn resyncs(&self) -> bool {
        matches!(self, Self::Baton(_))
    }

    /// Starts it, and waits until it is ready (Baton) or serves its metrics (others).
    ///
    /// # Errors
    /// When it can't be started or ends; the message shows the end of its log.
    pub async fn start(&self, kubeconfig: &Path, logs: &Path) -> Result<Running, Error> {
        let [port] = net::free_ports()?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let command = match self {
            Self::Baton(flags) => {
                let binary = blocking(operator::binary::find).await?;
                let options = OperatorOptions { args: flags.clone(), ..OperatorOptions::default() };
                operator::command(&binary, kubeconfig, address, &options)
            }
            Self::Other(_, line) => {
                let mut command = Command::new("/bin/sh");
                command.arg("-c").arg(format!("exec {}", line.replace("{port}", &port.to_string())));
                command.env("KUBECONFIG", kubeconfig);
                command
            }
        };
        let log = logs.join(format!("operator-{port}.log"));
        let process = Process::spawn(self.name(), &command, &log, PATIENCE)?;
        let running = Running { process, address };
        let path = if self.resyncs() { "/readyz" } else { "/metrics" };
        let process = &running.process;
        wait_for("the operator being ready", PATIENCE, async || {
            process.check()?;
            let response = tokio::task::spawn_blocking(move || net::http_get(address, path)).await;
            Ok(response
                .map_err(Error::parse("how a thread ended"))?
                .map(drop)
                .map_err(|error| error.to_string()))
        })
        .await
        .map(|()| running)
    }
}

/// A running operator. Dropping it kills it.
pub struct Running {
    process: Process,
    address: SocketAddr,
}

impl Running {
    /// The CPU that it has had since it was started.
    ///
    /// # Errors
    /// When it has ended.
    pub fn cpu(&self) -> Result<Duration, Error> {
        self.process.check()?;
        cpu_time(self.process.pid())
    }

    /// Its memory now.
    pub fn memory(&self) -> Result<Memory, Error> {
        memory(self.process.pid())
    }

    /// Its counters since it was started.
    pub async fn metrics(&self) -> Result<Metrics, Error> {
        let (address, what) = (self.address, "the metrics of the operator");
        let text = blocking(move || net::http_get(address, "/metrics").map_err(Error::parse(what))).await?;
        Metrics::parse(&text).map_err(Error::parse(what))
    }

    /// Makes it reconcile everything.
    pub fn hang_up(&self) -> Result<(), Error> {
        self.process.hang_up()
    }

    /// Stops it as a kubelet does.
    ///
    /// # Errors
    /// When it doesn't end in time.
    pub async fn stop(self) -> Result<(), Error> {
        self.process.terminate()?;
        wait_for("the operator ending", PATIENCE, async || {
            Ok(self.process.status().map(drop).ok_or_else(|| self.process.log_tail(10)))
        })
        .await
    }
}

/// The requests that an operator counts: as Baton does, or as client-go does for every operator in Go. Reviews of its own
/// permissions and watches are left out.
pub fn requests(metrics: &Metrics) -> Requests {
    let ours = |verb: &str| metrics.count("baton_api_requests_total", &[("verb", verb)]);
    let reviews = |resource: &str| metrics.count("baton_api_requests_total", &[("resource", resource)]);
    let go = |method: &str| metrics.count("rest_client_requests_total", &[("method", method)]);
    let writes =
        ["create", "update", "patch", "apply", "delete", "deletecollection"].map(ours).iter().sum::<u64>()
            + ["POST", "PUT", "PATCH", "DELETE"].map(go).iter().sum::<u64>();
    let reviews = ["selfsubjectaccessreviews", "selfsubjectrulesreviews"].map(reviews).iter().sum();
    let reads = ["get", "list", "other"].map(ours).iter().sum::<u64>() + go("GET");
    Requests { writes: writes.saturating_sub(reviews), reads }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_as_baton_or_client_go_does() {
        let ours = r#"baton_api_requests_total{verb="apply",resource="deployments",code="200"} 3
baton_api_requests_total{verb="create",resource="selfsubjectaccessreviews",code="201"} 20
baton_api_requests_total{verb="create",resource="events",code="201"} 2
baton_api_requests_total{verb="list",resource="services",code="200"} 1
baton_api_requests_total{verb="watch",resource="services",code="200"} 1
"#;
        let of = |text| requests(&Metrics::parse(text).unwrap());
        assert_eq!(of(ours), Requests { writes: 5, reads: 1 });
        let go = r#"rest_client_requests_total{code="200",host="127.0.0.1:6443",method="PATCH"} 40
rest_client_requests_total{code="200",host="127.0.0.1:6443",method="GET"} 12
"#;
        assert_eq!(of(go), Requests { writes: 40, reads: 12 });
    }
}
