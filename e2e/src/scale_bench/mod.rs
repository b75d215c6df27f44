//! Measures what an operator of Workloads costs as their number grows: CPU, memory and requests of the operator's process, and
//! how long a change takes until the status is current.
//!
//! The operator is a process of its own, so that its figures have only its work. [`server`] starts the server, [`operator`] starts
//! and measures the operator, [`workloads`] and [`timeline`] make the load and follow it, and [`run`](mod@run) goes through the
//! [phases](figures::Phase). [`report`] and [`plot`] show the [`figures`]. No test compares a time.
//!
//! What counts:
//!
//! - CPU is user and system time of the process, by the system's clock for it, which has steps of 10 ms. A phase lasts until
//!   the operator is quiet, so that work that goes on after the goal is in it.
//! - Memory is what is resident, with the used pages of the binary, as a container's limit counts it.
//! - Requests are those that the operator counts itself: `baton_api_requests_total`, or `rest_client_requests_total` of
//!   client-go. Watches and reviews of permissions are left out.
//! - Time to current status is from the response to a create or an edit until a watch shows a status with that generation. Of
//!   all Workloads at once, it is mostly their queue; one at a time, it is the operator and the server alone.
//! - On the server in the process, its own controllers take longer with every object. So times on it aren't those of a cluster;
//!   CPU, memory and requests of the operator are comparable.

pub mod figures;
pub mod operator;
pub mod plot;
pub mod report;
pub mod run;
pub mod server;
pub mod timeline;
pub mod workloads;

#[cfg(test)]
mod tests;
