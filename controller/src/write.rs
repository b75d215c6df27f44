//! One write of a child: predicted, left out where it would change nothing, sent, and held against its prediction.
//!
//! Refuses to know what is written and why.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};

use baton_crd::Workload;
use jiff::Timestamp;
use kube::{Resource, ResourceExt};
use serde_json::{Value, json};
use tracing::{debug, warn};

use crate::{
    act::{ActError, Actor, Effect, Outcome},
    causes::with_causes,
    child::Kind,
    live::Live,
    lock::lock,
    metrics::{ApplyOutcome, Metrics, PredictionOutcome},
    observe::Observed,
    openapi::SchemaCache,
    plan::Step,
    predict::{Answer, Difference, Effects, Forecast, ForecastError, Schemas, Take, Verdict},
    request::{Request, Write},
};

/// Predicts, sends and checks.
pub(crate) struct Writer {
    pub(crate) actor: Actor,
    /// Absent where nothing is to be predicted.
    pub(crate) schemas: Option<SchemaCache>,
    pub(crate) metrics: Metrics,
    mismatches: Mutex<HashSet<String>>,
}

/// How a write is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct How {
    /// Whether it is sent even if it changes nothing.
    pub(crate) for_real: bool,
    /// Whether it counts only for the object that it was predicted for. Not so once somebody else was faster a few times.
    pub(crate) guarded: bool,
}

/// How a write ended.
#[derive(Debug)]
pub(crate) enum Written {
    /// It would have changed nothing, and wasn't sent.
    Skipped,
    /// It was sent.
    Sent {
        /// How that ended.
        outcome: Outcome,
        /// What became different by it, if it was stored.
        effects: Effects,
    },
}

impl Writer {
    pub(crate) fn new(actor: Actor, schemas: Option<SchemaCache>, metrics: Metrics) -> Self {
        Self { actor, schemas, metrics, mismatches: Mutex::default() }
    }

    /// The schemas as they are now; none where nothing is to be predicted.
    pub(crate) fn schemas(&self) -> Arc<Schemas> {
        self.schemas.as_ref().map(SchemaCache::current).unwrap_or_default()
    }

    /// Makes a write of a child as it was seen.
    pub(crate) async fn write(&self, seen: &Observed, step: &Step, how: How) -> Written {
        let (child, workload) = (step.child(), &seen.workload);
        let live = seen.children.get(&child);
        let mut request = match Request::of(step, workload) {
            Ok(request) => request,
            Err(error) => {
                let outcome = Outcome::Failed(ActError::Client(kube::Error::SerdeError(error.source)));
                return Written::Sent { outcome, effects: Effects::default() };
            }
        };
        let schemas = self.schemas();
        let forecast = self.forecast(&schemas, &request, live);
        if matches!(forecast, Some(Forecast::NoOp)) && !how.for_real {
            self.metrics.applied(child, ApplyOutcome::Skipped);
            return Written::Skipped;
        }
        if let (Some(live), true, true) = (live, forecast.is_some(), how.guarded) {
            request.require_unchanged(&live.revision());
        }
        let is_comparable = live.is_none() || request.requires_unchanged();
        let is_apply = matches!(request.write, Write::Apply { .. });
        let outcome = self.actor.send(workload, request, Effect::Stored).await;
        if is_apply {
            self.metrics.applied(child, apply_outcome(&outcome));
        }
        if let Some(forecast) = forecast.as_ref().filter(|_| is_comparable)
            && let Some(answer) = answer(&outcome, Effect::Stored)
        {
            self.check(workload, &schemas, child.into(), forecast, live, answer);
        }
        let mut effects = Effects::default();
        if let Outcome::Done(after) = &outcome {
            if let Some(Forecast::Stored(stored)) = forecast {
                effects = stored.effects;
            }
            effects.takes.extend(step.releases(seen));
            effects = effects.borne_out(live, after.as_ref());
        }
        for take in &effects.takes {
            self.metrics.took_over(child, &take.manager, 1);
        }
        Written::Sent { outcome, effects }
    }

