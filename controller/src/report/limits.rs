//! Limits of what is reported: whatever a pass holds, its status can be stored.
//!
//! The size of a status must not depend on others: on the API server's messages and those of webhooks, on the managers and the paths
//! in a child's `managedFields`, which anyone who may patch the child can forge, or on how many autoscalers there are.

use baton_apply::FieldPath;
use baton_crd::WorkloadStatus;
use baton_runtime::text::cut;

/// The longest message, in bytes of JSON.
const MESSAGE: usize = 4096;
/// The longest path of a field: longer than any of a kind that Baton writes.
const PATH: usize = 400;
/// The longest name of a manager: the API server accepts no longer one of a client.
const MANAGER: usize = 128;
/// The longest list of the managers that own the replica count.
const MANAGERS: usize = 1024;
/// The longest label selector as text. One that was cut would select other pods, so a longer one is left out.
const SELECTOR: usize = 32 * 1024;
/// How many autoscalers are listed.
const MOST_AUTOSCALERS: usize = 50;
/// How many conditions there may be: more than Baton has.
const MOST_CONDITIONS: usize = 32;

/// A field's path, as a status shows it.
pub(super) fn path(path: &FieldPath) -> String {
    cut(path.to_string(), PATH)
}

/// A manager, as a status shows it.
pub(super) fn manager(manager: &str) -> String {
    cut(manager.to_owned(), MANAGER)
}

/// Several managers, as a status shows them.
pub(super) fn managers(managers: String) -> String {
    cut(managers, MANAGERS)
}

/// The status within all limits.
pub(super) fn limited(mut status: WorkloadStatus) -> WorkloadStatus {
    let message = |message: &mut String| *message = cut(std::mem::take(message), MESSAGE);
    status.conditions.truncate(MOST_CONDITIONS);
    status.conditions.iter_mut().map(|condition| &mut condition.message).for_each(message);
    status.children.iter_mut().filter_map(|child| child.message.as_mut()).for_each(message);
    status.plan.iter_mut().filter_map(|child| child.message.as_mut()).for_each(message);
    if let Some(ownership) = &mut status.replica_ownership {
        ownership.autoscalers.truncate(MOST_AUTOSCALERS);
        ownership.waiting_for.iter_mut().for_each(message);
    }
    status.selector = status.selector.filter(|selector| selector.len() <= SELECTOR);
    status
}
