//! The Baton operator: turns a `Workload` into its children by server-side apply, and owns exactly what it set.
//!
//! [`reconcile`] is the loop: each pass *observes, decides, acts and reports*.
//!
//! - `observe` has the caches of Workloads and children, fed by watches;
//! - [`decide`] plans the writes, as pure functions and state machines without I/O: from a [snapshot](decide::snapshot) to the next
//!   [steps](decide::plan), with [who owns `spec.replicas`](decide::replicas) and [the intent of a child](decide::intent), and the
//!   [course](decide::course) of a pass;
//! - [`reconcile`] acts: it runs a course against the API server, or rehearses it, and sets the [pace](reconcile::pace);
//! - [`report`] makes the Workload's status and the Events of a pass.
//!
//! Each write is predicted, guarded and compared by [`baton_apply`].
//!
//! No ownership is remembered between two passes: who owns a field is read from `managedFields` every time, so a crash anywhere loses
//! nothing. What is known to change nothing is remembered, and may be lost.
//!
//! [`process`] has all that is around the loop: command line, start and end, election, self-check. No other room imports it.
//! [`metrics`] counts what happens.

pub mod causes;
pub mod clock;
mod cut;
pub mod decide;
mod hash;
mod lock;
pub mod metrics;
pub mod observe;
pub mod process;
pub mod reconcile;
pub mod report;

/// Baton's field manager, for children and for status, always.
pub const FIELD_MANAGER: &str = "baton";

/// The temporary field manager that carries `spec.replicas` from Baton to an autoscaler. The Kubernetes documentation
/// of server-side apply uses the same name.
pub const HANDOVER_MANAGER: &str = "handover-to-hpa";

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    /// Each room with those that it may import. `process` may import all.
    const ROOMS: [(&str, &[&str]); 5] = [
        ("decide", &[]),
        ("observe", &["decide"]),
        ("report", &["decide"]),
        ("metrics", &["decide"]),
        ("reconcile", &["decide", "metrics", "observe", "report"]),
    ];

    /// The sources of a room, one after the other and without spaces: of its folder, and of a file beside it with its name.
    fn sources(room: &Path) -> String {
        let file: String = fs::read_to_string(room.with_extension("rs")).unwrap_or_default();
        let entries = fs::read_dir(room).into_iter().flatten().map(|entry| entry.unwrap().path());
        let inside = entries.map(|path| if path.is_dir() { sources(&path) } else { text(&path) });
        file.split_whitespace().map(str::to_owned).chain(inside).collect()
    }

    fn text(path: &Path) -> String {
        fs::read_to_string(path).unwrap().split_whitespace().collect()
    }

    /// Whether something of the room is named, by itself or in a group of imports.
    fn names(source: &str, room: &str) -> bool {
        let groups = source.split("usecrate::{").skip(1).filter_map(|rest| rest.split(';').next());
        let mut grouped = groups.flat_map(|group| group.split([',', '{', '}']));
        source.contains(&format!("crate::{room}"))
            || grouped.any(|name| name.split("::").next() == Some(room))
    }

    #[test]
    fn each_room_knows_those_below_it_alone() {
        for (room, may_know) in ROOMS {
            let source = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(room));
            for other in ["decide", "metrics", "observe", "process", "reconcile", "report"] {
                let is_allowed = other == room || may_know.contains(&other);
                assert!(is_allowed || !names(&source, other), "{room} may not know {other}");
                assert!(
                    !may_know.contains(&other) || names(&source, other),
                    "{room} doesn't know {other} any more"
                );
            }
        }
    }
}
