//! A small language for scenarios: steps that read as sentences, each sent to a real API server and predicted by the merge
//! core.
//!
//! ```no_run
//! # use std::sync::Arc;
//! # use baton_e2e::scenario::{Scene, Stage};
//! async fn a_manager_that_changes_a_value_owns_it(s: &mut Scene) {
//!     s.apply_as("kubectl", "data: {key: some value}").await;
//!     s.update_as("kube-controller-manager", "data: {key: new value}").await;
//!     s.expect_owner(".data.key", "kube-controller-manager (Update)");
//!     s.apply_as("kubectl", "data: {key: some value}")
//!         .conflicts_with("kube-controller-manager", ".data.key")
//!         .await;
//! }
//! # async fn example() -> Result<(), baton_testbed::Error> {
//! let stage = Arc::new(Stage::start().await?);
//! let mut scene = Scene::open(&stage, "example").await?;
//! a_manager_that_changes_a_value_owns_it(&mut scene).await;
//! # Ok(())
//! # }
//! ```
//!
//! A [`Scene`] has a namespace of its own and a subject, a ConfigMap unless another is chosen by [`Scene::of`]. Bodies are
//! YAML without what says which object is meant. A [`ScenarioStep`] is sent when it is awaited, and panics, with live object, request,
//! prediction and response side by side, when
//!
//! - the server responses something else than the step expects: success, unless it says otherwise,
//! - the merge core predicted another object, other `managedFields` or other conflicts,
//! - a refusal or a dry run changed the object.
//!
//! A step reads the object before and after it is sent, so nobody else may write to it in the meantime. Where a controller
//! does, [`Scene::kubectl`] is the way to write, and [`Scene::eventually`] to wait: they find all that was written, by
//! whomever, in the audit log, and hold each write against its own prediction.
//!
//! [`Scene::rehearse`] sends a step as a dry run first, and compares the two responses.
//!
//! What follows from a step is checked by the `expect` sentences of the scene, which look at the object as the last step left
//! it. `docs/seeds.md` says which sentence of which document a scenario shows.

mod baton;
mod body;
mod crd;
mod expect;
mod foreign;
mod kinds;
mod kubectl;
mod line;
mod manager;
mod owners;
mod path;
mod play;
mod race;
mod record;
mod rehearsal;
mod response;
mod scene;
mod show;
mod stage;
mod step;
mod verbs;

pub mod docs;

pub use self::{
    crd::Crd,
    kinds::{BuiltIn, Kind, builtin},
    kubectl::KubectlStep,
    manager::{Manager, nobody, user_agent},
    play::{Play, Playing},
    race::{Race, Rival},
    record::{Counts, Recorded},
    rehearsal::RehearsedStep,
    response::StepResponse,
    scene::Scene,
    stage::Stage,
    step::ScenarioStep,
};
