//! An article on how conflicts are resolved: from creations at the same time to server-side apply. Its subject is a Namespace
//! and the labels on it.

mod apply;
mod versions;
mod writes;

use baton_e2e::scenario::{Play, Scene, builtin};

pub const PLAYS: &[&[Play]] = &[apply::PLAYS, versions::PLAYS, writes::PLAYS];

/// How many write at the same time.
const CROWD: usize = 4;

/// Turns to a Namespace that no other scene has.
async fn of_a_namespace(s: &mut Scene) {
    let name = format!("{}-labeled", s.namespace());
    s.named(&name).await;
    s.of(builtin::NAMESPACE).await;
}

/// A label of each one's own, as text.
fn own_label(i: usize) -> String {
    format!("metadata: {{labels: {{label{i}: '{i}'}}}}")
}

/// One label for all, with a value of each one's own.
fn same_label(i: usize) -> String {
    format!("metadata: {{labels: {{label: '{i}'}}}}")
}
