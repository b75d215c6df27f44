//! The operator. The code that decides is the real one, a [`Course`] for each pass. This module replaces the loop around it, and
//! delivers its requests to the model of the server.
//!
//! A pass is identified by all that its further course depends on: two paths to the same knowledge are one pass.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
    time::Duration,
};

use baton_apply::{ApiError, Change, LiveObject, Request};
use baton_controller::decide::{
    child::ChildKind,
    course::{Course, Next, Read},
    plan::{Step, plan},
    replicas::{Autoscaler, Scales},
    snapshot::Snapshot,
};
use baton_crd::Workload;
use serde_json::{Map, json};
use sha2::{Digest, Sha256};

use super::{
    cluster::{Cluster, Part, START, Spec},
    fault::{Fault, creates},
    properties::JudgedWrite,
    server::{NAME, NAMESPACE, ObjectId, RequestId, Server, ServerResponse, moment, scaler_owns},
};

/// The path that a guard of a JSON patch tests.
const VERSION: &str = "/metadata/resourceVersion";
const UID: &str = "uid-of-the-workload";

/// A pass at one point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PassId(u32);

/// A write of Baton's, and what it was decided from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Sent {
    pub(super) request: RequestId,
    /// The Workload that it was planned from.
    pub(super) spec: Spec,
    pub(super) generation: u8,
    /// The Deployment's replica count as it was read.
    pub(super) read: Option<i32>,
    /// Whether it is refused if the object has changed since it was read.
    pub(super) is_guarded: bool,
    /// Whether it creates its object.
    pub(super) creates: bool,
    /// The Deployment's replica count as the status recorded it.
    pub(super) recorded: Option<i32>,
    pub(super) child: ChildKind,
    pub(super) what: &'static str,
}

impl Sent {
    pub(super) fn judged(&self) -> JudgedWrite {
        let Self { spec, read, recorded, .. } = *self;
        JudgedWrite { wanted: spec.wanted(), recorded, read }
    }
}

/// The next action of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pending {
    Read(Read),
    Write(Sent),
    Done,
}

/// The input of a pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Received {
    /// The objects that it read. The rest of the cluster is empty.
    Read(Cluster),
    Written(ServerResponse),
    /// No response came.
    Nothing,
}

/// Children that wait for a retry after a failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct HeldBack {
    deployment: bool,
    autoscaler: bool,
}

impl HeldBack {
    fn set(&mut self, child: ChildKind, is_held_back: bool) {
        match child {
            ChildKind::Deployment => self.deployment = is_held_back,
            ChildKind::Autoscaler => self.autoscaler = is_held_back,
            ChildKind::Service | ChildKind::DisruptionBudget => {}
        }
    }

    fn children(self) -> BTreeSet<ChildKind> {
        let all = [(self.deployment, ChildKind::Deployment), (self.autoscaler, ChildKind::Autoscaler)];
        all.into_iter().filter(|(held, _)| *held).map(|(_, child)| child).collect()
    }
}

/// A pass under way, with what the loop keeps for it.
#[derive(Clone, Debug)]
struct Pass {
    course: Course,
    /// The children that it skips, because they wait for a retry.
    held_back: HeldBack,
    spec: Spec,
    generation: u8,
    recorded: Option<i32>,
}

pub(super) struct PassStore {
    fault: Option<Fault>,
    passes: Vec<(Pass, Pending)>,
    /// By the digest of their full text.
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

    /// The children that wait for a retry after this pass.
    pub(super) fn held_back(&self, id: PassId) -> HeldBack {
        self.pass(id).0.failed()
    }

    /// The Deployment's replica count, as the status records it after this pass.
    pub(super) fn recorded(&self, id: PassId) -> Option<i32> {
        let (pass, _) = self.pass(id);
        pass.course.seen().replicas().map(|replicas| replicas.count).or(pass.recorded)
    }

    pub(super) fn passes(&self) -> usize {
        self.passes.len()
    }

    /// Whether reads past the caches get what the caches show.
    pub(super) fn reads_from_cache(&self) -> bool {
        self.fault.is_some_and(Fault::reads_from_cache)
    }

    fn pass(&self, id: PassId) -> &(Pass, Pending) {
        &self.passes[id.0 as usize]
    }

    /// Begins a pass from what the caches show. With `for_real` it also sends writes that change nothing.
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
        let scaler_owns = cached.deployment.is_some_and(|id| scaler_owns(server.replicas(id)));
        let seen = self.seen(cached, cached.spec, scaler_owns);
        let mut children = BTreeMap::new();
        children.extend(
            self.child(ChildKind::Deployment, seen, server).map(|live| (ChildKind::Deployment, live)),
        );
        children.extend(
            self.child(ChildKind::Autoscaler, seen, server).map(|live| (ChildKind::Autoscaler, live)),
        );
        let workload = Arc::new(workload(cached.spec, cached.generation, cached.recorded));
        let snapshot = Snapshot::new(workload, children, autoscalers(seen, server));
        let pass = Pass {
            course: Course::new(snapshot, held_back.children(), for_real),
            held_back,
            spec: cached.spec,
            generation: cached.generation,
            recorded: cached.recorded,
        };
        let id = self.go_on(pass, server);
        self.begun.insert(key, id);
        id
    }

    /// The result of a read.
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

    /// Delivers what a pass waited for.
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
        let seen = self.seen(cluster, pass.spec, pass.course.seen().replicas().is_some_and(scaler_owns));
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
            recorded: pass.recorded,
            child: step.child(),
            what: step.describe(),
        }
    }

    /// A request as it arrives at the server, when the live object is this one.
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
            pass.recorded
        ));
        *self.by_text.entry(text.into()).or_insert_with(|| {
            self.passes.push((pass, pending));
            PassId(u32::try_from(self.passes.len() - 1).expect("the model has fewer passes than that"))
        })
    }

    /// A cluster as the operator sees it.
    fn seen(&self, cluster: Cluster, spec: Spec, scaler_owns: bool) -> Cluster {
        self.fault.map_or(cluster, |fault| fault.seen(cluster, spec, scaler_owns))
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
    /// The children that failed in it, and those that it skipped.
    fn failed(&self) -> HeldBack {
        let mut failed = self.held_back;
        for (child, result) in &self.course.pass().results {
            failed.set(*child, !result.is_written());
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
        scales: Scales::Deployment,
        is_ambiguous: false,
    };
    seen.theirs.then_some(theirs).into_iter().chain(own).collect()
}

fn workload(spec: Spec, generation: u8, recorded: Option<i32>) -> Workload {
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
    if let Some(value) = recorded {
        let since = moment().to_string();
        let ownership = json!({"owner": "somebody", "phase": "HandedOver", "value": value, "since": since});
        object["status"] = json!({"replicaOwnership": ownership});
    }
    serde_json::from_value(object).expect("the model's Workloads can be read")
}
