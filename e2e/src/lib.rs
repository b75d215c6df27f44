//! Baton on a cluster, real or inside the process: scenarios, benchmarks, and helpers to run the operator in tests and in the demo.
//!
//! ```no_run
//! # async fn example() -> Result<(), baton_testbed::Error> {
//! let cluster = baton_testbed::Cluster::in_process()?;
//! let operator = baton_e2e::Operator::start(&cluster, baton_e2e::OperatorOptions::default()).await?;
//! println!("{}", operator.metrics_text().await?);
//! # Ok(())
//! # }
//! ```
//!
//! This crate depends on all others of this workspace, and none depends on it.

mod access;
mod any_object;
pub mod apiserver_diff;
pub mod change;
pub mod client_side_apply;
pub mod containers;
pub mod environment;
pub mod generated;
pub mod guide;
pub mod handover_model;
mod image;
pub mod installed;
mod logs;
mod operator;
pub mod permissions;
pub mod pictures;
mod processors;
pub mod scale_bench;
pub mod scenario;
pub mod servers;
pub mod session;
pub mod simulation;
pub mod soak;
pub mod table;
pub mod template_property;
pub mod templates;

use baton_crd::{Workload, condition};

pub use access::may;
pub use change::Change;
pub use environment::{Environment, autoscaler, autoscaling, web, workload};
pub use image::image;
pub use operator::{End, Operator, OperatorOptions, apply, apply_manifests, install_manifests};
pub use table::Table;

/// Whether a Workload has the condition Ready for its latest spec.
pub fn is_ready(workload: &Workload) -> bool {
    let conditions = workload.status.iter().flat_map(|status| &status.conditions);
    conditions.into_iter().any(|one| {
        one.type_ == condition::READY
            && one.status == "True"
            && one.observed_generation == workload.metadata.generation
    })
}
