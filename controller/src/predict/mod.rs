//! What a write will do, before it is sent, and whether it did that.
//!
//! The merge core computes; this module asks it in the operator's terms. Pure functions of objects, schemas and the clock:
//! refuses to do I/O.
//!
//! - [`Schemas`] are what the cluster serves about the children's kinds;
//! - [`Schemas::forecast`] says what a request will do;
//! - [`Schemas::check`] holds the server's answer against that;
//! - [`shown`] decides which values people may see.

mod check;
mod find;
mod forecast;
mod schemas;
mod shown;

pub use check::{Answer, Difference, Verdict};
pub use forecast::{Effects, Forecast, ForecastError, Stored, Take};
pub use schemas::{NoSchema, Schemas, document_path};
pub use shown::shown;
