//! A path through the model, as a table for people: one line for each action.

use std::fmt;

use baton_apply::Change;
use baton_controller::decide::{child::ChildKind, course::Read};

use crate::Table;

use super::{
    cluster::{BY_HAND, Cluster, Part, ROGUES, Scaler, Spec},
    model::{Handover, Machinery},
    operator::{Pending, Sent},
    properties::Promise,
    state::{Action, Delivery, OperatorState, State},
};

/// The actions, step by step.
#[derive(Clone, Debug)]
pub struct Trace {
    lines: Vec<Line>,
    states: usize,
    /// The promises that the last step broke.
    pub broken: Vec<Promise>,
}

/// An action, and the Deployment after it: who did what; the replica count, its owners and the autoscalers.
type Line = [String; 5];

impl Trace {
    pub(super) fn new(model: &Handover, path: &[(State, Option<Action>)]) -> Self {
        let mut machinery = model.machinery();
        let mut trace = Self { lines: Vec::new(), states: path.len(), broken: Vec::new() };
        let mut last: Option<(State, Action)> = None;
        for (state, action) in path {
            let (who, what) = match last {
                None => ("", format!("the Workload asks for {}", asks(state.cluster.spec))),
                Some((before, action)) => describe(&machinery, &before, action, state),
            };
            trace.lines.push(line(&machinery, who, what, &state.cluster));
            last = action.map(|action| (*state, action));
        }
        if let Some((end, _)) = path.last() {
            trace.broken =
                Promise::all().iter().copied().filter(|promise| end.broken.has(*promise)).collect();
            if !end.broken.has_happened() {
                trace.leave_alone(&mut machinery, *end);
            }
        }
        trace
    }

    /// Whether a promise is broken by something that has happened, not by what would happen.
    pub(super) fn has_happened(&self) -> bool {
        self.broken.iter().any(|promise| *promise != Promise::Rest)
    }

    /// Adds what the operator does from here without disturbances.
    fn leave_alone(&mut self, machinery: &mut Machinery, mut state: State) {
        const ENOUGH: usize = 30;
        for _ in 0..ENOUGH {
            let action = match state.operator {
                OperatorState::Pass(_) => Action::Request(Delivery::Responded),
                OperatorState::Idle(_) => {
                    state.cached = state.cluster;
                    Action::Begin { for_real: false }
                }
            };
            let before = state;
            machinery.act(&mut state, action);
            if state == before {
                return;
            }
            let (who, what) = describe(machinery, &before, action, &state);
            self.lines.push(line(machinery, who, what, &state.cluster));
        }
    }

    /// How many states it takes to break a promise. If the operator doesn't come to rest as it should, the trace has more lines.
    pub fn states(&self) -> usize {
        self.states
    }
}

fn line(machinery: &Machinery, who: &str, what: String, cluster: &Cluster) -> Line {
    let (number, owners) = shown(machinery, cluster);
    let autoscalers = match (cluster.own.is_some(), cluster.theirs) {
        (false, false) => "-",
        (true, false) => "Baton's",
        (false, true) => "theirs",
        (true, true) => "Baton's, theirs",
    };
    [who.to_owned(), what, number, owners, autoscalers.to_owned()]
}

/// The Deployment's replica count, and its owners.
fn shown(machinery: &Machinery, cluster: &Cluster) -> (String, String) {
    let Some(id) = cluster.deployment else { return ("-".to_owned(), "no Deployment".to_owned()) };
    let replicas = machinery.server.replicas(id);
    (replicas.count.to_string(), replicas.owners.describe())
}

fn asks(spec: Spec) -> String {
    match spec {
        Spec::Number(number) => format!("{number} replicas"),
        Spec::HandsOff => "neither replicas nor an autoscaler".to_owned(),
        Spec::Own => "Baton's autoscaler".to_owned(),
        Spec::External => "an external autoscaler".to_owned(),
        Spec::Suspended => "Baton's autoscaler, and to be suspended".to_owned(),
    }
}

