//! The world around the operator, as a model that can be explored.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use baton_controller::decide::{child::ChildKind, course::Read};
use stateright::{Model, Property};

use super::{
    cluster::{BY_HAND, Cluster, Part, ROGUES, Scaler, Spec},
    configurations::{Configuration, Start},
    fault::Fault,
    occurrences::{Occurrence, Occurrences},
    operator::{self, HeldBack, Pending, Received, Sent},
    properties::{Promise, judge},
    rest::{self, Rest},
    server::{ObjectId, ROGUE, Server, ServerResponse, rogue},
    state::{Action, Broken, Budgets, Delivery, OperatorState, State, UnderWay},
};

/// A configuration to explore, with an operator that may have a fault. Clones share their memory.
#[derive(Clone)]
pub struct Handover {
    configuration: Configuration,
    machinery: Arc<Mutex<Machinery>>,
}

/// The memory of objects, requests, passes and responses, so that each is computed once.
pub(super) struct Machinery {
    pub(super) server: Server,
    pub(super) operator: operator::PassStore,
    rests: HashMap<Cluster, bool>,
    /// Whether the status has to record the replica count. It matters only if the Deployment may be deleted.
    records: bool,
    pub(super) occurrences: Occurrences,
}

impl Handover {
    /// A model of this configuration.
    pub fn new(configuration: Configuration, fault: Option<Fault>) -> Self {
        let machinery = Machinery {
            server: Server::new(),
            operator: operator::PassStore::new(fault),
            rests: HashMap::new(),
            records: configuration.budgets.deletions > 0,
            occurrences: Occurrences::default(),
        };
        Self { configuration, machinery: Arc::new(Mutex::new(machinery)) }
    }

    pub(super) fn machinery(&self) -> MutexGuard<'_, Machinery> {
        self.machinery.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Model for Handover {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        let mut machinery = self.machinery();
        let state = |start: &Start| {
            let cluster = machinery.start(start);
            State {
                cluster,
                cached: cluster,
                operator: OperatorState::Idle(HeldBack::default()),
                late: None,
                under_way: UnderWay::default(),
                may_own: false,
                own_is_late: false,
                made: u8::from(cluster.own.is_some()),
                left: self.configuration.budgets,
                broken: Broken::default(),
            }
        };
        self.configuration.starts.iter().map(state).collect()
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        if state.broken.has_happened() {
            return;
        }
        let differs = |part: &Part| {
            let mut caught_up = state.cached;
            caught_up.take(*part, &state.cluster);
            caught_up != state.cached
        };
        actions.extend(Part::ALL.into_iter().filter(differs).map(Action::CatchUp));
        match state.operator {
            OperatorState::Idle(held_back) => {
                actions.push(Action::Begin { for_real: false });
                actions.extend((state.left.resyncs > 0).then_some(Action::Begin { for_real: true }));
                actions.extend((held_back != HeldBack::default()).then_some(Action::Retry));
            }
            OperatorState::Pass(pass) => {
                let pending = self.machinery().operator.pending(pass);
                actions.extend(deliveries(pending, state).into_iter().map(Action::Request));
            }
        }
        actions.extend(state.late.map(|_| Action::Arrive));
        self.disturbances(state, actions);
    }

    fn next_state(&self, last: &State, action: Action) -> Option<State> {
        let mut machinery = self.machinery();
        let mut next = *last;
        next.broken = Broken::default();
        machinery.act(&mut next, action);
        machinery.judge_state(&mut next);
        (next != *last).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        macro_rules! kept {
            ($($promise:ident),*) => {
                vec![$(Property::always(Promise::$promise.name(), |_, state: &State| {
                    !state.broken.has(Promise::$promise)
                })),*]
            };
        }
        kept![
            NoReset,
            OnlyToTheSpec,
            OnlyFromWhatWasRead,
            NotWhileOthersOwn,
            NeverUnowned,
            ComesBack,
            OneAtATime,
            Rest
        ]
    }
}

/// The possible deliveries of the next request of a pass.
fn deliveries(pending: Pending, state: &State) -> Vec<Delivery> {
    let Budgets { losses, crashes, late, .. } = state.left;
    let mut deliveries = vec![Delivery::Responded];
    if losses > 0 {
        deliveries.push(Delivery::Lost);
    }
    if crashes > 0 {
        deliveries.push(Delivery::CrashBefore);
    }
    let Pending::Write(_) = pending else { return deliveries };
    let may_be_late = late > 0 && state.late.is_none();
    if losses > 0 {
        deliveries.push(Delivery::ResponseLost);
        deliveries.extend(may_be_late.then_some(Delivery::Late));
    }
    if crashes > 0 {
        deliveries.push(Delivery::CrashAfter);
        deliveries.extend(may_be_late.then_some(Delivery::CrashLate));
    }
    deliveries
}

