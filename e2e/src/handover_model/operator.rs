//! The operator: the code that decides is the real one, a [`Course`] for each pass. What runs it, in place of the loop around
//! it, makes a write's request, leaves it out where it is predicted to change nothing, and tells the course its answer.
//!
//! A pass is known by all that its course knows, so that two ways to the same knowledge are one pass.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, VecDeque},
    sync::Arc,
};

use baton_controller::{
    autoscalers::Autoscaler,
    child::ChildKind,
    course::{Course, Look, Next},
    live::Live,
    observe::Observed,
    plan::Step,
    predict::Forecast,
    request::{Request, Write},
};
use baton_crd::Workload;
use serde_json::{Map, json};
use sha2::{Digest, Sha256};

use super::{
    cluster::{Cluster, Part, START, Spec},
    fault::Fault,
    server::{Answer, NAME, NAMESPACE, ObjectId, RequestId, Server},
};

const UID: &str = "uid-of-the-workload";
/// As often as the real loop lets somebody else be faster before it no longer adds a guard of its own.
const MOST_GUARDED: u32 = 3;

/// A pass at one point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PassId(u32);

/// A write of Baton's, with what it was decided from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sent {
    pub(super) request: RequestId,
    /// The Workload that it was planned from.
    pub(super) spec: Spec,
    pub(super) generation: u8,
    /// The Deployment's number as it was read.
    pub(super) read: Option<i32>,
    /// Whether it counts only for the object that was read.
    pub(super) is_guarded: bool,
    /// Whether it creates its object. Such a write has no guard: server-side apply knows none.
    pub(super) creates: bool,
    pub(super) child: ChildKind,
    pub(super) what: &'static str,
}

/// What a pass does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pending {
    Look(Look),
    Write(Sent),
    Done,
}

/// What a pass is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Told {
    /// What it looked at, in a cluster that says nothing of the rest.
    Saw(Cluster),
    Wrote(Answer),
    /// No answer came.
    Failed,
}

/// Children that are left alone for a while after a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HeldBack {
    deployment: bool,
    autoscaler: bool,
}

impl HeldBack {
    fn set(&mut self, child: ChildKind, held: bool) {
        match child {
            ChildKind::Deployment => self.deployment = held,
            ChildKind::Autoscaler => self.autoscaler = held,
            ChildKind::Service | ChildKind::DisruptionBudget => {}
        }
    }

    fn children(self) -> BTreeSet<ChildKind> {
        let all = [(self.deployment, ChildKind::Deployment), (self.autoscaler, ChildKind::Autoscaler)];
        all.into_iter().filter(|(held, _)| *held).map(|(_, child)| child).collect()
    }
}

/// A pass under way, as the loop keeps it.
#[derive(Clone, Debug)]
struct Pass {
    course: Course,
    /// Where a fault makes several steps of one.
    queue: VecDeque<Step>,
    /// How often the live object of a child wasn't what was seen.
    stale: BTreeMap<ChildKind, u32>,
    failed: HeldBack,
    for_real: bool,
    spec: Spec,
    generation: u8,
}

pub(super) struct Operator {
    fault: Option<Fault>,
    passes: Vec<(Pass, Pending)>,
    /// By the digest of what they look like in full.
    by_text: HashMap<[u8; 32], PassId>,
    begun: HashMap<(Cluster, HeldBack, bool), PassId>,
    told: HashMap<(PassId, Told), PassId>,
}

impl Operator {
    pub(super) fn new(fault: Option<Fault>) -> Self {
        Self {
            fault,
            passes: Vec::new(),
            by_text: HashMap::new(),
            begun: HashMap::new(),
            told: HashMap::new(),
        }
    }

    pub(super) fn pending(&self, id: PassId) -> Pending {
        self.pass(id).1
    }

    /// The children that are left alone after this pass.
    pub(super) fn held_back(&self, id: PassId) -> HeldBack {
        self.pass(id).0.failed
    }

    pub(super) fn passes(&self) -> usize {
        self.passes.len()
    }

    /// Whether what is read past the caches comes from them nevertheless.
    pub(super) fn reads_from_cache(&self) -> bool {
        self.fault.is_some_and(Fault::reads_from_cache)
    }

    fn pass(&self, id: PassId) -> &(Pass, Pending) {
        &self.passes[id.0 as usize]
    }

