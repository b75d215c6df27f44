//! The handovers, as data: where each begins, what is done, where it must end, and which replica counts it may have on the way.

use baton_crd::HandoverPhase::{
    self, AutoscalerMissing, Fixed, HandedOver, HandoverPending, Suspended, Unmanaged,
};
use baton_e2e::autoscaler;
use serde_json::{Value, json};

/// The owner of the replica count once an autoscaler has written it.
pub const AUTOSCALER: &str = "kube-controller-manager (Update of scale)";
const BATON: &str = "baton (Apply)";
const TEMPORARY: &str = "handover-to-hpa (Apply)";
const EXTERNAL: &str = "keda (Update of scale)";

/// One handover.
pub struct HandoverCase {
    /// In a few words, for messages.
    pub name: &'static str,
    /// The steps from an empty namespace to where the handover begins.
    pub before: Vec<HandoverStep>,
    /// The steps of the handover. The last one waits for the end.
    pub steps: Vec<HandoverStep>,
    /// Each value of `spec.replicas` during the steps, beginning with the one before them.
    pub values: &'static [i32],
    /// How many writes of the operator the handover needs at least, by its design.
    pub least_writes: usize,
}

/// An action of a user or of another controller.
pub enum HandoverStep {
    /// Applies the Workload with this on top of its template.
    Apply(Value),
    /// Creates these objects as `kubectl apply` does.
    ClientSideApply(Vec<Value>),
    /// Creates these objects as `kubectl apply --server-side` does.
    ServerSideApply(Vec<Value>),
    /// Writes the replica count through the Deployment's scale subresource, as [`EXTERNAL`].
    Scale(i32),
    /// Waits for this state.
    Await(State),
    /// Waits until the Deployment has this replica count, and for nothing else.
    AwaitReplicas(i32),
}

/// The state of the Workload and its children. The status has to be about the current spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// The phase in the status.
    pub phase: HandoverPhase,
    /// The Deployment's replica count.
    pub replicas: i32,
    /// Its owners in `managedFields`.
    pub owners: Vec<String>,
    /// Whether Baton's autoscaler exists.
    pub has_autoscaler: bool,
}

impl HandoverCase {
    /// The state at the end.
    pub fn end(&self) -> &State {
        match self.steps.last() {
            Some(HandoverStep::Await(end)) => end,
            _ => panic!("{} doesn't wait for its end", self.name),
        }
    }
}

fn state(phase: HandoverPhase, replicas: i32, owner: &str, has_autoscaler: bool) -> HandoverStep {
    HandoverStep::Await(State { phase, replicas, owners: vec![owner.to_owned()], has_autoscaler })
}

/// A Workload with this many replicas, and an autoscaler that raises them to this many, which it does without any metric.
fn autoscaled(replicas: i32, least: i32) -> HandoverStep {
    HandoverStep::Apply(
        json!({"replicas": replicas, "autoscaling": {"minReplicas": least, "maxReplicas": 8}}),
    )
}

fn fixed(replicas: i32) -> HandoverStep {
    HandoverStep::Apply(json!({"replicas": replicas}))
}

fn external(replicas: i32) -> HandoverStep {
    HandoverStep::Apply(json!({"replicas": replicas, "autoscaling": {"external": {}}}))
}

pub fn first_create() -> HandoverCase {
    HandoverCase {
        name: "first create",
        before: vec![],
        steps: vec![autoscaled(2, 3), state(HandedOver, 3, AUTOSCALER, true)],
        values: &[2, 3],
        // Create, hand over, release, the autoscaler; a status and an Event.
        least_writes: 6,
    }
}

pub fn switched_on() -> HandoverCase {
    HandoverCase {
        name: "switched on",
        before: vec![fixed(2), state(Fixed, 2, BATON, false)],
        steps: vec![autoscaled(2, 3), state(HandedOver, 3, AUTOSCALER, true)],
        values: &[2, 3],
        // Hand over, release, the autoscaler; a status and an Event.
        least_writes: 5,
    }
}

pub fn switched_on_and_never_written() -> HandoverCase {
    HandoverCase {
        name: "pending",
        before: vec![fixed(2), state(Fixed, 2, BATON, false)],
        steps: vec![autoscaled(2, 1), state(HandoverPending, 2, TEMPORARY, true)],
        values: &[2],
        // Hand over, release, the autoscaler; a status.
        least_writes: 4,
    }
}

fn handed_over() -> Vec<HandoverStep> {
    vec![autoscaled(2, 3), state(HandedOver, 3, AUTOSCALER, true)]
}

pub fn switched_off() -> HandoverCase {
    HandoverCase {
        name: "switched off",
        before: handed_over(),
        steps: vec![fixed(2), state(Fixed, 2, BATON, false)],
        values: &[3, 2],
        // Delete the autoscaler, take back, release the scale entry, set; a status and an Event.
        least_writes: 6,
    }
}

pub fn switched_off_before_the_autoscaler_wrote() -> HandoverCase {
    HandoverCase {
        name: "off from pending",
        before: vec![autoscaled(2, 1), state(HandoverPending, 2, TEMPORARY, true)],
        steps: vec![fixed(3), state(Fixed, 3, BATON, false)],
        values: &[2, 3],
        // Delete the autoscaler, take back, release the temporary manager, set; a status.
        least_writes: 5,
    }
}

pub fn switched_off_without_replicas() -> HandoverCase {
    HandoverCase {
        name: "off without a replica count",
        before: handed_over(),
        steps: vec![HandoverStep::Apply(json!({})), state(Unmanaged, 3, AUTOSCALER, false)],
        values: &[3],
        // Delete the autoscaler; a status.
        least_writes: 2,
    }
}

