//! The kinds of events, in a table. A new kind is one entry: its name, how often it happens, and how one is made.

use std::sync::Arc;

use baton_controller::decide::child::ChildKind;
use http::Request;
use jiff::SignedDuration;

use super::{
    choice::{Chooser, WATCHED},
    cluster::{Contention, SimulatedCluster},
    plan::{Effect, Spec, Trigger, WorkloadId},
    requests,
};
use crate::handover_model::Delivery;

/// A kind of event.
pub struct EventKind {
    /// A short text, unique.
    pub name: &'static str,
    /// How often it happens in comparison with others, on each [`Occasion`].
    pub(super) weights: [u32; 3],
    /// Whether it changes what Baton applies. When Baton finds that again and again, it waits longer before it applies again.
    pub contends: bool,
    /// Makes one.
    pub(super) make: fn(&mut Chooser) -> Made,
}

/// When an event happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Occasion {
    /// At any time.
    Usual,
    /// Among others that happen to one Workload at the same time.
    Burst,
    /// In a soak, on a cluster that isn't simulated.
    Soak,
}

/// An event without its kind.
pub(super) struct Made {
    /// The event for people, with all that distinguishes it from others.
    pub(super) text: String,
    pub(super) effect: Effect,
}

impl Made {
    /// A user applies a Workload.
    pub(super) fn applied(workload: WorkloadId, spec: Spec) -> Self {
        Self { text: format!("apply Workload {workload}: {spec}"), effect: Effect::Apply(workload, spec) }
    }

    /// A user deletes a Workload.
    pub(super) fn deleted(workload: WorkloadId) -> Self {
        let request = requests::deleted(&requests::object(workload, "workloads"));
        Self::request(format!("delete Workload {workload}"), request)
    }

    /// An autoscaler that writes under another name scales the Deployment.
    pub(super) fn scaled_by_others(workload: WorkloadId, count: i32) -> Self {
        let request = requests::scaled(workload, "deployments", "their-autoscaler", count);
        Self::request(format!("another autoscaler scales {workload} to {count}"), request)
    }

    /// The load becomes right for so many pods.
    pub(super) fn load(workload: WorkloadId, pods: u32) -> Self {
        let effect = Effect::Load(workload, pods);
        Self { text: format!("load of {workload} for {pods} pods"), effect }
    }

    /// A rogue takes over the replica count and releases it at once.
    pub(super) fn taken_and_released(workload: WorkloadId, count: i32) -> Self {
        let requests = [Some(count), None].map(|count| requests::rogue(workload, count));
        let text = format!("a rogue force-applies {count} to {workload} and releases it");
        Self { text, effect: Effect::Requests(requests.to_vec()) }
    }

    /// A user deletes a child.
    pub(super) fn child_deleted(workload: WorkloadId, child: ChildKind) -> Self {
        let request = requests::deleted(&requests::object(workload, &child.api_resource().plural));
        Self::request(format!("a user deletes the {child} {workload}"), request)
    }

    /// The delivery of a write of an operator.
    pub(super) fn delivery(trigger: Trigger, delivery: Delivery) -> Self {
        Self::disturbance(format!("{trigger}: {delivery:?}"), move |cluster| {
            cluster.deliveries.push((trigger, delivery));
        })
    }

    /// Nothing happens.
    pub(super) fn nothing() -> Self {
        Self::disturbance("nothing".to_owned(), |_| {})
    }

    fn request(text: String, request: Request<Vec<u8>>) -> Self {
        Self { text, effect: Effect::Requests(vec![request]) }
    }

    fn disturbance(text: String, act: impl Fn(&mut SimulatedCluster) + Send + Sync + 'static) -> Self {
        Self { text, effect: Effect::Disturb(Arc::new(act)) }
    }
}

pub(super) const APPLY: &str = "apply a Workload";
pub(super) const DELETE: &str = "delete a Workload";
pub(super) const SCALED_BY_OTHERS: &str = "another autoscaler scales";
pub(super) const LOAD: &str = "load";
pub(super) const TAKEN_AND_RELEASED: &str = "rogue that takes over and releases";
pub(super) const CHILD_DELETED: &str = "delete a child";
pub(super) const DELIVERY: &str = "delivery of a write";
pub(super) const NOTHING: &str = "nothing";

/// A kind that changes nothing of what Baton applies.
const fn event(name: &'static str, weights: [u32; 3], make: fn(&mut Chooser) -> Made) -> EventKind {
    EventKind { name, weights, contends: false, make }
}

const fn contending(name: &'static str, weights: [u32; 3], make: fn(&mut Chooser) -> Made) -> EventKind {
    EventKind { name, weights, contends: true, make }
}

