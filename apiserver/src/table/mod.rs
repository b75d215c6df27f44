//! Objects as `kubectl get` shows them: the server's tables, after `k8s.io/kubernetes/pkg/printers` and, where a kind has no
//! printer, after the default of `k8s.io/apiserver/pkg/registry/rest`.

mod access;
mod age;
mod build;
mod cell;
mod columns;
mod custom;
mod event;
mod kinds;
mod metrics;
mod network;
mod node;
mod pod;
mod storage;
#[cfg(test)]
mod tests;
mod workload;

pub(crate) use build::{IncludeObject, Rows, TableOptions, TableRequest};
pub(crate) use cell::cells;
pub(crate) use columns::{Column, columns};
pub(crate) use custom::CustomColumn;
