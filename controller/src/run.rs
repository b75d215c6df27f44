//! `baton run`: wires client, watches, controller, admin port and shutdown together.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use futures::StreamExt;
use kube::{
    Client, Config,
    runtime::{
        Controller,
        controller::{self, Error as ControllerError},
        watcher,
    },
};
use tracing::{info, warn};

use crate::{
    act::Actor,
    admin::{self, Readiness},
    causes::with_causes,
    cli::RunArgs,
    reconcile::{Context, ReconcileError, on_error, reconcile},
    shutdown::Shutdown,
    watches::{Scope, watch, workload_of},
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
    #[error("can't serve health checks on {address}; choose another --admin-addr")]
    Admin {
        /// The address asked for.
        address: SocketAddr,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The signal handlers could not be installed.
    #[error("can't listen for SIGTERM")]
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
    let client = Client::try_from(config)?;

    let readiness = Readiness::default();
    let address = args.admin_addr;
    let admin = admin::serve(address, readiness.clone())
        .await
        .map_err(|source| RunError::Admin { address, source })?;
    let admin = tokio::spawn(admin);

    let shutdown = Shutdown::on_signals().map_err(RunError::Signals)?;

    let scope = args.namespace.clone().map_or(Scope::Cluster, Scope::Namespace);
    info!(version = env!("CARGO_PKG_VERSION"), ?scope, concurrency = args.concurrency, "starting");
    let (stores, streams) = watch(&client, &scope);
    let mut controller = Controller::for_stream(streams.workloads, streams.workload_store)
        .with_config(controller::Config::default().concurrency(args.concurrency.get()))
        .graceful_shutdown_on(shutdown.clone().begun());
    for (kind, touched) in streams.children {
        controller =
            controller.watches_stream_with(touched, |child| workload_of(&child), kind.api_resource());
    }

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
    let context = Arc::new(Context::new(Actor::new(client, args.request_timeout.0), stores));
    let passes = controller.run(reconcile, on_error, context).for_each(|result| {
        if let Err(error) = result {
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
    info!("stopped");
    Ok(())
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
