//! A small language for scenarios: steps that read as sentences, each sent to a real API server and predicted by the merge
//! core.
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use baton_e2e::scenario::{Subject, SeedServer};
//! async fn a_manager_that_changes_a_value_owns_it(s: &mut Subject) {
//!     s.apply_as("kubectl", "data: {key: some value}").await;
//!     s.update_as("kube-controller-manager", "data: {key: new value}").await;
//!     s.expect_owner(".data.key", "kube-controller-manager (Update)");
//!     s.apply_as("kubectl", "data: {key: some value}")
//!         .conflicts_with("kube-controller-manager", ".data.key")
//!         .await;
//! }
//! # async fn example() -> Result<(), baton_testbed::Error> {
//! let server = Arc::new(SeedServer::start().await?);
//! let mut subject = Subject::open(&server, "example").await?;
//! a_manager_that_changes_a_value_owns_it(&mut subject).await;
//! # Ok(())
//! # }
//! ```
//!
//! A [`Subject`] is an object in a namespace of its own: a ConfigMap, or the object that [`Subject::of`] chooses. Bodies are YAML without
//! the object's kind and name. A [`ScenarioStep`] is sent when it is awaited. It panics, with live object, request, prediction and
//! response side by side, when
//!
//! - the response isn't what the step expects: success, if it expects nothing else,
//! - the merge core predicted another object, other `managedFields` or other conflicts,
//! - a refusal or a dry run changed the object.
//!
//! A step reads the object before and after it is sent, so no other client may write to it in the meantime. Where a controller
//! does, write with [`Subject::kubectl`] and wait with [`Subject::eventually`]: they find the writes of all clients in the audit log,
//! and compare each with its prediction.
//!
//! [`Subject::rehearse`] sends a step as a dry run first, and compares the two responses.
//!
//! The `expect` sentences of the scenario check the object as the last step left it. `docs/seeds.md` lists which sentence of which
//! document a scenario shows.

mod baton;
mod body;
mod crd;
mod expect;
mod foreign;
mod kinds;
mod kubectl;
mod line;
mod list;
mod manager;
mod owners;
mod path;
mod race;
mod record;
mod rehearsal;
mod response;
mod server;
mod show;
mod step;
mod subject;
mod verbs;

pub mod docs;

pub use self::{
    crd::Crd,
    kinds::{BuiltIn, Kind, builtin},
    kubectl::KubectlStep,
    list::{Running, Scenario},
    manager::{Manager, unnamed, user_agent},
    race::{Race, Rival},
    record::{Counts, Recorded},
    rehearsal::RehearsedStep,
    response::StepResponse,
    server::SeedServer,
    step::ScenarioStep,
    subject::Subject,
};
