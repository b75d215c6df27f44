//! Holds what the merge core predicts of a write against what an API server did.
//!
//! A [`Write`] goes to a [`Resource`]. Once it is sent it is [`Done`], which makes the request of the merge driver protocol of
//! it, and the response as it is recorded; [`judge`] says whether the prediction for the one came true by the other. Nothing
//! here asks a server or the merge core, and nothing knows how anything merges.

mod defaults;
mod done;
pub mod edit;
mod judge;
mod question;
mod resource;
pub mod response;
mod time;
mod write;

pub use done::{Asked, Done};
pub use judge::{Accuracy, judge};
pub use resource::{Resource, Schema};
pub use write::{Method, Owners, Write};

/// The release whose rules are asked for unless another is wanted: that of the API server of the tests.
pub const PROFILE: &str = "1.36.3";
