//! When each object is reconciled, and when it is written: pure, so that tests need no clock.
//!
//! | | |
//! | --- | --- |
//! | [`Queue`] | which object is next, fair between namespaces |
//! | [`WriteRate`] | how many writes there are in a second, in two priorities |
//! | [`Backoff`] | when a part of an object that failed may be tried again |
//! | [`Resync`] | when an object is reconciled in any case |

mod backoff;
mod queue;
mod rate;
mod resync;

pub use self::{
    backoff::{Backoff, pause_after},
    queue::{ObjectKey, Queue},
    rate::WriteRate,
    resync::Resync,
};
