//! The enhancement proposal "Dry-run".

mod admission;
mod generated;
mod kinds;
mod kubectl;
mod responses;
mod storage;
mod trigger;
pub mod webhooks;

use baton_e2e::scenario::Play;

pub const PLAYS: &[&[Play]] = &[
    admission::PLAYS,
    generated::PLAYS,
    kinds::PLAYS,
    kubectl::PLAYS,
    responses::PLAYS,
    storage::PLAYS,
    trigger::PLAYS,
    webhooks::PLAYS,
];

/// A Deployment with one container.
const DEPLOYMENT: &str = "
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: nginx}]}
";
