//! The enhancement proposal "Dry-run".

mod admission;
mod generated;
mod kinds;
mod kubectl;
mod responses;
mod storage;
mod trigger;
pub mod webhooks;

use baton_e2e::scenario::Scenario;

pub const SCENARIOS: &[&[Scenario]] = &[
    admission::SCENARIOS,
    generated::SCENARIOS,
    kinds::SCENARIOS,
    kubectl::SCENARIOS,
    responses::SCENARIOS,
    storage::SCENARIOS,
    trigger::SCENARIOS,
    webhooks::SCENARIOS,
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
