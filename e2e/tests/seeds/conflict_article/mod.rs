//! An article on how conflicts are resolved, from concurrent creations to server-side apply. Its subject is a Namespace with
//! labels.

mod apply;
mod versions;
mod writes;

use baton_e2e::scenario::{Scenario, Subject, builtin};

pub const SCENARIOS: &[&[Scenario]] = &[apply::SCENARIOS, versions::SCENARIOS, writes::SCENARIOS];

/// How many clients write at the same time.
const CROWD: usize = 4;

/// Makes a Namespace that no other scenario uses the subject.
async fn of_a_namespace(s: &mut Subject) {
    let name = format!("{}-labeled", s.namespace());
    s.named(&name).await;
    s.of(builtin::NAMESPACE).await;
}

/// A body with a label for this client only.
fn own_label(i: usize) -> String {
    format!("metadata: {{labels: {{label{i}: '{i}'}}}}")
}

/// A body with one label for all clients, with this client's value.
fn same_label(i: usize) -> String {
    format!("metadata: {{labels: {{label: '{i}'}}}}")
}
