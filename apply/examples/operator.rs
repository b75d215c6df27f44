//! An operator for a made-up kind: it makes a Deployment of a `Site`. `docs/build-your-own.md` builds it up step by step.

use std::{collections::BTreeMap, env, sync::Arc, time::Duration};

use baton_apply::{
    Applier, ApplyError, ApplyOutcome, DryRun, Effects, LiveObject, Observer, Options, Outcome,
    PreparedWrite, Request, SchemaCache, Target,
    contention::{Contention, Correction},
    fieldpath::{Path, PathElement::Field},
    ownership::{hand_over, owners},
};
use futures::StreamExt;
use k8s_openapi::{
    api::{
        apps::v1::{Deployment, DeploymentSpec},
        core::v1::{Container, PodSpec, PodTemplateSpec},
    },
    apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta},
};
use kube::{
    Api, Client, CustomResource, CustomResourceExt, Resource, ResourceExt,
    core::ApiResource,
    runtime::{Controller, controller::Action, watcher},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use tokio::{sync::Mutex, time::Instant};

/// A site that is served by some pods.
#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, Serialize)]
#[kube(group = "example.com", version = "v1", kind = "Site", namespaced)]
pub struct SiteSpec {
    /// The image that the pods run.
    pub image: String,
    /// The replica count; absent where another manager sets it, such as an autoscaler.
    pub replicas: Option<i32>,
}

/// All fields that the operator wants to own of the Deployment, and no others.
fn intent(site: &Site) -> Deployment {
    let labels = Some(BTreeMap::from([("site".to_owned(), site.name_any())]));
    let container =
        Container { name: "site".to_owned(), image: Some(site.spec.image.clone()), ..Container::default() };
    let template = PodTemplateSpec {
        metadata: Some(ObjectMeta { labels: labels.clone(), ..ObjectMeta::default() }),
        spec: Some(PodSpec { containers: vec![container], ..PodSpec::default() }),
    };
    Deployment {
        metadata: ObjectMeta {
            name: site.meta().name.clone(),
            namespace: site.namespace(),
            owner_references: site.controller_owner_ref(&()).map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        spec: Some(DeploymentSpec {
            replicas: site.spec.replicas,
            selector: LabelSelector { match_labels: labels, ..LabelSelector::default() },
            template,
            ..DeploymentSpec::default()
        }),
        ..Deployment::default()
    }
}

const MANAGER: &str = "sites.example.com";
/// Owns `spec.replicas` from when the operator releases it until another manager sets it.
const TEMPORARY: &str = "sites.example.com-handover";
const REPLICAS: Path<'static> = Path::new(&[Field("spec"), Field("replicas")]);
const LIMIT: Duration = Duration::from_secs(30);

#[tokio::main]
async fn main() -> Result<(), kube::Error> {
    match env::args().nth(1).as_deref() {
        Some("crd") => println!("{:#}", json!(Site::crd())),
        _ => run(Client::try_default().await?, Log(Arc::new(|line| println!("{line}")))).await,
    }
    Ok(())
}

struct Context {
    applier: Applier,
    contention: Mutex<Contention<String>>,
    log: Log,
}

/// Runs the operator until it is cancelled.
pub async fn run(client: Client, log: Log) {
    let schemas = SchemaCache::new(client.clone(), [ApiResource::erase::<Deployment>(&())], LIMIT);
    tokio::spawn(schemas.clone().keep_current(Duration::from_mins(10)));
    let applier = Applier::new(client.clone(), Some(schemas), LIMIT);
    let applier = applier.observed_by(log.clone()).writing_as([TEMPORARY]);
    applier.ready().await;
    let context = Arc::new(Context { applier, contention: Mutex::default(), log });
    Controller::new(Api::<Site>::all(client.clone()), watcher::Config::default())
        .owns(Api::<Deployment>::all(client), watcher::Config::default())
        .run(reconcile, |site, error, context| retry(&site, error, &context.log), context)
        .for_each(async |_| {})
        .await;
}

fn retry(site: &Site, error: &ApplyError, log: &Log) -> Action {
    (log.0)(format!("Site {}: {error}", site.name_any()));
    Action::requeue(Duration::from_secs(5))
}

async fn reconcile(site: Arc<Site>, context: Arc<Context>) -> Result<Action, ApplyError> {
    let (uid, generation) = (site.uid().unwrap_or_default(), site.meta().generation.unwrap_or_default());
    let now = || Instant::now().into_std();
    if let Some(pause) = context.contention.lock().await.pause(&uid, generation, now()) {
        return Ok(Action::requeue(pause));
    }
    if site.meta().deletion_timestamp.is_some() {
        return Ok(Action::await_change()); // The garbage collector deletes the Deployment.
    }
    let target = Target::new(ApiResource::erase::<Deployment>(&()), site.namespace(), site.name_any());
    let log = |line: String| (context.log.0)(format!("{target}: {line}"));
    let live = context.applier.read(&target).await?;
    if live.as_ref().is_some_and(|live| !live.is_controlled_by(&uid)) {
        log("not controlled by this Site, left as it is".to_owned());
        return Ok(Action::requeue(Duration::from_mins(1)));
    }
    // Leaving replicas out is safe only while another manager owns it, as it was read.
    let options = Options::forced(MANAGER).guarded();
    let outcome = match live.as_ref().and_then(|live| Some((live, handover(&site, live, &target)?))) {
        Some((live, request)) => context.applier.write(request, live).await,
        None => context.applier.apply(live.as_ref(), &intent(&site), options).await,
    };
    match outcome {
        Ok(ApplyOutcome { sent: false, .. }) => Ok(Action::await_change()),
        Ok(ApplyOutcome { effects, .. }) => {
            let (mut contention, taken) = (context.contention.lock().await, effects.takeovers.into_iter());
            contention.corrected(uid.clone(), generation, taken.map(Correction::from), now());
            for one in contention.contested(now()).iter().filter(|one| one.key == uid) {
                log(format!("contested with {}, paused for {:?}", one.manager, one.pause));
            }
            Ok(Action::await_change()) // The change of the Deployment starts the next pass.
        }
        Err(ApplyError::Stale(_)) => Ok(Action::requeue(Duration::ZERO)),
        Err(error) => Err(error),
    }
}

/// The write before a release of `spec.replicas` that no other manager owns: the server would reset it to 1.
fn handover(site: &Site, live: &LiveObject, target: &Target) -> Option<Request> {
    let is_ours_alone = owners(live, REPLICAS).iter().map(|owner| &owner.manager).eq([MANAGER]);
    let is_due = site.spec.replicas.is_none() && is_ours_alone;
    is_due.then(|| hand_over(target.clone(), live, REPLICAS, TEMPORARY)).flatten()
}

/// Where the operator writes its lines: to a terminal, or into a test.
#[derive(Clone)]
pub struct Log(pub Arc<dyn Fn(String) + Send + Sync>);

impl Observer for Log {
    fn ended(&self, write: &PreparedWrite, _: DryRun, outcome: &Outcome) {
        let line = match outcome {
            Outcome::Skipped => "skipped, nothing to change".to_owned(),
            Outcome::Stored { changed: false, .. } => {
                let reason = write.reason().map(|reason| format!(": {reason}"));
                format!("sent, but changed nothing{}", reason.unwrap_or_default())
            }
            Outcome::Stored { effects: Effects { takeovers, releases, .. }, .. } => {
                let takeovers =
                    takeovers.iter().map(|it| format!(", took over {} from {}", it.path, it.manager));
                let releases = releases.iter().map(|path| format!(", released {path}"));
                format!("stored{}", takeovers.chain(releases).collect::<String>())
            }
            Outcome::Stale { .. } => "refused, changed since it was read".to_owned(),
            _ => return, // `retry` logs the error.
        };
        (self.0)(format!("{}: {line}", write.request.target));
    }
}
