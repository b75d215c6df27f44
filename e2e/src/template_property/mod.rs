//! The property that a child is what its Workload says, tried with templates by chance.
//!
//! Workloads side by side are edited step by step. After each step:
//!
//! 1. The Deployment is what `kubectl apply --server-side` makes of the same template where nothing was before, and the Service
//!    likewise: they depend on what the Workload says, and not on what it said earlier.
//! 2. One write brought each of them there, after two at most for what stood in its way, and another pass sends none.
//! 3. Neither does a restart of Baton.
//! 4. No prediction was wrong.
//! 5. Where the edit was previewed, the plan named the fields that then changed, and no others.
//!
//! [`templates`](crate::templates) makes the edits, and an API server says which of them count: what it refuses of a Deployment
//! made by hand is no case. [`reference`](mod@reference) is what is made by hand, [`difference`] what tells two objects apart,
//! [`planned`] what makes a plan wrong, [`round`] plays one step of all Workloads, [`run`](mod@run) many of them, `in_process` many
//! runs side by side, `shrink` makes what failed small, and [`findings`](mod@findings) sorts and prints it. All that they know of
//! the place where Baton runs is a [`Stage`].

pub mod difference;
pub mod findings;
mod in_process;
pub mod local;
pub mod planned;
pub mod reference;
pub mod round;
pub mod run;
mod shrink;
pub mod stage;

pub use self::{
    findings::Findings,
    in_process::run_in_process,
    local::Local,
    run::{Effort, run},
    stage::{Mismatch, News, Sent, Stage},
};
