//! The handover of `spec.replicas` in a model checker: every order of what the operator, autoscalers, people, the network and
//! crashes do, explored to its end within stated bounds.
//!
//! All that decides is the operator's own code: [`Course`](baton_controller::decide::course::Course), which plans, predicts, leaves
//! out, guards and tries again, and the merge core, which is the API server here. What is made by hand is the world: what a server
//! makes of a guard, watches that lag, requests and responses that are lost, crashes, autoscalers, people.
//!
//! What is bounded, and what is left out:
//!
//! - Each disturbance happens at most as often as its [`Budgets`] say. The operator's own steps are bounded by nothing.
//! - Equal content is an equal `resourceVersion`, or the space would have no end: a write that was planned from an object of
//!   the same content is as good. A late write and an autoscaler's write under way are held off by any write in between, as on
//!   a real server.
//! - A cache that catches up shows the newest state. It stops at each earlier one just as well, by catching up before the next
//!   write; what is left out is a pass from one old state after a pass from a still older one, of which both were old already
//!   when the first began.
//! - One operator runs at a time. The Deployment isn't adopted, or scaled to zero by anybody but Baton. How long something that
//!   failed is left alone is any time; contention isn't slowed down.
//!
//! [`Handover`] is the model, [`Promise`] what it keeps, [`Fault`] what it would catch, [`explore()`] runs it, and a
//! [`Trace`] shows the way to a broken promise.

mod cluster;
mod configurations;
mod explore;
mod fault;
mod model;
mod occurrences;
mod operator;
mod properties;
mod rest;
mod server;
mod state;
mod trace;

pub use cluster::{Cluster, Part, Scaler, Spec};
pub use configurations::{Configuration, Extent, Start, configurations};
pub use explore::{Exploration, Progress, explore};
pub use fault::Fault;
pub(crate) use fault::{Instead, applied_deployment, guarded_by, hands_over};
pub use model::Handover;
pub use occurrences::{Occurrence, Occurrences};
pub use operator::{HeldBack, PassId, Sent};
pub use properties::Promise;
pub(crate) use properties::{JudgedWrite, judge};
pub(crate) use server::{Number, is_on_its_way};
pub use server::{ObjectId, RequestId};
pub use state::{Action, Allowance, Broken, Budgets, Fate, OperatorState, State, UnderWay};
pub use trace::Trace;
