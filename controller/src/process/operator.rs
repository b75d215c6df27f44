//! The operator: wires client, watches, election, controller and signals together.
//!
//! First it checks that it can work in this cluster. Then all watches run and keep the caches warm. Once these are filled, the
//! operator stands for election, if there is one. A leader begins with a pass for every Workload, so that no earlier change is
//! lost.

use std::{sync::Arc, time::Duration};

use baton_apply::{SchemaCache, SchemaStatus, crd::CrdGuard};
use baton_runtime::{
    clock::{Clock, now},
    cluster::Cluster,
    election::{Candidacy, Election, Leadership, Lost, Watchdog},
    pace::{Passes, Queue, WriteRate},
    readiness::Readiness,
    signals::{Shutdown, Signals},
    text::with_causes,
};
use futures::{Stream, StreamExt, stream};
use kube::Client;
use tokio::{
    runtime::Handle,
    sync::{Notify, watch::Receiver},
    task::JoinSet,
};
use tracing::{info, instrument::WithSubscriber as _, warn};

use super::{
    cli::{ElectionArgs, RunArgs},
    crd::CrdReport,
    error::RunError,
    gate,
    passes::{passes, put_last},
    selfcheck::{LeaseName, SelfCheck},
    view::View,
};
use crate::{
    FIELD_MANAGER,
    decide::child::ChildKind,
    metrics::{Metrics, RefreshOutcome},
    observe::{FIELDS, Scope, Stores, Touched, watch},
    reconcile::{Context, Records},
};

/// The annotation of the Lease with the Workload in whose pass its holder may end.
const SUSPECT: &str = "baton.rs/suspect";
/// How long passes under way may take to finish; less than the grace period in `manifests/deploy`.
const GRACE: Duration = Duration::from_secs(40);

/// The operator in one cluster. It listens on no port: [`run`](super::run()) serves its [view](Self::view), and a program that runs
/// the operator in its own process reads the view.
pub struct Operator {
    cluster: Cluster,
    args: RunArgs,
    clock: Clock,
    leadership: Option<Leadership>,
    client: Client,
    crd: CrdGuard,
    stores: Stores,
    touched: Touched,
    view: View,
    watchdog: Watchdog,
    /// Where the Lease is renewed; absent where it is beside the passes.
    renewal: Option<Handle>,
}

impl Operator {
    /// An operator that doesn't run yet. It ignores the settings of ports and logs.
    ///
    /// # Errors
    /// When the settings don't fit together, or no client can be made.
    pub fn new(cluster: Cluster, args: RunArgs, clock: Clock) -> Result<Self, RunError> {
        let timing = args.election.timing()?;
        let metrics = Metrics::of_shard(args.scope.shard());
        let leadership = args.lease.leader_elect.then(|| Leadership::new(timing, clock, metrics.leader()));
        let client = cluster.fenced(metrics.requests(), leadership.clone())?;
        let crd = CrdGuard::new(client.clone(), args.request_timeout.0, &FIELDS);
        let (stores, touched) = watch(&client, &Scope::from(&args.scope), &crd);
        let readiness = gate::readiness(stores.clone());
        let watchdog = Watchdog::new(metrics.long_turns());
        let view = View { readiness, metrics, workloads: stores.workloads.clone() };
        let renewal = None;
        Ok(Self { cluster, args, clock, leadership, client, crd, stores, touched, view, watchdog, renewal })
    }

    /// Renews the Lease in this runtime, of another thread than the passes'. A panic of a pass is noted there.
    pub(super) fn renewing_in(self, runtime: Handle) -> Self {
        self.watchdog.note_panics();
        Self { renewal: Some(runtime), ..self }
    }

    /// Its view while it runs.
    pub fn view(&self) -> View {
        self.view.clone()
    }

