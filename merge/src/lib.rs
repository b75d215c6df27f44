//! The embedded merge core: what a kube-apiserver does to the fields of an object, as a library without I/O.
//!
//! The words are those of [structured-merge-diff], the Go library behind server-side apply: a *field set* holds
//! *paths*, a path is a list of *path elements*, and `managedFields` tells for each manager which field set it owns.
//!
//! This crate knows values and field sets. It refuses to know clients, runtimes, clocks and clusters.
//!
//! ```
//! use baton_merge::fieldpath::{FieldSet, Path};
//!
//! let owned: serde_json::Value = serde_json::json!({"f:spec": {"f:replicas": {}}});
//! let set = FieldSet::from_fields_v1(&owned)?;
//! assert!(set.contains(&Path::of_fields(["spec", "replicas"])));
//! # Ok::<(), baton_merge::fieldpath::FieldsV1Error>(())
//! ```
//!
//! [structured-merge-diff]: https://github.com/kubernetes-sigs/structured-merge-diff

pub mod fieldpath;
pub mod schema;
pub mod value;