    /// Applies the Workload's status, if the Workload is still as it was seen, which is what `live` is.
    pub(crate) async fn write_status(
        &self,
        workload: &Workload,
        live: &Live,
        status: &Value,
    ) -> Result<(), ActError> {
        let body = status_body(workload, status);
        let schemas = self.schemas();
        let forecast = self.known(Kind::Workload, schemas.forecast_status(live, &body, Timestamp::now()));
        let applied = self.actor.apply_status(workload, &body).await?;
        if let Some(forecast) = forecast {
            self.check(workload, &schemas, Kind::Workload, &forecast, Some(live), Answer::Stored(&applied));
        }
        Ok(())
    }

    /// What a request will do; nothing where that can't be said.
    fn forecast(&self, schemas: &Schemas, request: &Request, live: Option<&Live>) -> Option<Forecast> {
        self.known(request.child.into(), schemas.forecast(request, live, Timestamp::now()))
    }

    fn known(&self, kind: Kind, forecast: Result<Forecast, ForecastError>) -> Option<Forecast> {
        let error = match forecast {
            Ok(forecast) => return Some(forecast),
            Err(error) => error,
        };
        self.metrics.predicted(kind, PredictionOutcome::None);
        match &error {
            ForecastError::NoSchema(_) => {}
            // The API server has the last word on it.
            error => debug!(%kind, error = with_causes(error), "can't predict a write"),
        }
        None
    }

    /// Compares an answer with its forecast, counts what came of it and says what differs. Never fails.
    pub(crate) fn check(
        &self,
        workload: &Workload,
        schemas: &Schemas,
        kind: Kind,
        forecast: &Forecast,
        base: Option<&Live>,
        answer: Answer<'_>,
    ) -> Option<Verdict> {
        let verdict = schemas.check(kind, forecast, base, answer)?;
        self.metrics.predicted(
            kind,
            match &verdict {
                Verdict::Match => PredictionOutcome::Match,
                Verdict::ModuloDefaulting => PredictionOutcome::ModuloDefaulting,
                Verdict::Unknown(_) => PredictionOutcome::Unknown,
                Verdict::Mismatch(_) => PredictionOutcome::Mismatch,
            },
        );
        if let Verdict::Mismatch(differences) = &verdict {
            self.tell_mismatch(workload, kind, differences);
            // Perhaps the schemas are out of date.
            if let Some(schemas) = &self.schemas {
                schemas.look_again();
            }
        }
        Some(verdict)
    }

    /// Logs a mismatch, once for each cause.
    fn tell_mismatch(&self, workload: &Workload, kind: Kind, differences: &[Difference]) {
        const MOST_CAUSES: usize = 1000;
        let lines: Vec<String> = differences.iter().map(ToString::to_string).collect();
        let (name, namespace, lines) = (workload.name_any(), workload.namespace(), lines.join("; "));
        let cause = format!("{kind} {}", differences.first().map(cause).unwrap_or_default());
        let mut known = lock(&self.mismatches);
        if known.len() < MOST_CAUSES && known.insert(cause) {
            warn!(
                %kind, name, namespace, differences = lines,
                "prediction mismatch: the API server made something else of a write than was predicted. The object is as \
                 the server says; if this isn't an admission webhook's work, it is a bug of Baton's merge core"
            );
        } else {
            debug!(%kind, name, namespace, differences = lines, "prediction mismatch again");
        }
    }
}

impl Effects {
    /// What of these the server's answer bears out. A schema may be wrong, and the server may spell a value in its own way:
    /// then nothing was set, or nobody has lost anything.
    fn borne_out(mut self, before: Option<&Live>, after: Option<&Live>) -> Self {
        let (Some(before), Some(after)) = (before, after) else { return self };
        if before.revision() == after.revision() {
            return Self::default();
        }
        let owns = |live: &Live, take: &Take| live.is_owned_by(&take.manager, &take.path);
        self.takes.retain(|take| owns(before, take) && !owns(after, take));
        self
    }
}

