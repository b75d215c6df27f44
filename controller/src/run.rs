//! `baton run`: wires client, watches, controller, admin port and signals together.

use std::{
    io,
    net::SocketAddr,
    num::NonZeroU16,
    sync::Arc,
    time::{Duration, Instant},
};

use futures::{Stream, StreamExt, TryStreamExt};
use kube::{
    Config,
    client::ClientBuilder,
    runtime::{
        Controller,
        controller::{self, Action, Error as ControllerError},
        reflector::ObjectRef,
        watcher,
    },
};
use tracing::{info, warn};

use crate::{
    act::Actor,
    admin::{self, Readiness, Shown},
    causes::with_causes,
    cli::RunArgs,
    context::Context,
    hangup::hangups,
    metrics::{Metrics, ReconcileOutcome},
    openapi::SchemaCache,
    reconcile::{ReconcileError, on_error, reconcile},
    shutdown::Shutdown,
    watched::WatchedWorkload,
    watches::{Scope, Streams, watch, workload_of},
    write::Writer,
};

/// Why the operator could not run.
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
    /// The signal handlers could not be installed.
    #[error("can't listen for SIGTERM and SIGHUP")]
    Signals(#[source] io::Error),
}

/// Runs the operator until SIGTERM or Ctrl-C; passes under way are finished first.
///
/// # Errors
/// When it can't start. Once it runs, what goes wrong is logged and tried again.
pub async fn run(args: RunArgs) -> Result<(), RunError> {
    let mut config = Config::infer().await?;
    // The client's own retries may take many minutes; the loop retries by itself, with a pause that people can see.
    config.default_retry = false;
    config.connect_timeout = Some(Duration::from_secs(10));
    let metrics = Metrics::new();
    let client = ClientBuilder::try_from(config)?.with_layer(&metrics.request_layer()).build();

    let scope = args.namespace.clone().map_or(Scope::Cluster, Scope::Namespace);
    let (stores, streams) = watch(&client, &scope);

    let readiness = Readiness::default();
    let address = args.admin_addr;
    let shown = Shown {
        readiness: readiness.clone(),
        metrics: metrics.clone(),
        workloads: streams.workload_store.clone(),
    };
    let admin = admin::serve(address, shown).await.map_err(|source| RunError::Admin { address, source })?;
    let admin = tokio::spawn(admin);

    let shutdown = Shutdown::on_signals().map_err(RunError::Signals)?;
    let again = hangups().map_err(RunError::Signals)?;

    info!(version = env!("CARGO_PKG_VERSION"), ?scope, concurrency = args.concurrency, "starting");
    let controller =
        controller(streams, again, &metrics, args.concurrency).graceful_shutdown_on(shutdown.clone().begun());

    let ready = tokio::spawn({
        let (caches, readiness, shutdown) = (stores.clone(), readiness.clone(), shutdown.clone());
        async move {
            caches.ready().await;
            readiness.set(true);
            info!("ready: every cache is filled");
            shutdown.begun().await;
            readiness.set(false);
        }
    });

    let caches = stores.clone();
    let schemas = args.predict.then(|| SchemaCache::new(client.clone(), args.request_timeout.0));
    let refreshes = schemas.clone().map(|schemas| {
        let metrics = metrics.clone();
        tokio::spawn(schemas.keep_current(args.schema_refresh.0, move |outcome, usable| {
            metrics.schemas_refreshed(outcome);
            metrics.schemas(usable);
        }))
    });
    let writer = Writer::new(Actor::new(client, args.request_timeout.0), schemas, metrics.clone());
    let context = Arc::new(Context::new(writer, stores, args.resync.0));
    let passes = controller.run(measured, on_error, context).for_each(|result| {
        if let Err(error) = result {
            if let ControllerError::ObjectNotFound(workload) = &error {
                metrics.dequeued(workload);
            }
            log(&error);
        }
        std::future::ready(())
    });
    tokio::select! {
        () = passes => {}
        // The controller itself would wait for its caches for ever where the API server can't be reached.
        () = shutdown.overdue(|| caches.are_filled()) => {}
    }
    ready.abort();
    admin.abort();
    if let Some(refreshes) = refreshes {
        refreshes.abort();
    }
    info!("stopped");
    Ok(())
}

/// The controller, told of every change of a Workload or of a child, and of all Workloads each time `again` says so.
fn controller(
    streams: Streams,
    again: impl Stream<Item = ()> + Send + 'static,
    metrics: &Metrics,
    concurrency: NonZeroU16,
) -> Controller<WatchedWorkload> {
    let Streams { workloads, workload_store, children, scaled } = streams;
    let workloads = workloads.inspect_ok({
        let metrics = metrics.clone();
        move |workload| metrics.triggered(&ObjectRef::from_obj(workload))
    });
    let again = again.inspect({
        let (metrics, workloads) = (metrics.clone(), workload_store.clone());
        move |()| {
            let workloads = workloads.state();
            info!(workloads = workloads.len(), "SIGHUP: looking at every Workload again");
            for workload in &workloads {
                metrics.triggered(&ObjectRef::from_obj(&**workload));
            }
        }
    });
    let mut controller = Controller::for_stream(workloads, workload_store)
        .with_config(controller::Config::default().concurrency(concurrency.get()))
        .reconcile_all_on(again)
        .reconcile_on(scaled.inspect({
            let metrics = metrics.clone();
            move |workload| metrics.triggered(workload)
        }));
    for (kind, touched) in children {
        let metrics = metrics.clone();
        let concerned = move |child| {
            let workload = workload_of(&child);
            if let Some(workload) = &workload {
                metrics.triggered(workload);
            }
            workload
        };
        controller = controller.watches_stream_with(touched, concerned, kind.api_resource());
    }
    controller
}

/// A pass that is counted, and timed from when the caches are filled.
async fn measured(workload: Arc<WatchedWorkload>, context: Arc<Context>) -> Result<Action, ReconcileError> {
    context.ready().await;
    context.writer.metrics.dequeued(&ObjectRef::from_obj(&*workload));
    let begun = Instant::now();
    let result = reconcile(workload, &context).await;
    let outcome = result.as_ref().map_or(ReconcileOutcome::Failed, |passed| passed.outcome);
    context.writer.metrics.reconciled(outcome, begun.elapsed());
    result.map(|passed| passed.next)
}

fn log(error: &ControllerError<ReconcileError, watcher::Error>) {
    match error {
        // The Workload went away between its change and its turn.
        ControllerError::ObjectNotFound(_) => {}
        ControllerError::ReconcilerFailed(error, workload) => {
            warn!(%workload, error = with_causes(error), "reconcile failed; it is tried again");
        }
        error => warn!(
            error = with_causes(error),
            "a watch failed; it is tried again. If this goes on: is the Workload CRD installed, and may Baton list and \
             watch in its scope?"
        ),
    }
}
