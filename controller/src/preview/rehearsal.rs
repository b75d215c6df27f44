//! A pass of the loop with the merge core in the API server's place: a pure function.

use std::collections::{BTreeMap, BTreeSet};

use baton_crd::PlannedAction;
use jiff::Timestamp;

use crate::{
    causes::with_causes,
    child::ChildKind,
    course::MOST_PLANS,
    intent::IntentError,
    live::Live,
    observe::Observed,
    plan::{Plan, Refusal, Step, Then, plan},
    predict::{Effects, Forecast, Schemas},
    request::Request,
};

/// What a pass would do.
#[derive(Clone, Debug, Default)]
pub struct Rehearsal {
    /// For each child that is there or would be.
    pub children: BTreeMap<ChildKind, Rehearsed>,
    /// Children that would be left alone because they aren't this Workload's.
    pub refused: Vec<Refusal>,
}

/// What would be done with one child.
#[derive(Clone, Debug, Default)]
pub struct Rehearsed {
    /// All in all.
    pub action: PlannedAction,
    /// The single fields.
    pub effects: Effects,
    /// How many requests it would take.
    pub writes: u32,
    /// The first request, with its forecast where there is one. It is there too where it would change nothing.
    pub first: Option<(Request, Option<Forecast>)>,
    /// Why it wouldn't go on, in words.
    pub stopped: Option<String>,
}

/// Rehearses a pass. What can't be predicted ends the rehearsal of that child.
///
/// # Errors
/// When the Workload can't be written as intents.
pub fn rehearse(seen: &Observed, schemas: &Schemas, now: Timestamp) -> Result<Rehearsal, IntentError> {
    let mut stage = seen.clone();
    let mut rehearsal = Rehearsal::default();
    let mut stopped = BTreeSet::new();
    for child in ChildKind::ALL.into_iter().filter(|child| seen.own(*child).is_some()) {
        rehearsal.children.insert(child, Rehearsed::default());
    }
    for look in 0..MOST_PLANS {
        let Plan { steps, refused, then } = plan(&stage, &stopped)?;
        if look == 0 {
            for refusal in &refused {
                let alone = Rehearsed { stopped: Some(refusal.message.clone()), ..Rehearsed::default() };
                rehearsal.children.insert(refusal.child, alone);
            }
            rehearsal.refused = refused;
        }
        for step in steps {
            let rehearsed = rehearsal.children.entry(step.child()).or_default();
            if rehearsed.play(&step, &mut stage, schemas, now).is_none() {
                stopped.insert(step.child());
            }
        }
        if then == Then::Rest {
            break;
        }
    }
    Ok(rehearsal)
}

impl Rehearsed {
    /// Does a step on the stage; nothing where it can't go on after it.
    fn play(&mut self, step: &Step, stage: &mut Observed, schemas: &Schemas, now: Timestamp) -> Option<()> {
        let child = step.child();
        let live = stage.children.get(&child);
        let request = match Request::of(step, &stage.workload) {
            Ok(request) => request,
            Err(error) => {
                self.stopped = Some(with_causes(&error));
                return None;
            }
        };
        let forecast = schemas.forecast(&request, live, now);
        let first = |forecast| Some((request.clone(), forecast));
        let forecast = match forecast {
            Ok(forecast) => forecast,
            Err(error) => {
                self.first = self.first.take().or_else(|| first(None));
                self.action = self.action_of(live, true);
                self.stopped = Some(with_causes(&error));
                return None;
            }
        };
        self.first = self.first.take().or_else(|| first(Some(forecast.clone())));
        match forecast {
            Forecast::NoOp => {}
            Forecast::Deleted => {
                self.action = PlannedAction::Delete;
                self.writes += 1;
                stage.put(child, None);
            }
            Forecast::Conflicts(words) | Forecast::Refused(words) => {
                self.stopped = Some(format!("the API server would refuse it: {words}"));
                return None;
            }
            Forecast::Stored(stored) => {
                self.action = self.action_of(live, stored.changed);
                self.writes += 1;
                self.effects.add(stored.effects);
                self.effects.takes.extend(step.releases(stage));
                stage.put(child, Some(as_stored(stored.object, live)?));
            }
        }
        Some(())
    }

    fn action_of(&self, live: Option<&Live>, changed: bool) -> PlannedAction {
        match (self.action, live) {
            (PlannedAction::Nothing, None) => PlannedAction::Create,
            (PlannedAction::Nothing, Some(_)) if changed => PlannedAction::Update,
            (action, _) => action,
        }
    }
}

impl Effects {
    fn add(&mut self, other: Self) {
        fn join<T: PartialEq>(all: &mut Vec<T>, more: Vec<T>) {
            for one in more {
                if !all.contains(&one) {
                    all.push(one);
                }
            }
        }
        join(&mut self.sets, other.sets);
        join(&mut self.removes, other.removes);
        join(&mut self.takes, other.takes);
        join(&mut self.releases, other.releases);
    }
}

/// A predicted object as the server would return it: with an identity, and in another version than before.
fn as_stored(mut object: serde_json::Value, before: Option<&Live>) -> Option<Live> {
    let before = before.map(Live::revision);
    let version = before.as_ref().map_or("0", |before| before.resource_version.as_str());
    object["metadata"]["resourceVersion"] = format!("{version}+").into();
    if before.is_none() {
        object["metadata"]["uid"] = "of the rehearsal".into();
    }
    Live::from_json(object).ok()
}
