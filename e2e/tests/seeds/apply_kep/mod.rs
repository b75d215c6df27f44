//! The enhancement proposal "Apply".

mod every_kind;
mod goals;
mod integration_tests;
mod kubectl;
mod manager_tests;
mod merge_tests;
mod proposal;
mod status;
mod surprises;
mod topology;
mod wire;

use baton_e2e::scenario::Scenario;

/// The smallest spec of a Deployment.
const WEB: &str = "spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, \
    spec: {containers: [{name: app, image: nginx:1}]}}}";

pub const SCENARIOS: &[&[Scenario]] = &[
    every_kind::SCENARIOS,
    goals::SCENARIOS,
    integration_tests::SCENARIOS,
    kubectl::SCENARIOS,
    manager_tests::SCENARIOS,
    merge_tests::SCENARIOS,
    proposal::SCENARIOS,
    status::SCENARIOS,
    surprises::SCENARIOS,
    topology::SCENARIOS,
];
