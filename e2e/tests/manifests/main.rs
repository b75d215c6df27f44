//! What installs Baton: `manifests/` by kustomize and `charts/baton` by Helm give the same objects, the API server takes
//! them, and what they and the documents name exists.

#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod chart;
mod guide;
mod monitoring;
mod objects;
mod operations;
mod rbac;
mod server;
