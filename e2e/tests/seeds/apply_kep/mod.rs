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

use baton_e2e::scenario::{Document, Section};

const DOCUMENT: Document = Document { title: "Apply" };

/// The spec of a Deployment that says no more than it has to.
const WEB: &str = "spec: {selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, \
    spec: {containers: [{name: app, image: nginx:1}]}}}";

pub fn sections() -> Vec<Section> {
    vec![
        proposal::SUMMARY,
        surprises::MOTIVATION,
        goals::GOALS,
        goals::NON_GOALS,
        proposal::PROPOSAL,
        topology::LISTS,
        topology::MAPS,
        kubectl::KUBECTL,
        status::CURRENT,
        status::PROPOSED,
        merge_tests::MERGE,
        manager_tests::MANAGERS,
        integration_tests::INTEGRATION,
        integration_tests::GRADUATION,
        integration_tests::DRAWBACKS,
    ]
}
