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
mod managers;
mod merge;
mod migration;
mod operations;
mod reset;
mod serialization;
mod topology;

use baton_e2e::scenario::{Document, Section};

const DOCUMENT: Document = Document { title: "Server-Side Apply" };

/// The Deployment that the documentation's examples are about.
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

/// The same without its number of replicas.
const NGINX_WITHOUT_REPLICAS: &str = "
    metadata: {labels: {app: nginx}}
    spec:
      selector: {matchLabels: {app: nginx}}
      template:
        metadata: {labels: {app: nginx}}
        spec:
          containers:
          - {name: nginx, image: 'nginx:1.14.2'}";

/// Nothing but its number of replicas.
const NGINX_REPLICAS_ONLY: &str = "spec: {replicas: 3}";

pub fn sections() -> Vec<Section> {
    vec![
        fields::INTRODUCTION,
        fields::FIELD_MANAGEMENT,
        example::SECTION,
        conflicts::SECTION,
        managers::SECTION,
        serialization::SECTION,
        operations::SECTION,
        merge::SECTION,
        custom::SECTION,
        topology::SECTION,
        controllers::SECTION,
        handover::SECTION,
        handover::BETWEEN_MANAGERS,
        client_side::SECTION,
        migration::UPGRADE,
        migration::DOWNGRADE,
        access::IMPLEMENTATION,
        access::PERMISSIONS,
        reset::SECTION,
    ]
}