    /// Begins a pass from what the caches show. `for_real` sends also what would change nothing.
    pub(super) fn begin(
        &mut self,
        cached: Cluster,
        held_back: HeldBack,
        for_real: bool,
        server: &mut Server,
    ) -> PassId {
        let key = (cached, held_back, for_real);
        if let Some(pass) = self.begun.get(&key) {
            return *pass;
        }
        let on_its_way = cached.deployment.is_some_and(|id| server.number(id).is_on_its_way());
        let seen = self.seen(cached, cached.spec, on_its_way);
        let mut children = BTreeMap::new();
        children.extend(
            self.child(ChildKind::Deployment, seen, server).map(|live| (ChildKind::Deployment, live)),
        );
        children.extend(
            self.child(ChildKind::Autoscaler, seen, server).map(|live| (ChildKind::Autoscaler, live)),
        );
        let workload = Arc::new(workload(cached.spec, cached.generation));
        let observed = Observed { workload, children, autoscalers: autoscalers(seen, server) };
        let pass = Pass {
            course: Course::new(observed, held_back.children()),
            queue: VecDeque::new(),
            stale: BTreeMap::new(),
            failed: held_back,
            for_real,
            spec: cached.spec,
            generation: cached.generation,
        };
        let id = self.go_on(pass, server);
        self.begun.insert(key, id);
        id
    }

    /// The answer to a look.
    pub(super) fn look(look: Look, cluster: &Cluster) -> Told {
        let part = match look {
            Look::Workload => Part::Workload,
            Look::Child(ChildKind::Deployment) => Part::Deployment,
            Look::Child(_) | Look::Autoscalers => Part::Autoscalers,
        };
        let mut shown = Cluster::NOTHING;
        shown.take(part, cluster);
        Told::Saw(shown)
    }

    /// Tells a pass what it waited for.
    pub(super) fn tell(&mut self, id: PassId, told: Told, server: &mut Server) -> PassId {
        if let Some(next) = self.told.get(&(id, told)) {
            return *next;
        }
        let (mut pass, pending) = self.pass(id).clone();
        match (pending, told) {
            (Pending::Look(look), Told::Saw(cluster)) => self.saw(&mut pass, look, cluster, server),
            (Pending::Look(look), _) => {
                pass.fail(match look {
                    Look::Child(child) => child,
                    Look::Workload | Look::Autoscalers => ChildKind::Deployment,
                });
                pass.course.missed(look);
            }
            (Pending::Write(sent), Told::Wrote(Answer::Done(object))) => {
                let live = object.map(|object| self.live(sent.child, object, server));
                pass.course.wrote(sent.child, live);
                pass.failed.set(sent.child, false);
            }
            (Pending::Write(sent), Told::Wrote(Answer::Stale { .. })) => {
                *pass.stale.entry(sent.child).or_default() += 1;
                pass.course.stale(sent.child);
            }
            (Pending::Write(sent), _) => pass.fail(sent.child),
            (Pending::Done, _) => {}
        }
        let next = self.go_on(pass, server);
        self.told.insert((id, told), next);
        next
    }

    fn saw(&self, pass: &mut Pass, look: Look, cluster: Cluster, server: &Server) {
        let holders =
            pass.course.seen().own(ChildKind::Deployment).map(Live::replica_holders).unwrap_or_default();
        let on_its_way = holders.temporary || !holders.scale.is_empty();
        let seen = self.seen(cluster, pass.spec, on_its_way);
        match look {
            Look::Workload => pass.course.saw_workload(Some(&workload(cluster.spec, cluster.generation))),
            Look::Child(child) => pass.course.saw_child(child, self.child(child, seen, server)),
            Look::Autoscalers => pass.course.saw_autoscalers(autoscalers(seen, server)),
        }
    }

    /// Goes on to the next request, or to the end.
    fn go_on(&mut self, mut pass: Pass, server: &mut Server) -> PassId {
        let pending = loop {
            if let Some(step) = pass.queue.pop_front() {
                if let Some(sent) = self.write(&pass, &step, server) {
                    break Pending::Write(sent);
                }
                pass.failed.set(step.child(), false);
                continue;
            }
            match pass.course.go_on().expect("the model's Workloads can be written") {
                Next::Look(look) => break Pending::Look(look),
                Next::Done => break Pending::Done,
                Next::Write(step) => pass.queue.extend(match self.fault {
                    Some(fault) => fault.steps(step, pass.course.seen()),
                    None => vec![step],
                }),
            }
        };
        self.know(pass, pending)
    }

