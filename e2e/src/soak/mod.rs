//! A soak of the handover. The load of Workloads goes up and down, and their autoscaling is switched on, off and over to an
//! external autoscaler again and again, with the real HorizontalPodAutoscaler controller. Every stored replica count is compared
//! with what was asked for.
//!
//! [`choice`] chooses from a seed what users do next, and a `user` does it. A [recorder](baton_testbed::Recorder) sees every write
//! of Deployments, Workloads and autoscalers, and [`seen`] reads them. [`judge`] has the rules, as a pure function of what was
//! seen. [`run`](mod@run) puts them together, a `story` shows the history of a Workload with a violation, and [`table`] the result.
//!
//! The rules use only what is stored, not what the operator reports:
//!
//! - The only owner of the replica count after a change made that change: a write that changes a value takes it over from all
//!   others. Without an owner, the API server has reset it to 1.
//! - The operator may set only the `spec.replicas` of a version of the Workload's spec without autoscaling. The version must lie
//!   between the one that it last reported on and the one that is stored at that moment. All objects are in one etcd, so that
//!   their revisions are comparable.
//! - An autoscaler may choose any replica count within its limits, or within its old limits for a short time: it may act on what
//!   it read before they changed or before it was deleted.
//! - The temporary manager doesn't change the replica count, and neither does any other manager. It always has an owner.
//!
//! The margin of a change is the new replica count minus the lowest that its owner was allowed to set. It is never below zero, and
//! it is zero when the owner set exactly that. No user asks for 1, or for 0, at which autoscalers do nothing.
//!
//! A seed determines what the users do and when. The result also depends on the speed of the machine.

pub mod choice;
pub mod judge;
pub mod run;
pub mod seen;
mod story;
pub mod table;
pub(crate) mod user;
