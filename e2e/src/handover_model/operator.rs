//! The operator: the code that decides is the real one, a [`Course`] for each pass. What drives it, in the place of the loop around
//! it, delivers its requests to the model of the server.
//!
//! A pass is known by all that its further course depends on, so that two ways to the same knowledge are one pass.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use baton_apply::{ApiError, Change, LiveObject, Request};
use baton_controller::decide::{
    child::ChildKind,
    course::{ChildResult, Course, Next, Read},
    plan::{Step, plan},
    replicas::Autoscaler,
    snapshot::Snapshot,
};
use baton_crd::Workload;
use serde_json::{Map, json};
use sha2::{Digest, Sha256};

use super::{
    cluster::{Cluster, Part, START, Spec},
    fault::{Fault, creates},
    properties::JudgedWrite,
    server::{NAME, NAMESPACE, ObjectId, RequestId, Server, ServerResponse, is_on_its_way, moment},
};

/// What a guard of a JSON patch tests.
const VERSION: &str = "/metadata/resourceVersion";
const UID: &str = "uid-of-the-workload";

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
    /// Whether it creates its object.
    pub(super) creates: bool,
    /// The Deployment's number as the status told it.
    pub(super) told: Option<i32>,
    pub(super) child: ChildKind,
    pub(super) what: &'static str,
}

impl Sent {
    pub(super) fn judged(&self) -> JudgedWrite {
        let Self { spec, read, told, .. } = *self;
        JudgedWrite { wanted: spec.wanted(), told, read }
    }
}

/// What a pass does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pending {
    Read(Read),
    Write(Sent),
    Done,
}

/// What a pass receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Received {
    /// What it read, in a cluster that says nothing of the rest.
    Read(Cluster),
    Written(ServerResponse),
    /// No response came.
    Nothing,
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
    /// The children that were left alone from its beginning.
    held_back: HeldBack,
    spec: Spec,
    generation: u8,
    told: Option<i32>,
}

pub(super) struct PassStore {
    fault: Option<Fault>,
    passes: Vec<(Pass, Pending)>,
    /// By the digest of what they look like in full.
    by_text: HashMap<[u8; 32], PassId>,
    begun: HashMap<(Cluster, HeldBack, bool), PassId>,
    received: HashMap<(PassId, Received), PassId>,
}

impl PassStore {
    pub(super) fn new(fault: Option<Fault>) -> Self {
        Self {
            fault,
            passes: Vec::new(),
            by_text: HashMap::new(),
            begun: HashMap::new(),
            received: HashMap::new(),
        }
    }

    pub(super) fn pending(&self, id: PassId) -> Pending {
        self.pass(id).1
    }

    /// The children that are left alone after this pass.
    pub(super) fn held_back(&self, id: PassId) -> HeldBack {
        self.pass(id).0.failed()
    }

    /// The Deployment's number, as the status tells it after this pass.
    pub(super) fn told(&self, id: PassId) -> Option<i32> {
        let (pass, _) = self.pass(id);
        pass.course.seen().replicas().map(|replicas| replicas.count).or(pass.told)
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
        let on_its_way = cached.deployment.is_some_and(|id| is_on_its_way(server.replicas(id)));
        let seen = self.seen(cached, cached.spec, on_its_way);
        let mut children = BTreeMap::new();
        children.extend(
            self.child(ChildKind::Deployment, seen, server).map(|live| (ChildKind::Deployment, live)),
        );
        children.extend(
            self.child(ChildKind::Autoscaler, seen, server).map(|live| (ChildKind::Autoscaler, live)),
        );
        let workload = Arc::new(workload(cached.spec, cached.generation, cached.told));
        let snapshot = Snapshot::new(workload, children, autoscalers(seen, server));
        let pass = Pass {
            course: Course::new(snapshot, held_back.children(), for_real),
            held_back,
            spec: cached.spec,
            generation: cached.generation,
            told: cached.told,
        };
        let id = self.go_on(pass, server);
        self.begun.insert(key, id);
        id
    }