/// All kinds.
pub static EVENTS: [EventKind; 23] = [
    event(APPLY, [30, 2, 12], |choose| {
        let workload = choose.workload();
        Made::applied(workload, choose.next_spec(workload))
    }),
    event(DELETE, [3, 0, 0], |choose| {
        let workload = choose.workload();
        choose.forget(workload);
        Made::deleted(workload)
    }),
    contending("scale a Deployment", [4, 0, 0], |choose| {
        let (workload, count) = (choose.workload(), choose.count());
        let text = format!("kubectl scale deployment {workload} to {count}");
        Made::request(text, requests::scaled(workload, "deployments", "kubectl", count))
    }),
    contending("scale a Workload", [1, 0, 0], |choose| {
        let (workload, count) = (choose.workload(), choose.count());
        let text = format!("kubectl scale workload {workload} to {count}");
        Made::request(text, requests::scaled(workload, "workloads", "kubectl", count))
    }),
    contending(SCALED_BY_OTHERS, [4, 1, 0], |choose| {
        Made::scaled_by_others(choose.workload(), choose.count())
    }),
    event("another HorizontalPodAutoscaler", [4, 0, 3], |choose| {
        let workload = choose.workload();
        if choose.chance(60) {
            let limits = choose.limits();
            let text = format!("another HorizontalPodAutoscaler for {workload}, from {limits}");
            Made::request(text, requests::autoscaler(workload, limits))
        } else {
            let text = format!("another HorizontalPodAutoscaler for {workload} is deleted");
            Made::request(text, requests::deleted(&requests::their_autoscaler(workload)))
        }
    }),
    event(LOAD, [7, 1, 9], |choose| Made::load(choose.workload(), choose.load())),
    contending("rogue", [3, 0, 0], |choose| {
        let workload = choose.workload();
        if choose.chance(60) {
            let count = choose.count();
            let text = format!("a rogue force-applies {count} to {workload}");
            Made::request(text, requests::rogue(workload, Some(count)))
        } else {
            Made::request(format!("the rogue releases {workload}"), requests::rogue(workload, None))
        }
    }),
    contending(TAKEN_AND_RELEASED, [1, 1, 0], |choose| {
        Made::taken_and_released(choose.workload(), choose.count())
    }),
    contending("edit a child", [4, 0, 0], |choose| {
        let (workload, child) = (choose.workload(), choose.child());
        if choose.chance(50) {
            let text = format!("a user force-applies to the {child} {workload}");
            Made::request(text, requests::force_applied(workload, child))
        } else {
            let text = format!("a user edits the {child} {workload}");
            Made::request(text, requests::edited(workload, child))
        }
    }),
    contending(CHILD_DELETED, [4, 1, 0], |choose| {
        let child = if choose.chance(60) { ChildKind::Deployment } else { choose.child() };
        Made::child_deleted(choose.workload(), child)
    }),
    event("foreign Deployment", [2, 1, 0], |choose| {
        let (workload, count) = (choose.workload(), choose.count());
        let text = format!("a user creates a Deployment {workload} with {count}");
        Made::request(text, requests::foreign_deployment(workload, count))
    }),
    contending("contention", [1, 0, 0], |choose| {
        let (workload, every) = (choose.workload(), choose.milliseconds(100, 5000));
        let times = choose.random.u8(2..=8);
        let text = format!("contention about {workload}, {times} times, every {every:?}");
        Made::disturbance(text, move |cluster| {
            cluster.contentions.push(Contention::new(workload, every, times));
        })
    }),
    event("crash", [4, 0, 0], |choose| {
        let operator = choose.operator();
        Made::disturbance(format!("{operator} crashes"), move |cluster| {
            let keeps_requests = cluster.random.bool();
            cluster.kill(operator, keeps_requests);
        })
    }),
    event("stop", [2, 0, 0], |choose| {
        let operator = choose.operator();
        Made::disturbance(format!("{operator} is asked to stop"), move |cluster| {
            cluster.running(operator).into_iter().for_each(|it| it.control.stop());
        })
    }),
    event("reconcile all", [1, 0, 0], |choose| {
        let operator = choose.operator();
        Made::disturbance(format!("{operator} reconciles all"), move |cluster| {
            cluster.running(operator).into_iter().for_each(|it| it.control.reconcile_all());
        })
    }),
    event("clock skew", [1, 0, 0], |choose| {
        let (operator, seconds) = (choose.operator(), choose.choose(&[-40, -3, 3, 40, 4000]));
        let text = format!("{operator}: from its next start on, the clock is off by {seconds} s");
        Made::disturbance(text, move |cluster| {
            let skew = SignedDuration::from_secs(seconds);
            cluster.host(operator).into_iter().for_each(|host| host.skew = skew);
        })
    }),
    event(DELIVERY, [11, 3, 0], |choose| Made::delivery(choose.trigger(), choose.delivery())),
    event("refused requests", [3, 0, 0], |choose| {
        let (times, code) = (choose.random.u8(1..=6), choose.choose(&[429, 500, 503, 504]));
        Made::disturbance(format!("{times} requests get a {code}"), move |cluster| {
            cluster.refuses = (times, code);
        })
    }),
    event("late watches", [5, 0, 0], |choose| {
        let (resource, time) = (choose.choose(&WATCHED), choose.milliseconds(20, 20_000));
        Made::disturbance(format!("watches of {resource} are late by {time:?}"), move |cluster| {
            cluster.delay_watches(resource, time);
        })
    }),
    event("partition", [2, 0, 0], |choose| {
        let (operator, time) = (choose.operator(), choose.milliseconds(50, 40_000));
        Made::disturbance(format!("{operator} is cut off for {time:?}"), move |cluster| {
            cluster.cut_off(operator, time);
        })
    }),
    event("restart of the server", [2, 0, 0], |choose| {
        let keeps_history = choose.chance(70);
        let history = if keeps_history { "" } else { " without its history" };
        Made::disturbance(format!("the server restarts{history}"), move |cluster| {
            cluster.restarts = Some(keeps_history);
        })
    }),
    event(NOTHING, [1, 0, 0], |_| Made::nothing()),
];
