//! Mistakes that the operator could have in it, put around the real code: what it is shown, what it is told, and what it
//! sends. They show that the model would see them.

use baton_controller::{
    child::ChildKind,
    intent::{self, Selector},
    live::Live,
    observe::Observed,
    plan::{Guard, Step},
    request::{Request, Write},
};
use clap::ValueEnum;
use serde_json::{Value, json};

use super::cluster::{Cluster, Scaler, Spec};

/// A mistake, or half of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, ValueEnum)]
pub enum Fault {
    /// Leaves the number out before anybody else holds it.
    ReleaseFirst,
    /// Forces the apply of the temporary manager. Its guard still holds, and is enough.
    ForceTemporary,
    /// Doesn't guard the apply of the temporary manager. It still isn't forced, so it goes wrong only where nobody holds the
    /// number any more.
    UnguardedTemporary,
    /// Forces the apply of the temporary manager, and doesn't guard it.
    ForceUnguardedTemporary,
    /// Reads what a move rests on from the caches, and guards nothing by the resourceVersion.
    TrustCache,
    /// Takes for an autoscaler's only what `kube-controller-manager` wrote.
    MatchByName,
    /// Creates its autoscaler before it lets go of the number.
    AutoscalerFirst,
    /// Takes the number back before it deletes its autoscaler.
    TakeBackFirst,
    /// Doesn't guard what it applies to the Deployment, so that a number may be taken back that is an old one.
    UnguardedClaim,
    /// Sets `spec.replicas` at once in the place of taking the live number back first.
    SpecAtOnce,
    /// Releases the temporary manager while it alone holds the number.
    ReleaseTemporaryAlone,
    /// Doesn't look for the autoscalers of others.
    BlindToOthers,
}

impl Fault {
    /// All of them.
    pub fn all() -> &'static [Self] {
        Self::value_variants()
    }

    /// Whether it is half of a mistake, which the other protection makes good.
    pub fn is_harmless(self) -> bool {
        self == Self::ForceTemporary
    }

    /// Whether what is read past the caches comes from them nevertheless.
    pub(super) fn reads_from_cache(self) -> bool {
        self == Self::TrustCache
    }

    /// A Deployment as the operator sees it.
    pub(super) fn shown(self, live: &Live) -> Live {
        if self != Self::MatchByName {
            return live.clone();
        }
        let mut object = live.as_json().clone();
        let entries = object["metadata"]["managedFields"].as_array_mut();
        for entry in entries.into_iter().flatten().filter_map(Value::as_object_mut) {
            if entry.get("manager").is_none_or(|manager| manager != Scaler::Own.manager()) {
                entry.remove("subresource");
            }
        }
        Live::from_json(object).expect("it was an object before")
    }

    /// The cluster as the operator sees it in a pass with this spec. `on_its_way` tells whether whoever scales, or the
    /// temporary manager, still holds the number.
    pub(super) fn seen(self, cluster: Cluster, spec: Spec, on_its_way: bool) -> Cluster {
        match self {
            Self::BlindToOthers => Cluster { theirs: false, ..cluster },
            Self::TakeBackFirst if matches!(spec, Spec::Number(_)) && on_its_way => {
                Cluster { own: None, ..cluster }
            }
            _ => cluster,
        }
    }

    /// What is done in the place of a step.
    pub(super) fn steps(self, step: Step, seen: &Observed) -> Vec<Step> {
        let live = seen.own(ChildKind::Deployment);
        let apply = |replicas, revision| {
            let selector = Selector::of(&seen.workload, live);
            let intent = intent::deployment(&seen.workload, replicas, &selector).ok()?;
            Some(Step::Apply { child: ChildKind::Deployment, intent, guard: Guard::Unchanged(revision) })
        };
        let instead = match (self, &step) {
            (Self::ReleaseFirst, Step::HandOver { revision, .. }) => apply(None, revision.clone()),
            (Self::AutoscalerFirst, Step::HandOver { .. }) => {
                let selector = Selector::of(&seen.workload, live);
                let missing = seen.own(ChildKind::Autoscaler).is_none();
                let intent = intent::child(&seen.workload, ChildKind::Autoscaler, &selector).ok().flatten();
                let create =
                    |intent| Step::Apply { child: ChildKind::Autoscaler, intent, guard: Guard::Create };
                return intent.filter(|_| missing).map(create).into_iter().chain([step]).collect();
            }
            (_, Step::Apply { child: ChildKind::Deployment, guard: Guard::Unchanged(revision), intent }) => {
                let spec = &seen.workload.spec;
                let has_number = intent.as_value()["spec"].get("replicas").is_some();
                let holders = live.map(Live::replica_holders).unwrap_or_default();
                let temporary_alone = holders.temporary && !holders.baton && holders.scale.is_empty();
                match (self, spec.replicas) {
                    (Self::SpecAtOnce, Some(number)) if has_number && spec.autoscaling.is_none() => {
                        apply(Some(number), revision.clone())
                    }
                    (Self::ReleaseTemporaryAlone, _) if temporary_alone && spec.autoscaling.is_some() => {
                        Some(Step::ReleaseTemporary { revision: revision.clone() })
                    }
                    _ => None,
                }
            }
            _ => None,
        };
        vec![instead.unwrap_or(step)]
    }

    /// What is sent in the place of a step's request.
    pub(super) fn request(self, step: &Step, mut request: Request) -> Request {
        let temporary = matches!(step, Step::HandOver { .. });
        let forces = matches!(self, Self::ForceTemporary | Self::ForceUnguardedTemporary);
        let unguarded = match self {
            Self::UnguardedTemporary | Self::ForceUnguardedTemporary => temporary,
            Self::UnguardedClaim => matches!(step, Step::Apply { child: ChildKind::Deployment, .. }),
            Self::TrustCache => true,
            _ => false,
        };
        match &mut request.write {
            Write::Apply { force, body, .. } => {
                *force |= temporary && forces;
                if unguarded && let Some(metadata) = body["metadata"].as_object_mut() {
                    metadata.remove("resourceVersion");
                }
            }
            Write::Patch(patch) if unguarded => {
                let version = json!("/metadata/resourceVersion");
                let is_guard = |operation: &Value| operation["op"] == "test" && operation["path"] == version;
                patch.0.retain(|operation| !is_guard(&serde_json::to_value(operation).unwrap_or_default()));
            }
            Write::Delete(revision) if unguarded => revision.resource_version.clear(),
            Write::Patch(_) | Write::Delete(_) => {}
        }
        request
    }
}
