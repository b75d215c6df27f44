//! `baton run`: wires client, watches, election, controller, admin port and signals together.
//!
//! First it makes sure that it can work here. Then all watches run and keep the caches warm. Once these are filled, the
//! operator stands for election, where there is one; a leader begins with a pass for every Workload, so that nothing is
//! lost of what changed before.

use std::{io, net::SocketAddr, num::NonZeroU16, path::Path, sync::Arc, time::Instant};

use baton_apply::{SchemaCache, SchemaStatus};
use futures::{Stream, StreamExt, stream};
use kube::runtime::{
    Controller,
    controller::{self, Action, Error as ControllerError},
    reflector::{ObjectRef, Store},
    watcher,
};
use tokio::{
    sync::{Notify, watch::Receiver},
    task::JoinSet,
};
use tracing::{info, warn};

use super::{
    admin::{self, Shown},
    cli::{CheckArgs, ElectionArgs, RunArgs},
    cluster::Cluster,
    election::{Candidacy, Election, Leadership, Lost, TimingError},
    readiness::{Gate, Readiness},
    secure_metrics::{self, Certificate, CertificateError, Reviewer},
    selfcheck::{Finding, LeaseName, SelfCheck},
    signals::{Shutdown, Signals},
};
use crate::{
    act::{Context, ReconcileError, on_error, reconcile},
    causes::with_causes,
    decide::child::ChildKind,
    metrics::{Metrics, ReconcileOutcome, RefreshOutcome},
    observe::{Definition, Scope, Stores, Streams, WatchedWorkload, watch},
};

