//! The documentation of server-side apply.

mod access;
mod baton;
mod client_side;
mod conflicts;
mod controllers;
mod custom;
mod example;
mod fields;
mod handover;
mod leftovers;
mod managers;
mod merge;
mod migration;
mod operations;
mod reset;
mod serialization;
mod topology;

use baton_e2e::scenario::Scenario;

/// The Deployment of the documentation's examples.
const NGINX: &str = "
    metadata: {labels: {app: nginx}}
    spec:
      replicas: 3
      selector: {matchLabels: {app: nginx}}
      template:
        metadata: {labels: {app: nginx}}
        spec:
          containers:
          - {name: nginx, image: 'nginx:1.14.2'}";

/// The same without its replica count.
const NGINX_WITHOUT_REPLICAS: &str = "
    metadata: {labels: {app: nginx}}
    spec:
      selector: {matchLabels: {app: nginx}}
      template:
        metadata: {labels: {app: nginx}}
        spec:
          containers:
          - {name: nginx, image: 'nginx:1.14.2'}";

/// Only its replica count.
const NGINX_REPLICAS_ONLY: &str = "spec: {replicas: 3}";

pub const SCENARIOS: &[&[Scenario]] = &[
    access::SCENARIOS,
    baton::SCENARIOS,
    client_side::SCENARIOS,
    conflicts::SCENARIOS,
    controllers::SCENARIOS,
    custom::SCENARIOS,
    example::SCENARIOS,
    fields::SCENARIOS,
    handover::SCENARIOS,
    leftovers::SCENARIOS,
    managers::SCENARIOS,
    merge::SCENARIOS,
    migration::SCENARIOS,
    operations::SCENARIOS,
    reset::SCENARIOS,
    serialization::SCENARIOS,
    topology::SCENARIOS,
];
