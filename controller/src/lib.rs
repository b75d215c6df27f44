//! The Baton operator: turns a `Workload` into its children by server-side apply, and owns exactly what it set.
//!
//! The loop is *observe → decide → act → report*:
//!
//! - `observe` gathers what is there, in caches that watches feed;
//! - [`decide`] is the thinking, as pure functions and machines without I/O: from a [snapshot](decide::snapshot) to the next
//!   [steps](decide::plan), with [who owns `spec.replicas`](decide::replicas) and [the intent of a child](decide::intent), and the
//!   [course](decide::course) of a pass;
//! - [`act`] runs a course against the API server, or rehearses it, and remembers the [pace](act::pace);
//! - [`report`] puts what came of it into the Workload's status and into Events.
//!
//! Each write is predicted, guarded and compared by [`baton_apply`].
//!
//! Nothing is remembered between two passes that a decision depends on: who owns a field is read from `managedFields` every
//! time, so a crash anywhere loses nothing.
//!
//! [`process`] is what stands around the loop: command line, start and end, election, self-check. Nothing here knows it.
//! [`metrics`] counts what happens.

pub mod act;
pub mod causes;
pub mod clock;
mod cut;
pub mod decide;
mod hash;
mod lock;
pub mod metrics;
pub mod observe;
pub mod process;
pub mod report;

/// Baton's field manager, for children and for status, always.
pub const FIELD_MANAGER: &str = "baton";

/// The temporary field manager that carries `spec.replicas` from Baton to an autoscaler. The Kubernetes documentation
/// of server-side apply uses the same name.
pub const HANDOVER_MANAGER: &str = "handover-to-hpa";

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    /// Each room with those that it may know. `process` stands around the loop and may know all.
    const ROOMS: [(&str, &[&str]); 5] = [
        ("decide", &[]),
        ("observe", &["decide"]),
        ("report", &["decide"]),
        ("metrics", &["decide"]),
        ("act", &["decide", "metrics", "observe", "report"]),
    ];

    /// The room's sources, one after the other and without spaces.
    fn sources(folder: &Path) -> String {
        let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let text = |path| fs::read_to_string(path).unwrap().split_whitespace().collect();
        entries.map(|path| if path.is_dir() { sources(&path) } else { text(path) }).collect()
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
            for other in ["act", "decide", "metrics", "observe", "process", "report"] {
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
