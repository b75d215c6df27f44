//! The property that a child is as its Workload sets it, tested with random templates.
//!
//! Workloads side by side are edited step by step. After each step:
//!
//! 1. The Deployment is what `kubectl apply --server-side` creates from the same template, and so is the Service: they depend on
//!    the Workload's current spec, not on earlier ones.
//! 2. One write was enough for each child, or three at most when leftovers had to go first. Another pass sends none.
//! 3. A restart of Baton sends none.
//! 4. No prediction was wrong.
//! 5. If the edit was previewed, the plan named the fields that then changed, and no others.
//!
//! [`templates`](crate::templates) makes the edits. An edit counts only if the API server accepts it for a Deployment made by hand,
//! which is the [`reference`](mod@reference). [`difference`] compares two objects, and [`planned`] a plan with the change.
//! [`round`] plays one step of all Workloads, [`run`](mod@run) many steps, and `in_process` many runs side by side. `shrink` makes
//! failures smaller, and [`findings`](mod@findings) sorts and prints them. A [`Installation`] is the place where Baton runs.

pub mod difference;
pub mod findings;
mod in_process;
pub mod installation;
pub mod local;
pub mod planned;
pub mod reference;
pub mod round;
pub mod run;
mod shrink;

pub use self::{
    findings::Findings,
    in_process::run_in_process,
    installation::{Installation, Mismatch, News, Sent},
    local::Local,
    run::{Effort, run},
};