impl Handover {
    /// The possible actions of all but the operator.
    fn disturbances(&self, state: &State, actions: &mut Vec<Action>) {
        let State { cluster, left, .. } = state;
        if left.edits > 0 {
            let others = self.configuration.specs.iter().filter(|spec| **spec != cluster.spec);
            actions.extend(others.copied().map(Action::Edit));
        }
        if left.others > 0 {
            actions.push(if cluster.theirs { Action::OthersDelete } else { Action::OthersCreate });
        }
        let Some(deployment) = cluster.deployment else { return };
        let machinery = self.machinery();
        let replicas = machinery.server.replicas(deployment);
        if left.deletions > 0 {
            actions.push(Action::Delete);
        }
        // At zero an autoscaler does nothing.
        if left.scalings > 0 && replicas.count > 0 {
            for scaler in Scaler::ALL {
                if cluster.has(scaler) || state.under_way.has(scaler) {
                    let numbers = scaler.numbers().iter().filter(|wanted| **wanted != replicas.count);
                    actions.extend(numbers.map(|wanted| Action::Scale(scaler, *wanted)));
                }
            }
        }
        if left.by_hand > 0 && replicas.count != BY_HAND {
            actions.push(Action::ByHand);
        }
        let is_rogues = replicas.owners.others.iter().any(|manager| manager == ROGUE);
        if is_rogues {
            actions.push(Action::RogueReleases);
        } else if left.rogue > 0 {
            actions.push(Action::RogueTakesOver);
        }
    }
}

impl Machinery {
    fn start(&mut self, start: &Start) -> Cluster {
        let cluster = Cluster { spec: start.spec, generation: 1, theirs: start.theirs, ..Cluster::NOTHING };
        if !start.exists {
            return cluster;
        }
        let rest = rest::come_to_rest(cluster, &mut self.operator, &mut self.server);
        let Some(Rest { mut cluster, .. }) = rest else { return cluster };
        let scaler = Scaler::ALL.into_iter().find(|scaler| start.scaled && cluster.has(*scaler));
        if let (Some(scaler), Some(id)) = (scaler, cluster.deployment) {
            cluster.deployment = Some(self.server.scale(id, scaler.manager(), scaler.numbers()[0]));
        }
        let recorded = cluster.deployment.filter(|_| self.records);
        cluster.recorded = recorded.map(|id| self.server.replicas(id).count);
        cluster
    }

    pub(super) fn act(&mut self, state: &mut State, action: Action) {
        let State { cluster, left, .. } = state;
        match action {
            Action::CatchUp(part) => state.cached.take(part, &state.cluster),
            Action::Begin { for_real } => {
                let OperatorState::Idle(held_back) = state.operator else { return };
                let pass = self.operator.begin(state.cached, held_back, for_real, &mut self.server);
                self.go_on(state, pass);
                if for_real && matches!(state.operator, OperatorState::Pass(_)) {
                    state.left.resyncs -= 1;
                }
            }
            Action::Request(delivery) => self.request(state, delivery),
            Action::Retry => state.operator = OperatorState::Idle(HeldBack::default()),
            Action::Arrive => {
                if let Some(sent) = state.late.take() {
                    let owned = self.baton_owns(state);
                    let response = self.carry_out(state, sent);
                    state.may_own |= !owned && self.baton_owns(state);
                    state.own_is_late |= sent.child == ChildKind::Autoscaler && state.cluster.own.is_some();
                    let counts = matches!(response, ServerResponse::Done(_));
                    self.occurrences.note(if counts {
                        Occurrence::LateWriteCounted
                    } else {
                        Occurrence::LateWriteRefused
                    });
                }
            }
            Action::Edit(spec) => {
                (cluster.spec, cluster.generation) = (spec, cluster.generation + 1);
                left.edits -= 1;
            }
            Action::Scale(scaler, number) => {
                left.scalings -= 1;
                if !cluster.has(scaler) {
                    self.occurrences.note(Occurrence::ScaledAfterItsDeletion);
                }
                self.scale(state, scaler.manager(), number);
            }
            Action::ByHand => {
                left.by_hand -= 1;
                self.scale(state, "kubectl", BY_HAND);
            }
            Action::RogueTakesOver => {
                left.rogue -= 1;
                self.rogue(state, Some(ROGUES));
            }
            Action::RogueReleases => self.rogue(state, None),
            Action::OthersCreate => {
                left.others -= 1;
                cluster.theirs = true;
                state.under_way.theirs = false;
            }
            Action::OthersDelete => {
                left.others -= 1;
                cluster.theirs = false;
                state.under_way.theirs = left.scalings > 0 && cluster.deployment.is_some();
            }
            Action::Delete => {
                left.deletions -= 1;
                cluster.deployment = None;
                state.under_way = UnderWay::default();
                state.may_own = false;
                self.occurrences.note(Occurrence::Deleted);
                overtake(state, ChildKind::Deployment);
            }
        }
    }

