//! When each object is reconciled, and when it is written. All but [`Passes`] is pure, so that tests need no clock.
//!
//! | | |
//! | --- | --- |
//! | [`Queue`], [`Passes`] | which object is next, fair between namespaces, and the loop that begins its pass |
//! | [`WriteRate`] | how many writes there are in a second, in two priorities |
//! | [`Backoff`] | when a part of an object that failed may be tried again |
//! | [`Resync`] | when an object is reconciled in any case |

mod backoff;
mod passes;
mod queue;
mod rate;
mod resync;

pub use self::{
    backoff::{Backoff, pause_after},
    passes::Passes,
    queue::{ObjectKey, Queue},
    rate::WriteRate,
    resync::Resync,
};
