//! Tables for `kubectl get`, after `k8s.io/kubernetes/pkg/printers` and, for kinds without a printer, after the default of
//! `k8s.io/apiserver/pkg/registry/rest`.

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
