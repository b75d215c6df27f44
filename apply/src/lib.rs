#![doc = include_str!("../README.md")]

mod applier;

mod comparison;
pub mod contention;
mod effects;
mod error;
mod find;
pub mod leftovers;
mod managed_fields;
mod object;
mod obstacle;
pub mod openapi;
pub mod ownership;
mod patch;
mod path;
mod prediction;
mod quoted;
mod repeat;
mod request;
mod schemas;
mod scratch;
mod shown;
mod spelled;
pub mod spelling;
mod stored_form;
mod write;

pub use baton_merge::{
    Arena, Release, fieldpath,
    server::{Certainty, Operation, Resources},
};

pub use applier::{Applier, Observer, Options};
pub use comparison::{Comparison, Difference};
pub use effects::{Effects, Takeover};
pub use error::{ApiError, Failure, Misuse, bounded};
pub use managed_fields::ManagedFieldsEntry;
pub use object::{LiveObject, Revision};
pub use obstacle::Obstacle;
pub use patch::PatchError;
pub use path::FieldPath;
pub use prediction::{Conflict, Conflicts, PredictedObject, Prediction, PredictionError};
pub use request::{Change, Guard, Request, Target};
pub use schemas::{NoSchema, SchemaCache, SchemaProblem, SchemaStatus, Schemas};
pub use shown::Secrecy;
pub use write::{DryRun, Outcome, PreparedWrite, Reason, Tries};