    /// Runs until it is shut down; passes under way are finished first.
    ///
    /// # Errors
    /// When it has lost the lease. Other errors are logged and retried.
    pub async fn run(self, signals: Signals) -> Result<(), RunError> {
        let Self { cluster, args, clock, leadership, client, crd, stores, mut touched, view, .. } = self;
        let (watchdog, renewal) = (self.watchdog, self.renewal);
        let View { readiness, metrics, workloads } = view;
        let Signals { shutdown, sighups, .. } = signals;
        let (scope, limit) = (Scope::from(&args.scope), args.request_timeout.0);
        let kinds = ChildKind::ALL.map(ChildKind::api_resource);
        let schemas = args.predict.then(|| SchemaCache::new(client.clone(), kinds, limit));
        // They end with this function.
        let mut tasks = JoinSet::new();
        let again = Arc::new(Notify::new());
        if let Some(schemas) = schemas.clone() {
            let report = report_schemas(schemas.status(), metrics.clone(), again.clone());
            tasks.spawn(report.with_current_subscriber());
            tasks.spawn(schemas.keep_current(args.schema_refresh.0).with_current_subscriber());
        }
        let ready = update_readiness(readiness.clone(), stores.clone(), schemas.clone(), shutdown.clone());
        tasks.spawn(ready.with_current_subscriber());
        let report = CrdReport {
            readiness: readiness.clone(),
            metrics: metrics.clone(),
            stores: stores.clone(),
            client: client.clone(),
            scope: scope.clone(),
            limit,
            again: again.clone(),
            has_reported: false,
            problem: None,
            logged: None,
        };
        tasks.spawn(crd.clone().keep_verified(report).with_current_subscriber());
        info!(version = env!("CARGO_PKG_VERSION"), %scope, concurrency = args.concurrency, "starting");

        let lease = args.lease.leader_elect.then(|| LeaseName::new(&args.lease, args.scope.shard(), &client));
        let check = SelfCheck {
            client: client.clone(),
            request_timeout: limit,
            scope,
            lease: lease.clone(),
            has_secure_metrics: args.secure_metrics_addr.is_some(),
            crd: crd.clone(),
        };
        let mut election = None;
        let win = async {
            stores.ready().await;
            let (Some(lease), Some(leadership)) = (lease, leadership) else { return Ok(()) };
            let candidacy = candidacy(&args.election, lease);
            let runtime = renewal.unwrap_or_else(Handle::current);
            let client = || cluster.unfenced(metrics.requests());
            let standing = Election::stand(&runtime, client, candidacy, leadership, watchdog.clone())?;
            Ok::<_, RunError>(election.insert(standing).won().await?)
        };
        let lead = async {
            check.pass(&readiness).await;
            tokio::select! {
                won = win => won,
                // A standby only keeps its caches up to date.
                () = touched.by_ref().for_each(async |_| {}) => Ok(()),
            }
        };
        let leads = tokio::select! {
            () = shutdown.clone().begun() => false,
            leads = lead => leads.map(|()| true)?,
        };
        if leads {
            metrics.leader().set(1);
            let seen = (stores, crd);
            let records = Records::new(args.resync.0, WriteRate::new(args.write_rate, now()));
            let loops = (records, Passes::new(Queue::new(args.concurrency)));
            let context = Arc::new(Context::new(client, schemas, seen, metrics, clock, limit, loops));
            if let Some(report) = put_last(&watchdog, &workloads, context.clone()) {
                tasks.spawn(report.with_current_subscriber());
            }
            let every = context.clone();
            let again = once_and_again(sighups, again).inspect(move |()| every.reconcile_all());
            tokio::select! {
                () = passes(touched, again, workloads, watchdog, context, shutdown.clone().begun()) => {}
                // Passes may still be writing, so the lease isn't released: it runs out.
                () = shutdown.overdue(GRACE) => election = None,
                lost = lost(&mut election) => return Err(lost.into()),
            }
        }
        if let Some(election) = election {
            election.release().await;
        }
        info!("stopped");
        Ok(())
    }
}

fn candidacy(args: &ElectionArgs, LeaseName { namespace, name }: LeaseName) -> Candidacy {
    let mut candidacy = Candidacy::new(namespace, name, FIELD_MANAGER);
    SUSPECT.clone_into(&mut candidacy.annotation);
    if let Some(identity) = &args.identity {
        candidacy.identity.clone_from(&identity.0);
    }
    candidacy
}

/// Resolves when the lease is lost; never without an election.
async fn lost(election: &mut Option<Election>) -> Lost {
    match election {
        Some(election) => election.lost().await,
        None => std::future::pending().await,
    }
}

/// Logs and counts the result of each refresh of the schemas. Other schemas may give other predictions, so all that was predicted
/// with the earlier ones is predicted `again`.
async fn report_schemas(mut status: Receiver<Option<SchemaStatus>>, metrics: Metrics, again: Arc<Notify>) {
    let mut is_first = true;
    while status.changed().await.is_ok() {
        let Some(SchemaStatus { schemas, missing, changed, problems, .. }) =
            status.borrow_and_update().clone()
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
            if !std::mem::take(&mut is_first) {
                again.notify_one();
            }
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
        readiness.open(gate::SCHEMAS);
        stores.ready().await;
        info!("ready");
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = ready => {}
        () = shutdown.begun() => readiness.close(gate::SHUTDOWN, "stopping"),
    }
}

/// When to reconcile every Workload: now, for changes from before this process led; at each SIGHUP; and each time that the CRD
/// becomes too old, or new enough, or that other schemas are read.
fn once_and_again(
    sighups: impl Stream<Item = ()> + Send + 'static,
    reasons: Arc<Notify>,
) -> impl Stream<Item = ()> + Send + 'static {
    let sighups = sighups.inspect(|()| info!("SIGHUP: reconciling every Workload again"));
    let changed = stream::unfold(reasons, async |reasons| {
        reasons.notified().await;
        Some(((), reasons))
    });
    stream::once(async {}).chain(stream::select(sighups, changed))
}