fn describe(machinery: &Machinery, before: &State, action: Action, after: &State) -> (&'static str, String) {
    let scaler = |scaler| match scaler {
        Scaler::Own => "autoscaler",
        Scaler::Theirs => "their autoscaler",
    };
    match action {
        Action::CatchUp(part) => {
            ("Baton", format!("its cache catches up: {}", news(machinery, part, &after.cached)))
        }
        Action::Begin { for_real } => {
            let (number, owners) = shown(machinery, &before.cached);
            let why = if for_real { ", sending all" } else { "" };
            let seen = format!("{}; {number}, {owners}", asks(before.cached.spec));
            ("Baton", format!("begin a pass{why} (its caches: {seen})"))
        }
        Action::Request(delivery) => ("Baton", request(machinery, before, delivery)),
        Action::Retry => ("Baton", "retry after a failure".to_owned()),
        Action::Arrive => {
            let what = before.late.map(|sent| write_text(machinery, &sent)).unwrap_or_default();
            ("the network", format!("deliver late: {what}{}", effect(before, after)))
        }
        Action::Edit(spec) => ("the user", format!("ask for {}", asks(spec))),
        Action::Scale(who, number) => {
            let gone = if before.cluster.has(who) { "" } else { ", though it was just deleted" };
            (scaler(who), format!("scale to {number}{gone}"))
        }
        Action::ByHand => ("the user", format!("kubectl scale to {BY_HAND}")),
        Action::RogueTakesOver => ("the rogue", format!("force-apply {ROGUES}")),
        Action::RogueReleases => ("the rogue", "apply an empty intent".to_owned()),
        Action::OthersCreate => ("the user", "create an autoscaler of their own".to_owned()),
        Action::OthersDelete => ("the user", "delete their autoscaler".to_owned()),
        Action::Delete => ("the user", "delete the Deployment".to_owned()),
    }
}

fn news(machinery: &Machinery, part: Part, cached: &Cluster) -> String {
    match part {
        Part::Workload => format!("the Workload asks for {}", asks(cached.spec)),
        Part::Deployment => {
            let (number, owners) = shown(machinery, cached);
            format!("the Deployment has {number}, owned by {owners}")
        }
        Part::Autoscalers => "the autoscalers".to_owned(),
    }
}

fn request(machinery: &Machinery, before: &State, delivery: Delivery) -> String {
    let OperatorState::Pass(pass) = before.operator else { return String::new() };
    let what = match machinery.operator.pending(pass) {
        Pending::Read(Read::Workload) => "read the Workload".to_owned(),
        Pending::Read(Read::Child(child) | Read::Newer(child)) => format!("read the {child}"),
        Pending::Read(Read::Autoscalers) => "list the autoscalers".to_owned(),
        Pending::Write(sent) => write_text(machinery, &sent),
        Pending::Done => String::new(),
    };
    match delivery {
        Delivery::Responded => what,
        Delivery::Lost => format!("{what}: never arrives"),
        Delivery::ResponseLost => format!("{what}: the response is lost"),
        Delivery::Late => format!("{what}: times out, still on its way"),
        Delivery::CrashBefore => format!("crash before this: {what}"),
        Delivery::CrashAfter => format!("{what}; and crash"),
        Delivery::CrashLate => format!("crash with this on its way: {what}"),
    }
}

/// A write, with its object and its replica count where they aren't clear.
fn write_text(machinery: &Machinery, sent: &Sent) -> String {
    let Sent { what, child, .. } = sent;
    if what.contains(' ') {
        return (*what).to_owned();
    }
    let number = match &machinery.server.request(sent.request).change {
        Change::Apply { body, .. } if *child == ChildKind::Deployment => match body["spec"].get("replicas") {
            Some(number) => format!(" with {number}"),
            None => " without replicas".to_owned(),
        },
        _ => String::new(),
    };
    format!("{what} the {child}{number}")
}

fn effect(before: &State, after: &State) -> &'static str {
    if before.cluster == after.cluster { " (refused)" } else { "" }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = Table::new(["", "who", "what", "replicas", "owners", "autoscalers"]);
        for (step, [who, what, number, owners, autoscalers]) in self.lines.iter().cloned().enumerate() {
            table.row([format!("{step:>4}"), who, what, format!("{number:>8}"), owners, autoscalers]);
        }
        let (head, rows) = table.lines();
        for line in [head].iter().chain(&rows) {
            writeln!(f, "{line}")?;
        }
        for promise in &self.broken {
            writeln!(f, "      broken: {}", promise.name())?;
        }
        Ok(())
    }
}
