//! Schemas from a CustomResourceDefinition (apiextensions.k8s.io/v1).
//!
//! The result is the API server's schema for server-side apply to custom resources, with their versions, subresources and
//! conversion. Validation of the CRD is left to the server; only the parts for merging must be valid.

mod models;
mod props;
mod resource;
mod structural;

pub use self::resource::{Conversion, CustomResource, ScalePaths, Scope, Version, VersionSchema, parse};
