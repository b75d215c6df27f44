//! `baton run` and `baton check`: the operator as a process, with its ports and signals.

use std::sync::Arc;

use baton_apply::crd::CrdGuard;
use baton_runtime::{
    admin::{self, Exposition},
    clock::Clock,
    cluster::Cluster,
    election::LeaseThread,
    secure_metrics::{self, Certificate, Reviewer},
    signals::Signals,
};
use tokio::{net::TcpListener, task::JoinSet};

use super::{
    cli::{CheckArgs, RunArgs},
    error::RunError,
    operator::Operator,
    selfcheck::{Finding, LeaseName, SelfCheck},
    view::View,
};
use crate::observe::{FIELDS, Scope};

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
