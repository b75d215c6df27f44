//! Compares the merge core's prediction of a write with the API server's result.
//!
//! A [`Write`] has a [`Resource`] as its target. Once it is sent it is [`Done`], which makes the request of the merge driver protocol of
//! it, and the recorded response; [`judge`] compares the prediction with the response. Nothing here sends a request or merges.

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

/// The default release of the rules: that of the API server of the tests.
pub const PROFILE: &str = "1.36.3";
