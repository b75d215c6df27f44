//! A Kubernetes API server inside a process, for tests of operators, with complete server-side apply.
//!
//! A complete test of a reconciler:
//!
//! ```
//! use baton_apiserver::ApiServer;
//! use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
//! use kube::{Api, Client, api::{Patch, PatchParams, PostParams}};
//! use serde_json::json;
//!
//! /// The reconciler under test: a Deployment of the same name for each ConfigMap.
//! async fn reconcile(client: Client, config: ConfigMap) -> kube::Result<Deployment> {
//!     let name = config.metadata.name.unwrap_or_default();
//!     let web = json!({
//!         "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name},
//!         "spec": {"selector": {"matchLabels": {"app": name}}, "template": {
//!             "metadata": {"labels": {"app": name}},
//!             "spec": {"containers": [{"name": "web", "image": "nginx"}]},
//!         }},
//!     });
//!     let deployments: Api<Deployment> = Api::default_namespaced(client);
//!     deployments.patch(&name, &PatchParams::apply("my-operator").force(), &Patch::Apply(web)).await
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let server = ApiServer::builder().start()?;
//! let configs: Api<ConfigMap> = Api::default_namespaced(server.client());
//! let config = serde_json::from_value(json!({"metadata": {"name": "shop"}}))?;
//! let config = configs.create(&PostParams::default(), &config).await?;
//!
//! let first = reconcile(server.client(), config.clone()).await?;
//! assert_eq!(first.spec.unwrap().replicas, Some(1), "the server's defaults are filled in");
//! let second = reconcile(server.client(), config).await?;
//! assert_eq!(first.metadata.resource_version, second.metadata.resource_version, "nothing is written twice");
//! # Ok(())
//! # }
//! ```
//!
//! There is no other process, no socket and nothing to install. [`ApiServer::client`] is a `kube::Client` that calls the
//! server directly. It works with `Api`, `watcher`, `reflector` and `Controller`, also under tokio's paused time, which
//! timestamps in objects follow. A client that never lets it advance is [stopped](Builder::repeat_limit).
//! [`ApiServer::client_as`] has the permissions of a user, and rules of [faults] know a client by its
//! [name](ApiServer::client_named). [`ApiServer::serve`] serves the same over HTTP, for `kubectl` and any other client. A
//! process can have several servers, and they leave nothing behind.
//!
//! Complete programs to copy from, in `examples/`:
//!
//! - `reconciler_test.rs`: a `Controller` under paused time. Its children come up, nothing is written at rest, everything is gone
//!   after a delete.
//! - `faults.rs`: how an operator survives a lost response, a conflict, a busy server and a watch that is cut.
//! - `kubectl.rs`: the server over HTTP, with a kubeconfig for `kubectl`.
//!
//! # What it does
//!
//! - All verbs on all built-in kinds, with the merge rules, defaults and validation of Kubernetes 1.36: field managers, conflicts,
//!   `managedFields`, the four patch types, dry runs, preconditions, finalizers, propagation policies, `generation`, watches
//!   with bookmarks and selectors, lists in pieces, tables, subresources, discovery, OpenAPI. Events and autoscalers are stored once
//!   and served in both of their API versions.
//! - Custom resources from their Rust type ([`Builder::crd`]) or from YAML ([`Builder::load`]): structural schemas, pruning,
//!   defaults, several versions, printer columns, CEL rules.
//! - [Actors](Actor), if a test asks for them: garbage collection, namespace deletion, Deployments and StatefulSets that roll out,
//!   pods, claims and volumes, an autoscaler under a [load](Load), disruption budgets, quotas, RBAC. The first
//!   object of a kind that no actor works on is reported on standard error.
//! - [Faults](faults): a lost response, a connection that is cut, a response of the test's choice, for exactly the request that the
//!   test is about.
//!
//! # What it doesn't do
//!
//! There are no webhooks and no authentication. Unless a test asks for [actors](Actor), no controller runs. Kinds that
//! operators rarely create are stored and merged without defaults and validation, and each response has a warning about
//! that. The README has a generated table of all known differences from a real server.

mod actors;
mod audit;
mod builder;
mod classes;
mod custom;
mod data;
mod definitions;
mod discover;
mod disruption;
pub mod faults;
mod field;
mod http;
mod in_process;
mod initial;
mod kinds;
mod limits;
mod listen;
mod metadata;
mod namespaces;
mod objects;
mod options;
mod patch;
mod paused;
mod pod_security;
mod priorities;
mod read;
mod registry;
mod scale;
mod selector;
mod server;
mod service_allocation;
mod status;
mod store;
mod swagger;
mod table;
mod types;
mod versions;
mod websocket;
mod write;

pub use crate::{
    actors::{Actor, Load, Pods, Readiness, UnknownActor},
    builder::{ApiServer, Builder, StartError},
    listen::Serving,
};
pub use baton_merge::Release;