pub fn replicas_dropped() -> HandoverCase {
    HandoverCase {
        name: "replica count dropped",
        before: vec![fixed(2), state(Fixed, 2, BATON, false)],
        steps: vec![HandoverStep::Apply(json!({})), state(Unmanaged, 2, TEMPORARY, false)],
        values: &[2],
        // Hand over, release; a status.
        least_writes: 3,
    }
}

fn suspend() -> Vec<HandoverStep> {
    let autoscaling = json!({"minReplicas": 3, "maxReplicas": 8});
    vec![
        HandoverStep::Apply(json!({"replicas": 2, "autoscaling": autoscaling, "suspend": true})),
        state(Suspended, 0, BATON, false),
    ]
}

pub fn suspended() -> HandoverCase {
    HandoverCase {
        name: "suspended",
        before: handed_over(),
        steps: suspend(),
        values: &[3, 0],
        // Delete the autoscaler, take back, release the scale entry, set; a status and an Event.
        least_writes: 6,
    }
}

pub fn resumed() -> HandoverCase {
    HandoverCase {
        name: "resumed",
        before: handed_over().into_iter().chain(suspend()).collect(),
        steps: vec![autoscaled(2, 3), state(HandoverPending, 3, TEMPORARY, true)],
        values: &[0, 3],
        // Set, hand over, release, the autoscaler; a status and an Event.
        least_writes: 6,
    }
}

pub fn own_to_external() -> HandoverCase {
    HandoverCase {
        name: "own to external",
        before: handed_over(),
        steps: vec![
            external(2),
            state(AutoscalerMissing, 3, AUTOSCALER, false),
            HandoverStep::Scale(4),
            state(HandedOver, 4, EXTERNAL, false),
        ],
        values: &[3, 4],
        // Delete the autoscaler; a status for each of the two owners.
        least_writes: 3,
    }
}

pub fn external_to_own() -> HandoverCase {
    HandoverCase {
        name: "external to own",
        before: vec![
            external(2),
            state(HandoverPending, 2, TEMPORARY, false),
            HandoverStep::Scale(3),
            state(HandedOver, 3, EXTERNAL, false),
        ],
        steps: vec![autoscaled(2, 4), state(HandedOver, 4, AUTOSCALER, true)],
        values: &[3, 4],
        // The autoscaler; a status for each of the two owners.
        least_writes: 3,
    }
}

/// A team's Deployment from before Baton.
fn old_deployment() -> Value {
    let labels = json!({"app": "web"});
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "labels": labels},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "app", "image": "app:1"}]},
            },
        },
    })
}

fn old_autoscaler() -> Value {
    autoscaler("web", "web", json!({"minReplicas": 3, "maxReplicas": 8}))
}

pub fn adopted_from_client_side_apply() -> HandoverCase {
    let autoscaling = json!({"minReplicas": 3, "maxReplicas": 8});
    HandoverCase {
        name: "adopted from client-side apply",
        before: vec![HandoverStep::ClientSideApply(vec![old_deployment()]), HandoverStep::AwaitReplicas(2)],
        steps: vec![
            HandoverStep::Apply(json!({"adoption": "Adopt", "autoscaling": autoscaling})),
            state(HandedOver, 3, AUTOSCALER, true),
        ],
        values: &[2, 3],
        // Migrate, take over, hand over, release, the autoscaler; a status.
        least_writes: 5,
    }
}

pub fn adopted_from_server_side_apply() -> HandoverCase {
    HandoverCase {
        name: "adopted from server-side apply",
        before: vec![HandoverStep::ServerSideApply(vec![old_deployment()]), HandoverStep::AwaitReplicas(2)],
        steps: vec![
            HandoverStep::Apply(json!({"adoption": "Adopt", "retiredManagers": ["kubectl"], "replicas": 2})),
            state(Fixed, 2, BATON, false),
        ],
        values: &[2],
        // Migrate, take over; a status.
        least_writes: 3,
    }
}

pub fn adopted_with_its_autoscaler() -> HandoverCase {
    let autoscaling = json!({"minReplicas": 3, "maxReplicas": 8});
    HandoverCase {
        name: "adopted with its autoscaler",
        before: vec![
            HandoverStep::ClientSideApply(vec![old_deployment(), old_autoscaler()]),
            HandoverStep::AwaitReplicas(3),
        ],
        steps: vec![
            HandoverStep::Apply(json!({"adoption": "Adopt", "autoscaling": autoscaling})),
            state(HandedOver, 3, AUTOSCALER, true),
        ],
        values: &[3],
        // Migrate and take over each of the two; a status.
        least_writes: 5,
    }
}

/// There and back again, for faults that are not tried at each write.
pub fn there_and_back() -> HandoverCase {
    HandoverCase {
        name: "there and back",
        before: vec![],
        steps: vec![
            fixed(2),
            state(Fixed, 2, BATON, false),
            autoscaled(2, 3),
            state(HandedOver, 3, AUTOSCALER, true),
            external(2),
            state(AutoscalerMissing, 3, AUTOSCALER, false),
            HandoverStep::Scale(4),
            state(HandedOver, 4, EXTERNAL, false),
            fixed(5),
            state(Fixed, 5, BATON, false),
        ],
        values: &[2, 3, 4, 5],
        // Create; hand over, release, the autoscaler; its deletion; take back, release, set; some status.
        least_writes: 10,
    }
}