    /// What a read shows.
    pub(super) fn shown(read: Read, cluster: &Cluster) -> Received {
        let part = match read {
            Read::Workload => Part::Workload,
            Read::Child(ChildKind::Deployment) | Read::Newer(ChildKind::Deployment) => Part::Deployment,
            Read::Child(_) | Read::Newer(_) | Read::Autoscalers => Part::Autoscalers,
        };
        let mut shown = Cluster::NOTHING;
        shown.take(part, cluster);
        Received::Read(shown)
    }

    /// Gives a pass what it waited for.
    pub(super) fn receive(&mut self, id: PassId, received: Received, server: &mut Server) -> PassId {
        if let Some(next) = self.received.get(&(id, received)) {
            return *next;
        }
        let no_response = || ApiError::Timeout(Duration::ZERO);
        let (mut pass, pending) = self.pass(id).clone();
        match (pending, received) {
            (Pending::Read(read), Received::Read(cluster)) => self.saw(&mut pass, read, cluster, server),
            (Pending::Read(read), _) => pass.course.unreadable(read, &no_response()),
            (Pending::Write(sent), Received::Written(response)) => {
                let response = server.response(response);
                let response = response.map(|live| live.map(|live| self.as_shown(sent.child, &live)));
                pass.course.responded(server.schemas(), response);
            }
            (Pending::Write(_), _) => {
                pass.course.responded(server.schemas(), Err(no_response()));
            }
            (Pending::Done, _) => {}
        }
        let next = self.go_on(pass, server);
        self.received.insert((id, received), next);
        next
    }

    fn saw(&self, pass: &mut Pass, read: Read, cluster: Cluster, server: &Server) {
        let seen = self.seen(cluster, pass.spec, pass.course.seen().replicas().is_some_and(is_on_its_way));
        match read {
            Read::Workload => {
                pass.course.read_workload(Some(&workload(cluster.spec, cluster.generation, None).metadata));
            }
            Read::Child(child) | Read::Newer(child) => {
                pass.course.read_child(child, self.child(child, seen, server));
            }
            Read::Autoscalers => pass.course.read_autoscalers(autoscalers(seen, server)),
        }
    }

    /// Goes on to the next request, or to the end.
    fn go_on(&mut self, mut pass: Pass, server: &mut Server) -> PassId {
        let pending = loop {
            let write = match pass.course.next(server.schemas(), moment()) {
                Next::Read(read) => break Pending::Read(read),
                Next::Done => break Pending::Done,
                Next::Plan => {
                    let seen = pass.course.seen();
                    let plan = plan(seen, pass.course.held_back());
                    let mut plan = plan.expect("the model's Workloads can be written");
                    if let Some(fault) = self.fault {
                        plan.steps =
                            plan.steps.into_iter().flat_map(|step| fault.steps(step, seen)).collect();
                    }
                    pass.course.planned(plan);
                    continue;
                }
                Next::Send { write, .. } => write.clone(),
            };
            if self.fault.is_some_and(|fault| fault.skips(&write)) {
                let child = pass.course.step_under_way().map(Step::child);
                let unchanged = child.and_then(|child| pass.course.seen().child(child)).cloned();
                pass.course.responded(server.schemas(), Ok(unchanged));
                continue;
            }
            break Pending::Write(self.sent(&pass, write.request, server));
        };
        self.know(pass, pending)
    }

    /// A request as it leaves the operator.
    fn sent(&self, pass: &Pass, mut request: Request, server: &mut Server) -> Sent {
        let seen = pass.course.seen();
        let step = pass.course.step_under_way().expect("what is sent is part of a step");
        if let Some(fault) = self.fault {
            request = fault.request(request);
        }
        let creates = creates(&request);
        let is_guarded = match &request.change {
            Change::Apply { body, .. } => body["metadata"].get("resourceVersion").is_some(),
            Change::Delete(revision) => !revision.resource_version.is_empty(),
            Change::Patch { operations, .. } => operations.0.iter().any(|operation| {
                matches!(operation, json_patch::PatchOperation::Test(test) if test.path.as_str() == VERSION)
            }),
        };
        Sent {
            request: server.know(request),
            spec: pass.spec,
            generation: pass.generation,
            read: seen.replicas().map(|replicas| replicas.count),
            is_guarded,
            creates,
            told: pass.told,
            child: step.child(),
            what: step.describe(),
        }
    }