    /// The next request of the operator's pass.
    fn request(&mut self, state: &mut State, delivery: Delivery) {
        let OperatorState::Pass(pass) = state.operator else { return };
        let pending = self.operator.pending(pass);
        if delivery.crashes() {
            state.left.crashes -= 1;
        } else if delivery != Delivery::Responded {
            state.left.losses -= 1;
        }
        let received = match (pending, delivery) {
            (Pending::Read(read), Delivery::Responded) => {
                let from = if self.operator.reads_from_cache() { state.cached } else { state.cluster };
                if from.generation != state.cached.generation && read == Read::Workload {
                    self.occurrences.note(Occurrence::SawANewerSpec);
                }
                operator::PassStore::shown(read, &from)
            }
            (Pending::Write(sent), Delivery::Responded | Delivery::ResponseLost | Delivery::CrashAfter) => {
                let response = self.carry_out(state, sent);
                match response {
                    ServerResponse::Stale { conflict: true } => self.occurrences.note(Occurrence::Conflict),
                    ServerResponse::Stale { conflict: false } => {
                        self.occurrences.note(Occurrence::RefusedByGuard);
                    }
                    ServerResponse::Done(_) | ServerResponse::Refused => {}
                }
                if delivery == Delivery::Responded { Received::Written(response) } else { Received::Nothing }
            }
            (Pending::Write(sent), Delivery::Late | Delivery::CrashLate) => {
                state.left.late -= 1;
                state.late = Some(sent);
                Received::Nothing
            }
            _ => Received::Nothing,
        };
        if delivery.crashes() {
            state.operator = OperatorState::Idle(HeldBack::default());
            state.cached = state.cluster;
        } else {
            let next = self.operator.receive(pass, received, &mut self.server);
            self.go_on(state, next);
        }
    }

    fn go_on(&mut self, state: &mut State, pass: operator::PassId) {
        state.operator = match self.operator.pending(pass) {
            Pending::Done => {
                if self.records {
                    state.cluster.recorded = self.operator.recorded(pass);
                }
                OperatorState::Idle(self.operator.held_back(pass))
            }
            Pending::Read(_) | Pending::Write(_) => OperatorState::Pass(pass),
        };
    }

    /// Carries out Baton's write.
    fn carry_out(&mut self, state: &mut State, sent: Sent) -> ServerResponse {
        let before = *state.cluster.child(sent.child);
        let request = self.operator.as_it_is_sent(&sent, before, &mut self.server);
        let response = self.server.send(request, before, state.made + 1);
        let ServerResponse::Done(after) = response else { return response };
        if after == before {
            return response;
        }
        match (sent.child, after) {
            (ChildKind::Deployment, Some(after)) => self.put(state, after, Some(&sent), false),
            (ChildKind::Deployment, None) => {}
            (_, after) => {
                state.cluster.own = after;
                state.made += u8::from(before.is_none());
                state.own_is_late &= after.is_some();
                state.under_way.own = after.is_none() && state.left.scalings > 0;
                overtake(state, sent.child);
            }
        }
        response
    }

    fn scale(&mut self, state: &mut State, manager: &'static str, number: i32) {
        let Some(before) = state.cluster.deployment else { return };
        let after = self.server.scale(before, manager, number);
        self.put(state, after, None, false);
    }

    fn rogue(&mut self, state: &mut State, number: Option<i32>) {
        let request = self.server.know(rogue(number));
        if let ServerResponse::Done(Some(after)) = self.server.send(request, state.cluster.deployment, 0) {
            self.put(state, after, None, true);
        }
    }

    /// Replaces the Deployment.
    fn put(&mut self, state: &mut State, after: ObjectId, sent: Option<&Sent>, rogue: bool) {
        let before = state.cluster.deployment.replace(after);
        if before == Some(after) {
            return;
        }
        let (before, after) = (before.map(|id| self.server.judged(id)), self.server.judged(after));
        state.broken = judge(before, after, sent.map(Sent::judged).as_ref(), rogue);
        state.may_own |= sent.is_some_and(|sent| sent.creates);
        state.may_own &= after.replicas.owners.baton;
        let before = before.map(|before| before.replicas);
        self.occurrences.moved(state.cluster.spec == Spec::HandsOff, before, after.replicas, sent.is_some());
        // All reads before are outdated.
        state.under_way = UnderWay::default();
        overtake(state, ChildKind::Deployment);
    }

    fn baton_owns(&self, state: &State) -> bool {
        state.cluster.deployment.is_some_and(|id| self.server.replicas(id).owners.baton)
    }

    fn judge_state(&mut self, state: &mut State) {
        let owns = self.baton_owns(state) && !state.may_own && !state.own_is_late;
        state.broken.note(Promise::OneAtATime, owns && state.cluster.own.is_some());
        let start = Cluster { generation: 1, ..state.cluster };
        let is_kept = match self.rests.get(&start) {
            Some(kept) => *kept,
            None => {
                let rest = rest::come_to_rest(start, &mut self.operator, &mut self.server);
                let kept = rest.is_some_and(|rest| rest::is_as_it_should_be(&start, &rest, &self.server));
                self.rests.insert(start, kept);
                kept
            }
        };
        state.broken.note(Promise::Rest, !is_kept);
    }
}

/// Drops a late write if it is guarded: its object was written now, so it would be refused.
fn overtake(state: &mut State, child: ChildKind) {
    if state.late.is_some_and(|sent| sent.is_guarded && sent.child == child) {
        state.late = None;
    }
}
