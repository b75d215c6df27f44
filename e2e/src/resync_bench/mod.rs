//! Measures what a full resync costs: all Workloads are settled, the operator looks at each of them again, and that
//! changes nothing. Once with an operator that predicts each write and skips the ones that would change nothing, once
//! with one that sends them all, over the same objects in the same cluster.
//!
//! [`workloads`] fills a control plane that does little else, [`measure`] does the resyncs, [`run`](mod@run) takes one operator
//! after the other, [`table`] shows what came out. Nothing here judges: no test hangs on a time.
//!
//! What counts:
//!
//! - Processor time of the operator, of kube-apiserver and of etcd, by what the system says of each process: what else
//!   runs on the machine doesn't count, but it may make each of them slower.
//! - What each of them uses while nothing happens is measured before and taken off. The metrics are polled in both
//!   cases, so that this is taken off too.
//! - Requests and writes by the API server's audit log.
//! - Wall time from the signal until the last pass has ended.
//! - Each figure is the sum over all resyncs by the number of Workloads and resyncs, since the system's clock for the
//!   processor is coarse.

pub mod measure;
pub mod run;
pub mod table;
pub mod workloads;
