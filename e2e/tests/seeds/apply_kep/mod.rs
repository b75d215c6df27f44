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

use baton_e2e::scenario::Play;

/// The smallest spec of a Deployment.
const WEB: &str = "spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, \
    spec: {containers: [{name: app, image: nginx:1}]}}}";

pub const PLAYS: &[&[Play]] = &[
    every_kind::PLAYS,
    goals::PLAYS,
    integration_tests::PLAYS,
    kubectl::PLAYS,
    manager_tests::PLAYS,
    merge_tests::PLAYS,
    proposal::PLAYS,
    status::PLAYS,
    surprises::PLAYS,
    topology::PLAYS,
];
