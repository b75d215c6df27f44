//! The handover of `spec.replicas` in a model checker. It explores every order of what the operator, autoscalers, users, the
//! network and crashes do, to the end and within stated bounds.
//!
//! All decisions are the operator's own code: [`Course`](baton_controller::decide::course::Course), which plans, predicts, skips,
//! guards and retries, and the merge core, which is the API server here. The model of the world is written for it: the guards of a
//! server, watches that lag, lost requests and responses, crashes, autoscalers, users.
//!
//! Limits of the model:
//!
//! - Each disturbance happens at most as often as its [`Budgets`] allow. The operator's own steps have no bound.
//! - Equal content has an equal `resourceVersion`, or the space would be infinite. So a write that was planned from an equal
//!   object passes its guard. As on a real server, any write in between stops a late write and an autoscaler's write under way.
//! - A cache that catches up shows the newest state. It also stops at each earlier state, by catching up before the next write.
//!   Left out is a pass from an old state after a pass from a still older one, when both were old before the first pass began.
//! - One operator runs at a time. The Deployment isn't adopted, and only Baton scales it to zero. After a failure, a retry may
//!   happen at any time; contention isn't slowed down.
//!
//! [`Handover`] is the model, [`Promise`] what it must keep, [`Fault`] a bug that it finds. [`explore()`] runs it, and a [`Trace`]
//! shows the path to a broken promise.

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
pub(crate) use server::{JudgedReplicas, scaler_owns};
pub use server::{ObjectId, RequestId};
pub use state::{Action, Allowance, Broken, Budgets, Delivery, OperatorState, State, UnderWay};
pub use trace::Trace;
