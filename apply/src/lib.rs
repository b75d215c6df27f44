//! Predicted server-side apply for Kubernetes operators: skips no-ops, guards writes, reports takeovers, hands fields over.
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use baton_apply::{Applier, Options, SchemaCache, Target};
//! use k8s_openapi::api::apps::v1::Deployment;
//! use kube::{Client, core::ApiResource};
//!
//! # async fn example(client: Client, intent: Deployment) -> Result<(), Box<dyn std::error::Error>> {
//! let (kinds, limit) = ([ApiResource::erase::<Deployment>(&())], Duration::from_secs(30));
//! let schemas = SchemaCache::new(client.clone(), kinds, limit);
//! tokio::spawn(schemas.clone().keep_current(Duration::from_mins(10)));
//! let applier = Applier::new(client, Some(schemas), limit);
//! applier.ready().await;
//!
//! let live = applier.read(&Target::of(&intent, &())).await?;
//! let applied = applier.apply(live.as_ref(), &intent, Options::forced("my-operator")).await?;
//! for takeover in applied.effects.takeovers {
//!     println!("took over {} from {}", takeover.path, takeover.manager);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Where to begin
//!
//! | to | see |
//! | --- | --- |
//! | apply an intent | [`Applier::apply`], [`Options`] |
//! | keep live objects in a cache, fed by watches and responses | [`cache`] |
//! | ask what an apply would do | [`Schemas::predict`], [`Options::dry_run`] |
//! | read the owners of a field, release it, hand it over or take it back | [`ownership`] |
//! | pause while another manager sets the same field again and again | [`contention`] |
//! | write nothing under a CRD that is older than the program, since the API server drops fields | [`crd`] |
//! | record writes in logs and metrics | [`Observer`] |
//! | use another client, or none | [`Schemas::prepare`], [`Schemas::settle`]: pure functions of objects, schemas and the time |
//!
//! # The live object
//!
//! Predictions are made from the object as it was read last, whole: a cache that drops `managedFields` hides every owner.
//! [`Applier::read`] gets it from the server. [`cache::Cache`] keeps what a watch delivers, and the responses to own writes.
//! `None` means that there is no object, and may come from a cache: the apply then creates the object, or is refused if there is
//! one after all. Server-side apply has no such option, but an apply with a `resourceVersion` that no object has does it
//! ([`Guard::Absent`]).
//!
//! # The choices
//!
//! **An intent is complete and minimal.** It has the kind, the name, for a namespaced kind the namespace, and all fields that the
//! manager wants to own. To the server each apply is complete: a field that is left out is released, and removed if no other manager
//! owns it. `null`, `{}` and `[]` mean something else than absence, and so does a default that the server fills in.
//! [`Applier::apply`] spells a typed intent accordingly, and [`Schemas::minimal`] does for JSON. Where the server fills defaults
//! into a value that is merged as a whole, such as the `volumeClaimTemplates` of a `StatefulSet`, an intent without them would be
//! sent each time; [`PreparedWrite::reason`] names the field.
//!
//! **A controller forces.** It can't ask a user whether a conflict is meant. Its takeovers are in [`Effects::takeovers`]. Only the
//! apply of a temporary manager ([`ownership::hand_over`]) never forces: force would take the field over from a manager that has
//! just written it.
//!
//! **A no-op is skipped only if it is certain**: the kind has a schema, every value and every owner stays, and nothing depends on what
//! only the server knows, such as defaults in lists that are merged as a whole. If in doubt the apply is sent; the server doesn't
//! store a write that changes nothing. Skipped too is an apply that would only pass a value which isn't stored, such as `value: ""`,
//! from one manager to another ([`PredictedObject::is_repeat`]): two managers that apply the same would take it from each other
//! again and again. [`Options::always_send`] sends anyway. Use it now and then for each object, such as every ten minutes, so that
//! a wrong prediction can't last.
//!
//! **A write is guarded.** A prediction is right only for the object that it was made for. So a predicted request carries
//! that object's `resourceVersion`, and the server refuses it with a 409 if the object has been written since. [`Applier::apply`]
//! then reads the object and tries again; if others write all the time, the last try is without that guard. If the intent itself
//! depends on the object that was read, such as one that leaves a field out *because* another manager owns it, ask for a guard
//! that stays ([`Options::guarded`], [`Guard::Unchanged`]). An apply never brings a deleted object back: the `uid` is in every
//! request for an object that was read.
//!
//! **Fields without an owner** can stand in the way. A Deployment that becomes `Recreate` is refused, since the server had filled in
//! `rollingUpdate`. A pod that drops `serviceAccountName` keeps it, since the server had copied it. Before such an apply, the
//! applier makes its manager own these fields, and then removes them: two writes, one change of the object. [`leftovers`] lists
//! these fields.
//!
//! **Some results can't be predicted**: defaults of built-in kinds, admission webhooks, validation, quotas, conversion between
//! versions of a custom resource by webhook. Where they can matter, the prediction has that [`Certainty`], and the comparison
//! allows what the server may fill in or spell in its own way. A difference beyond that is a [`Comparison::Mismatch`]: it is
//! reported, the schemas are read again, and the server's object is the right one.
//!
//! **A field is handed over** without a change of its value in four writes that may be passes apart:
//!
//! 1. [`ownership::hand_over`]: a temporary manager comes to own the live value beside the first. Its name may be any; what else a
//!    program of that name has applied stays as it is.
//! 2. The intent without the field, guarded, to the object that 1 returned. The value stays, since it is owned.
//! 3. The other program writes the field. If it updates the field to the value that it has, it doesn't come to own it, so wait until
//!    [`ownership::owners`] shows it.
//! 4. If the temporary manager still owns the field then, [`ownership::FieldRelease`] takes the field out of its entry. Any sooner,
//!    and the field has no owner.
//!
//! Name the temporary manager in [`Applier::writing_as`]: what is taken back from it is no takeover. The owners of the field show
//! which of these is next, after a crash too. To take the field back, apply the intent with the live value, forced and guarded.
//! Both own the field then. The next value takes it over from the other, or [`ownership::FieldRelease`] does so without writing it.
//!
//! **No decision rests on memory.** The owners of a field are read from the object's `managedFields` each time
//! ([`ownership::owners`]), so a crash at any point loses nothing. [`contention::Contention`] keeps the pace, and may be lost.