    /// The request of a step; none where it would change nothing.
    fn write(&self, pass: &Pass, step: &Step, server: &mut Server) -> Option<Sent> {
        let child = step.child();
        let seen = pass.course.seen();
        let live = seen.children.get(&child);
        let mut request = Request::of(step, &seen.workload).expect("a step can be written as a request");
        let forecast = server.forecast(&request, live);
        if matches!(forecast, Ok(Forecast::NoOp)) && !pass.for_real {
            return None;
        }
        let guarded = pass.stale.get(&child).is_none_or(|times| *times < MOST_GUARDED);
        if let (Some(live), true) = (live, forecast.is_ok() && guarded) {
            request.require_unchanged(&live.revision());
        }
        if let Some(fault) = self.fault {
            request = fault.request(step, request);
        }
        let creates =
            matches!(&request.write, Write::Apply { body, .. } if body["metadata"].get("uid").is_none());
        let is_guarded = match &request.write {
            Write::Apply { body, .. } => body["metadata"].get("resourceVersion").is_some(),
            Write::Delete(revision) => !revision.resource_version.is_empty(),
            Write::Patch(_) => !self.reads_from_cache(),
        };
        Some(Sent {
            request: server.know(request),
            spec: pass.spec,
            generation: pass.generation,
            read: seen.own(ChildKind::Deployment).map(Live::replicas),
            is_guarded,
            creates,
            child,
            what: step.describe(),
        })
    }

    fn know(&mut self, pass: Pass, pending: Pending) -> PassId {
        let text = Sha256::digest(format!("{pass:?} {pending:?}"));
        *self.by_text.entry(text.into()).or_insert_with(|| {
            self.passes.push((pass, pending));
            PassId(u32::try_from(self.passes.len() - 1).expect("the model has fewer passes than that"))
        })
    }

    /// A cluster as the operator sees it.
    fn seen(&self, cluster: Cluster, spec: Spec, on_its_way: bool) -> Cluster {
        self.fault.map_or(cluster, |fault| fault.seen(cluster, spec, on_its_way))
    }

    fn child(&self, child: ChildKind, seen: Cluster, server: &Server) -> Option<Live> {
        let object = match child {
            ChildKind::Deployment => seen.deployment,
            ChildKind::Autoscaler => seen.own,
            ChildKind::Service | ChildKind::DisruptionBudget => None,
        };
        object.map(|object| self.live(child, object, server))
    }

    fn live(&self, child: ChildKind, object: ObjectId, server: &Server) -> Live {
        match self.fault {
            Some(fault) if child == ChildKind::Deployment => fault.shown(server.live(object)),
            _ => server.live(object).clone(),
        }
    }
}

impl Pass {
    fn fail(&mut self, child: ChildKind) {
        self.course.hold_back(child);
        self.failed.set(child, true);
    }
}

/// The HorizontalPodAutoscalers that scale the Deployment.
fn autoscalers(seen: Cluster, server: &Server) -> Vec<Autoscaler> {
    let own = seen.own.and_then(|own| Autoscaler::of(server.live(own))).map(|(_, own)| own);
    let theirs = Autoscaler { name: "theirs".to_owned(), min_replicas: START, controller: None };
    seen.theirs.then_some(theirs).into_iter().chain(own).collect()
}

fn workload(spec: Spec, generation: u8) -> Workload {
    let mut object = json!({
        "apiVersion": "baton.rs/v1alpha1",
        "kind": "Workload",
        "metadata": {"name": NAME, "namespace": NAMESPACE, "uid": UID, "generation": generation},
        "spec": {"template": {"spec": {"containers": [{"name": "app", "image": "app:1"}]}}},
    });
    match spec {
        Spec::Number(number) => object["spec"]["replicas"] = number.into(),
        Spec::HandsOff => {}
        Spec::Own => object["spec"]["autoscaling"] = json!({"minReplicas": START, "maxReplicas": 9}),
        Spec::External => {
            object["spec"]["replicas"] = START.into();
            object["spec"]["autoscaling"] = json!({"external": Map::new()});
        }
    }
    serde_json::from_value(object).expect("the model's Workloads can be read")
}