    /// A request as it arrives at the server, where the object is this.
    pub(super) fn as_it_is_sent(
        &self,
        sent: &Sent,
        live: Option<ObjectId>,
        server: &mut Server,
    ) -> RequestId {
        let Some(fault) = self.fault else { return sent.request };
        let live = live.map(|id| server.live(id).clone());
        let request = fault.as_it_is_sent(server.request(sent.request).clone(), live.as_ref());
        server.know(request)
    }

    fn know(&mut self, pass: Pass, pending: Pending) -> PassId {
        let text = Sha256::digest(format!(
            "{:?} {:?} {:?} {} {:?} {pending:?}",
            pass.course.state(),
            pass.failed(),
            pass.spec,
            pass.generation,
            pass.told
        ));
        *self.by_text.entry(text.into()).or_insert_with(|| {
            self.passes.push((pass, pending));
            PassId(u32::try_from(self.passes.len() - 1).expect("the model has fewer passes than that"))
        })
    }

    /// A cluster as the operator sees it.
    fn seen(&self, cluster: Cluster, spec: Spec, on_its_way: bool) -> Cluster {
        self.fault.map_or(cluster, |fault| fault.seen(cluster, spec, on_its_way))
    }

    fn child(&self, child: ChildKind, seen: Cluster, server: &Server) -> Option<LiveObject> {
        let object = match child {
            ChildKind::Deployment => seen.deployment,
            ChildKind::Autoscaler => seen.own,
            ChildKind::Service | ChildKind::DisruptionBudget => None,
        };
        object.map(|object| self.as_shown(child, server.live(object)))
    }

    /// A live object as the operator sees it.
    fn as_shown(&self, child: ChildKind, live: &LiveObject) -> LiveObject {
        match self.fault {
            Some(fault) if child == ChildKind::Deployment => fault.shown(live),
            _ => live.clone(),
        }
    }
}

impl Pass {
    /// The children that failed in it, and those that were left alone.
    fn failed(&self) -> HeldBack {
        let mut failed = self.held_back;
        for (child, result) in self.course.results() {
            let is_failure = matches!(result, ChildResult::Rejected(_) | ChildResult::Failed(_));
            failed.set(*child, is_failure);
        }
        failed
    }
}

/// The HorizontalPodAutoscalers that scale the Deployment.
fn autoscalers(seen: Cluster, server: &Server) -> Vec<Autoscaler> {
    let own = seen.own.and_then(|own| Autoscaler::of(server.live(own))).map(|(_, own)| own);
    let theirs = Autoscaler {
        name: "theirs".to_owned(),
        min_replicas: START,
        controller: None,
        scales_workload: false,
    };
    seen.theirs.then_some(theirs).into_iter().chain(own).collect()
}

fn workload(spec: Spec, generation: u8, told: Option<i32>) -> Workload {
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
        Spec::Suspended => {
            object["spec"]["autoscaling"] = json!({"minReplicas": START, "maxReplicas": 9});
            object["spec"]["suspend"] = true.into();
        }
        Spec::External => {
            object["spec"]["replicas"] = START.into();
            object["spec"]["autoscaling"] = json!({"external": Map::new()});
        }
    }
    if let Some(value) = told {
        let since = moment().to_string();
        let ownership = json!({"owner": "somebody", "phase": "HandedOver", "value": value, "since": since});
        object["status"] = json!({"replicaOwnership": ownership});
    }
    serde_json::from_value(object).expect("the model's Workloads can be read")
}