/// Why the operator could not run, or runs no longer.
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
        /// The address asked for.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The secure metrics port could not listen.
    #[error("can't serve metrics on {address}; choose another --secure-metrics-addr")]
    SecureMetrics {
        /// The address asked for.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// There is no certificate for the secure metrics port.
    #[error("there is no certificate to serve metrics with; look at --metrics-cert-dir")]
    Certificate(#[from] CertificateError),
    /// The signal handlers could not be installed.
    #[error("can't listen for SIGTERM and SIGHUP")]
    Signals(#[source] io::Error),
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
/// When it can't start, and when it has lost the lease. What else goes wrong once it runs is logged and tried again.
pub async fn run(args: &RunArgs) -> Result<(), RunError> {
    args.election.timing()?;
    let cluster = Cluster::infer().await?;
    let signals = Signals::of_process().map_err(RunError::Signals)?;
    run_in(&cluster, args, signals).await
}

/// Runs the operator in a cluster, until it is asked to end.
///
/// # Errors
/// As of [`run`].
pub async fn run_in(cluster: &Cluster, args: &RunArgs, signals: Signals) -> Result<(), RunError> {
    let timing = args.election.timing()?;
    let Signals { shutdown, sighups } = signals;
    let metrics = Metrics::new();
    let leadership = args.lease.leader_elect.then(|| Leadership::new(timing));
    let client = cluster.fenced(&metrics, leadership.clone())?;

    let limit = args.request_timeout.0;
    let scope = Scope::from(&args.scope);
    let definition = Definition::new(client.clone(), limit);
    let (stores, Streams { workloads, mut touched }) = watch(&client, &scope, &definition);
    let kinds = ChildKind::ALL.map(ChildKind::api_resource);
    let schemas = args.predict.then(|| SchemaCache::new(client.clone(), kinds, limit));

    let readiness = Readiness::new(stores.clone());
    let shown =
        Shown { readiness: readiness.clone(), metrics: metrics.clone(), workloads: workloads.clone() };
    // They end with this function.
    let mut tasks = background(args, shown.clone(), &stores, schemas.as_ref(), &shutdown).await?;
    if let Some(address) = args.secure_metrics_addr {
        serve_securely(&mut tasks, address, args.metrics_cert_dir.as_deref(), cluster, shown).await?;
    }
    let again = Arc::new(Notify::new());
    let (gate, all) = (readiness.clone(), again.clone());
    tasks.spawn(definition.clone().keep_verified(move |older| {
        match older {
            Some(older) => gate.close(Gate::Definition, older),
            None => gate.open(Gate::Definition),
        }
        all.notify_one();
    }));
    info!(version = env!("CARGO_PKG_VERSION"), %scope, concurrency = args.concurrency, "starting");

    let lease = args.lease.leader_elect.then(|| LeaseName::new(&args.lease, &client));
    let has_secure_metrics = args.secure_metrics_addr.is_some();
    let check =
        SelfCheck::new(client.clone(), limit, scope, lease.clone(), has_secure_metrics, definition.clone());
    let mut election = None;
    let win = async {
        stores.ready().await;
        let (Some(lease), Some(leadership)) = (lease, leadership) else { return Ok(()) };
        let standing = stand(&args.election, cluster, lease, leadership, &metrics)?;
        Ok::<_, RunError>(election.insert(standing).won().await?)
    };
    let lead = async {
        check.pass(&readiness).await;
        tokio::select! {
            won = win => won,
            // While it stands by, it is enough that the caches are kept up.
            () = touched.by_ref().for_each(async |_| {}) => Ok(()),
        }
    };
    let leads = tokio::select! {
        () = shutdown.clone().begun() => false,
        leads = lead => leads.map(|()| true)?,
    };
    if leads {
        metrics.leads(true);
        let seen = (stores, definition);
        let context = Arc::new(Context::new(client, schemas, seen, metrics, limit, args.resync.0));
        let controller = controller(touched, workloads, once_and_again(sighups, again), args.concurrency);
        let passes = passes(controller.graceful_shutdown_on(shutdown.clone().begun()), context);
        tokio::select! {
            () = passes => {}
            // Passes are still writing: the lease isn't given up, it runs out.
            () = shutdown.overdue() => election = None,
            lost = lost(&mut election) => return Err(lost.into()),
        }
    }
    if let Some(election) = election {
        election.release().await;
    }
    info!("stopped");
    Ok(())
}

/// What `baton check` tells: whether Baton can work in this cluster.
///
/// # Errors
/// When there is no cluster to ask.
pub async fn check(args: &CheckArgs) -> Result<Vec<Finding>, RunError> {
    let client = Cluster::infer().await?.client()?;
    let lease = args.lease.leader_elect.then(|| LeaseName::new(&args.lease, &client));
    let limit = args.request_timeout.0;
    let definition = Definition::new(client.clone(), limit);
    let (scope, has_secure_metrics) = (Scope::from(&args.scope), args.secure_metrics_addr.is_some());
    Ok(SelfCheck::new(client, limit, scope, lease, has_secure_metrics, definition).look().await)
}

/// The tasks that run beside the watches: the admin port, what keeps the schemas current, and what is ready.
async fn background(
    args: &RunArgs,
    shown: Shown,
    stores: &Stores,
    schemas: Option<&SchemaCache>,
    shutdown: &Shutdown,
) -> Result<JoinSet<()>, RunError> {
    let mut tasks = JoinSet::new();
    let (readiness, metrics, address) = (shown.readiness.clone(), shown.metrics.clone(), args.admin_addr);
    readiness.close(Gate::SelfCheck, "the self-check hasn't ended yet");
    readiness.close(Gate::Schemas, "looking at the API server's schemas for the first time");
    let has_metrics = args.secure_metrics_addr.is_none();
    let admin = admin::serve(address, shown, has_metrics).await;
    let admin = admin.map_err(|source| RunError::Admin { address, source })?;
    tasks.spawn(async { drop(admin.await) });
    if let Some(schemas) = schemas.cloned() {
        tasks.spawn(report_schemas(schemas.status(), metrics));
        tasks.spawn(schemas.keep_current(args.schema_refresh.0));
    }
    tasks.spawn(update_readiness(readiness, stores.clone(), schemas.cloned(), shutdown.clone()));
    Ok(tasks)
}

/// Adds the tasks of the secure metrics port.
async fn serve_securely(
    tasks: &mut JoinSet<()>,
    address: SocketAddr,
    certificate: Option<&Path>,
    cluster: &Cluster,
    shown: Shown,
) -> Result<(), RunError> {
    let certificate = match certificate {
        Some(folder) => Certificate::from_files(folder.to_owned())?,
        None => Certificate::self_signed()?,
    };
    let reviewer = Reviewer::new(cluster.unfenced(&shown.metrics)?);
    let served = secure_metrics::serve(address, certificate.acceptor()?, reviewer, shown).await;
    tasks.spawn(served.map_err(|source| RunError::SecureMetrics { address, source })?);
    tasks.spawn(certificate.keep_current());
    Ok(())
}

/// Stands for election.
fn stand(
    args: &ElectionArgs,
    cluster: &Cluster,
    LeaseName { namespace, name: lease }: LeaseName,
    leadership: Leadership,
    metrics: &Metrics,
) -> Result<Election, RunError> {
    let client = cluster.unfenced(metrics)?;
    let identity = args.identity.as_ref().map_or_else(made_up_identity, |identity| identity.0.clone());
    let candidacy = Candidacy { namespace, lease, identity, timing: args.timing()? };
    Ok(Election::stand(client, candidacy, leadership, metrics.clone()))
}

/// The host's name, which in a pod is the pod's, and something that tells this process from the last one there.
fn made_up_identity() -> String {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    format!("{host}_{:08x}", fastrand::u32(..))
}

/// Resolves when the lease is lost; never where there is no election.
async fn lost(election: &mut Option<Election>) -> Lost {
    match election {
        Some(election) => election.lost().await,
        None => std::future::pending().await,
    }
}

/// Logs and counts what comes of each refresh of the schemas.
async fn report_schemas(mut status: Receiver<Option<SchemaStatus>>, metrics: Metrics) {
    while status.changed().await.is_ok() {
        let Some(SchemaStatus { schemas, missing, changed, problems }) = status.borrow_and_update().clone()
        else {
            continue;
        };
        for problem in &problems {
            warn!(
                error = with_causes(problem),
                "until it can be read, what depends on it is applied without being predicted"
            );
        }
        if changed {
            let missing: Vec<&str> = missing.iter().map(|kind| kind.kind.as_str()).collect();
            info!(release = %schemas.release(), ?missing, "schemas read");
        }
        metrics.schemas(missing.is_empty());
        metrics.schemas_refreshed(match (problems.is_empty(), changed) {
            (false, _) => RefreshOutcome::Failed,
            (true, true) => RefreshOutcome::Changed,
            (true, false) => RefreshOutcome::Unchanged,
        });
    }
}

async fn update_readiness(
    readiness: Readiness,
    stores: Stores,
    schemas: Option<SchemaCache>,
    shutdown: Shutdown,
) {
    let ready = async {
        if let Some(schemas) = schemas {
            schemas.ready().await;
        }
        readiness.open(Gate::Schemas);
        stores.ready().await;
        info!("ready");
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = ready => {}
        () = shutdown.begun() => readiness.close(Gate::Shutdown, "stopping"),
    }
}

/// A look at every Workload: one now, for what had changed before this process led, one at each SIGHUP, and one each time that
/// their definition has become too old, or new enough.
fn once_and_again(
    sighups: impl Stream<Item = ()> + Send + 'static,
    definition: Arc<Notify>,
) -> impl Stream<Item = ()> + Send + 'static {
    let told = sighups.inspect(|()| info!("SIGHUP: looking at every Workload again"));
    let changed = stream::unfold(definition, async |definition| {
        definition.notified().await;
        Some(((), definition))
    });
    stream::once(async {}).chain(stream::select(told, changed))
}

/// The controller, told of every Workload that was touched, and of all of them each time `again` says so.
fn controller(
    touched: impl Stream<Item = ObjectRef<WatchedWorkload>> + Send + 'static,
    workloads: Store<WatchedWorkload>,
    again: impl Stream<Item = ()> + Send + 'static,
    concurrency: NonZeroU16,
) -> Controller<WatchedWorkload> {
    // All that it is told of comes by `touched`.
    Controller::for_stream(stream::pending(), workloads)
        .with_config(controller::Config::default().concurrency(concurrency.get()))
        .reconcile_all_on(again)
        .reconcile_on(touched)
}

/// Runs the controller until it is shut down and its last pass has ended.
async fn passes(controller: Controller<WatchedWorkload>, context: Arc<Context>) {
    let results = controller.run(measured, on_error, context.clone());
    results
        .for_each(async |result| {
            let Err(error) = result else { return };
            if let ControllerError::ObjectNotFound(workload) = &error {
                context.forget(workload.namespace.as_deref().unwrap_or_default(), &workload.name);
            }
            log(&error);
        })
        .await;
}

/// A pass that is counted, and timed from when the caches are filled.
async fn measured(workload: Arc<WatchedWorkload>, context: Arc<Context>) -> Result<Action, ReconcileError> {
    context.ready().await;
    let begun = Instant::now();
    let result = reconcile(workload, &context).await;
    let outcome = result.as_ref().map_or(ReconcileOutcome::Failed, |passed| passed.outcome);
    context.metrics.reconciled(outcome, begun.elapsed());
    result.map(|passed| passed.next)
}

fn log(error: &ControllerError<ReconcileError, watcher::Error>) {
    match error {
        // The Workload went away between its change and its turn.
        ControllerError::ObjectNotFound(_) => {}
        ControllerError::ReconcilerFailed(error, workload) => {
            warn!(%workload, error = with_causes(error), "reconcile failed; it is tried again");
        }
        error => warn!(error = with_causes(error), "the controller failed; it goes on"),
    }
}
