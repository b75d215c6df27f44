//! `baton run` and `baton check`: the operator as a process, with its ports and signals.

use std::{io, net::SocketAddr, sync::Arc};

use baton_apply::crd::CrdGuard;
use baton_runtime::{
    admin::{self, Exposition},
    clock::Clock,
    cluster::Cluster,
    election::{LeaseThread, Lost, TimingError},
    secure_metrics::{self, Certificate, CertificateError, Reviewer},
    signals::Signals,
};
use tokio::{net::TcpListener, task::JoinSet};

use super::{
    cli::{CheckArgs, RunArgs},
    operator::Operator,
    selfcheck::{Finding, LeaseName, SelfCheck},
    view::View,
};
use crate::observe::{FIELDS, Scope};

/// Why the operator could not run, or stopped.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// No cluster was found.
    #[error("found no cluster to connect to: run inside a pod, or point KUBECONFIG at a kubeconfig")]
    Config(#[from] kube::config::InferConfigError),
    /// The client could not be made, mostly because of the kubeconfig's certificates.
    #[error("can't make a client from the cluster's configuration")]
    Client(#[from] kube::Error),
    /// The admin port could not listen.
    #[error("can't serve health checks and metrics on {address}; choose another --admin-addr")]
    Admin {
        /// The configured address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The secure metrics port could not listen.
    #[error("can't serve metrics on {address}; choose another --secure-metrics-addr")]
    SecureMetrics {
        /// The configured address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// There is no certificate for the secure metrics port.
    #[error("there is no certificate to serve metrics with; check --metrics-cert-dir")]
    Certificate(#[from] CertificateError),
    /// The signal handlers could not be installed.
    #[error("can't listen for SIGTERM and SIGHUP")]
    Signals(#[source] io::Error),
    /// The thread that renews the Lease could not be started.
    #[error("can't start a thread to renew the lease")]
    Renewal(#[source] io::Error),
    /// The times of the election don't fit together.
    #[error(transparent)]
    Timing(#[from] TimingError),
    /// Another operator may lead by now.
    #[error("not the leader any more, so this process ends; its container is started again and stands by")]
    Lost(#[from] Lost),
}

/// Runs the operator until SIGTERM or Ctrl-C; passes under way are finished first.
///
/// # Errors
/// When it can't start, and when it has lost the lease. Other errors are logged and retried.
pub async fn run(args: &RunArgs) -> Result<(), RunError> {
    args.election.timing()?;
    let cluster = Cluster::infer().await?;
    let signals = Signals::of_process().map_err(RunError::Signals)?;
    let operator = Operator::new(cluster.clone(), args.clone(), Clock::SYSTEM)?;
    let thread = args.lease.leader_elect.then(LeaseThread::start).transpose().map_err(RunError::Renewal)?;
    let operator = match &thread {
        Some(thread) => operator.renewing_in(thread.handle().clone()),
        None => operator,
    };
    // They are served until this function ends.
    let _ports = serve(args, &cluster, operator.view()).await?;
    operator.run(signals).await
}

/// Serves the admin port, and the secure metrics port if it is configured.
async fn serve(args: &RunArgs, cluster: &Cluster, view: View) -> Result<JoinSet<()>, RunError> {
    let mut ports = JoinSet::new();
    let (address, readiness, requests) =
        (args.admin_addr, view.readiness.clone(), view.metrics.requests().clone());
    let metrics: Arc<dyn Exposition> = Arc::new(view);
    let plain = args.secure_metrics_addr.is_none().then(|| metrics.clone());
    let listener = TcpListener::bind(address).await;
    let listener = listener.map_err(|source| RunError::Admin { address, source })?;
    ports.spawn(admin::serve(listener, readiness, plain));
    let Some(address) = args.secure_metrics_addr else { return Ok(ports) };
    let certificate = match &args.metrics_cert_dir {
        Some(folder) => Certificate::from_files(folder.clone())?,
        None => Certificate::self_signed("baton")?,
    };
    let reviewer = Reviewer::new(cluster.unfenced(&requests)?, args.metrics_audience.as_deref());
    let listener = TcpListener::bind(address).await;
    let listener = listener.map_err(|source| RunError::SecureMetrics { address, source })?;
    ports.spawn(secure_metrics::serve(listener, certificate, reviewer, metrics));
    Ok(ports)
}

/// The findings of `baton check`: whether Baton can work in this cluster.
///
/// # Errors
/// When no cluster is configured.
pub async fn check(args: &CheckArgs) -> Result<Vec<Finding>, RunError> {
    let client = Cluster::infer().await?.client()?;
    let lease = args.lease.leader_elect.then(|| LeaseName::new(&args.lease, args.scope.shard(), &client));
    let request_timeout = args.request_timeout.0;
    let crd = CrdGuard::new(client.clone(), request_timeout, &FIELDS);
    let (scope, has_secure_metrics) = (Scope::from(&args.scope), args.secure_metrics_addr.is_some());
    Ok(SelfCheck { client, request_timeout, scope, lease, has_secure_metrics, crd }.findings().await)
}