mod applier;
mod as_stored;
pub mod cache;
mod comparison;
pub mod contention;
pub mod crd;
mod effects;
mod error;
mod find;
pub mod leftovers;
mod managed_fields;
mod object;
mod obstacle;
pub mod openapi;
mod outcome;
pub mod ownership;
mod patch;
mod path;
mod prediction;
mod quoted;
mod repeat;
mod request;
mod schemas;
mod scratch;
mod secrecy;
mod spelled;
pub mod spelling;
mod stored_form;
mod types;
mod write;

pub use baton_merge::{
    Arena, Release, fieldpath,
    predict::PredictError,
    schema::SchemaError,
    server::{Certainty, Operation, Resource, Resources},
    value,
};

pub use applier::{Applier, Observer, Options};
pub use comparison::{Comparison, Difference};
pub use effects::{Effects, Takeover};
pub use error::{ApiError, Failure, Misuse, with_timeout};
pub use managed_fields::ManagedFieldsEntry;
pub use object::{LiveObject, Revision};
pub use obstacle::Obstacle;
pub use outcome::{ApplyError, ApplyOutcome};
pub use patch::PatchError;
pub use path::FieldPath;
pub use prediction::{Conflict, Conflicts, PredictedObject, Prediction, PredictionError};
pub use request::{Change, DryRun, Guard, Request, Target};
pub use schemas::{NoSchema, SchemaCache, SchemaProblem, SchemaStatus, Schemas};
pub use secrecy::Secrecy;
pub use write::{Outcome, PreparedWrite, Reason};
