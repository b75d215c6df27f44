//! Schemas from a CustomResourceDefinition (apiextensions.k8s.io/v1).
//!
//! The result is what the API server makes of the definition for server-side apply to its resources, and what else
//! it must know of them: versions, subresources, conversion. Whether the server would accept the definition isn't
//! judged; what merging needs must be there and have a meaning.

mod models;
mod props;
mod resource;
mod structural;

pub use self::resource::{Conversion, CustomResource, ScalePaths, Scope, Version, VersionSchema, parse};
