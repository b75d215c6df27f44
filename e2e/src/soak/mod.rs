//! A soak of the handover: Workloads under a load that goes up and down, whose autoscaling is switched on, off and over to
//! somebody else's all the time, with the real HorizontalPodAutoscaler controller at work. Every stored replica
//! count is held against what somebody asked for.
//!
//! [`choice`] says what users do next, from a seed; a `user` does it; a [recorder](baton_testbed::Recorder) sees every write of
//! Deployments, Workloads and autoscalers, and [`seen`] what each shows; [`judge`] is the law, a pure function of what was seen; [`run`](mod@run) puts them
//! together; a `story` tells what happened to a Workload that was wronged, and [`table`] what came out.
//!
//! The law goes by what is stored, never by what the operator says it did:
//!
//! - A change of the number was made by whoever alone holds it afterwards: a write that changes a value takes it from
//!   all others. If nobody holds it, the number was dropped, and the API server made it 1.
//! - The operator may set no number but the `spec.replicas` of a version of the Workload's spec without autoscaling,
//!   and only from the one it last reported on to the one that is stored at that moment. All objects are in one etcd,
//!   so their revisions tell which came first.
//! - An autoscaler may choose any number within its limits as they are, or as they were a moment ago, since it may act
//!   on what it read before they changed or before it was deleted.
//! - The temporary manager changes no number, nobody else changes any, and somebody always holds it.
//!
//! The margin of a change is the new number less the least that those wanted who were entitled to make it. It is never
//! below zero, and zero whenever somebody got just what they asked for. Nobody ever asks for
//! 1, nor for 0, at which autoscalers do nothing.
//!
//! A seed tells what the users do and when. What comes of it also hangs on how fast the machine is.

pub mod choice;
pub mod judge;
pub mod run;
pub mod seen;
mod story;
pub mod table;
pub(crate) mod user;