/// The Workload's status as it is applied. A status is told from the one before it, so it counts only for the Workload as it
/// was seen.
fn status_body(workload: &Workload, status: &Value) -> Value {
    json!({
        "apiVersion": Workload::api_version(&()),
        "kind": Workload::kind(&()),
        "metadata": {
            "name": workload.name_any(),
            "uid": workload.uid(),
            "resourceVersion": workload.resource_version(),
        },
        "status": status,
    })
}

/// What a difference has in common with those of other objects: its place without the names of list items.
fn cause(difference: &Difference) -> String {
    let mut depth = 0_usize;
    let is_kept = |character: &char| {
        match character {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => return depth == 0,
        }
        depth <= 1
    };
    difference.place.chars().filter(is_kept).collect()
}

/// An outcome as the prediction sees it; nothing where it says nothing about the merge.
pub(crate) fn answer(outcome: &Outcome, effect: Effect) -> Option<Answer<'_>> {
    match outcome {
        Outcome::Done(Some(live)) if effect == Effect::DryRun => Some(Answer::Tried(live)),
        Outcome::Done(Some(live)) => Some(Answer::Stored(live)),
        Outcome::Done(None) => None,
        Outcome::Stale(error) => error.is_ownership_conflict().then_some(Answer::Conflict),
        Outcome::Failed(error) => error.is_rejection().then_some(Answer::Refused),
    }
}

fn apply_outcome(outcome: &Outcome) -> ApplyOutcome {
    match outcome {
        Outcome::Done(_) => ApplyOutcome::Sent,
        Outcome::Stale(_) => ApplyOutcome::Stale,
        Outcome::Failed(error) if error.is_rejection() => ApplyOutcome::Rejected,
        Outcome::Failed(_) => ApplyOutcome::Failed,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A Deployment at a version, of which `helm` owns the number or doesn't.
    fn live(version: &str, helm: bool) -> Live {
        let fields =
            if helm { json!({"f:spec": {"f:replicas": {}}}) } else { json!({"f:spec": {"f:paused": {}}}) };
        let entry = json!({"manager": "helm", "operation": "Update", "fieldsV1": fields});
        let metadata = json!({"uid": "u", "resourceVersion": version, "managedFields": [entry]});
        Live::from_json(json!({"metadata": metadata})).unwrap()
    }

    #[test]
    fn only_what_the_answer_bears_out_is_told() {
        let take =
            |path: &str| Take { path: path.to_owned(), manager: "helm".to_owned(), old: None, new: None };
        let predicted = Effects {
            sets: vec![".spec.replicas".to_owned()],
            takes: vec![take(".spec.replicas"), take(".spec.template")],
            ..Effects::default()
        };
        let told = |after: &Live| predicted.clone().borne_out(Some(&live("1", true)), Some(after));
        assert_eq!(told(&live("1", true)), Effects::default(), "nothing was stored");
        assert_eq!(told(&live("2", true)).takes, [], "helm still owns what it owned");
        assert_eq!(
            told(&live("2", false)),
            Effects { takes: vec![take(".spec.replicas")], ..predicted.clone() }
        );
    }

    #[test]
    fn the_cause_of_a_mismatch_has_no_names_of_items() {
        let difference = |place: &str| Difference {
            place: place.to_owned(),
            predicted: String::new(),
            answered: String::new(),
        };
        assert_eq!(
            cause(&difference(r#".spec.containers[name="a"].ports[containerPort=80].name"#)),
            ".spec.containers[].ports[].name"
        );
        assert_eq!(
            cause(&difference("managedFields of baton Apply apps/v1")),
            "managedFields of baton Apply apps/v1"
        );
    }
}
