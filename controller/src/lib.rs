//! The Baton operator: turns a `Workload` into its children by server-side apply, and owns exactly what it set.
//!
//! [`reconcile`] is the loop: each pass *observes, decides, acts and reports*.
//!
//! - `observe` has the caches of Workloads and children, fed by watches;
//! - [`decide`] plans the writes, as pure functions and state machines without I/O: from a [snapshot](decide::snapshot) to the next
//!   [steps](decide::plan), with [who owns `spec.replicas`](decide::replicas) and [the intent of a child](decide::intent), and the
//!   [course](decide::course) of a pass;
//! - [`reconcile`] acts: it runs a course against the API server, or rehearses it, and sets the pace;
//! - [`report`] makes the Workload's status and the Events of a pass.
//!
//! Each write is predicted, guarded and compared by [`baton_apply`].
//!
//! No ownership is remembered between two passes: who owns a field is read from `managedFields` every time, so a crash anywhere loses
//! nothing. What is known to change nothing is remembered, and may be lost.
//!
//! [`process`] has all that is around the loop: command line, start and end, self-check. No other room imports it. Its election, ports
//! and signals are [`baton_runtime`]'s.
//! [`metrics`] counts what happens.

pub mod decide;
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
    use std::{
        collections::BTreeSet,
        fs,
        path::{Path, PathBuf},
    };

    /// Each room with those that it imports. `process` may import all.
    const ROOMS: [(&str, &[&str]); 5] = [
        ("decide", &[]),
        ("observe", &["decide"]),
        ("report", &["decide"]),
        ("metrics", &["decide"]),
        ("reconcile", &["decide", "metrics", "observe", "report"]),
    ];

    /// The modules of a room from the bottom to the top: each imports only modules before it.
    const MODULES: [(&str, &[&str]); 3] = [
        (
            "decide",
            &[
                "child",
                "lacking",
                "autoscaler",
                "owners",
                "snapshot",
                "intent",
                "replicas",
                "adoption",
                "plan",
                "pass",
                "course",
                "rehearsal",
            ],
        ),
        ("report", &["limits", "unreadable", "planned", "conditions", "takeovers", "status", "events"]),
        (
            "reconcile",
            &["fingerprint", "records", "observer", "context", "status", "checks", "enforce", "preview"],
        ),
    ];

    fn folder(room: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(room)
    }

    /// The sources of a room or module, one after the other and without spaces: of its folder, and of a file beside it with its name.
    fn sources(of: &Path) -> String {
        let entries = fs::read_dir(of).into_iter().flatten().map(|entry| entry.unwrap().path());
        let inside = entries.map(|path| if path.is_dir() { sources(&path) } else { text(&path) });
        let file = Some(of.with_extension("rs")).filter(|file| file.exists());
        file.map(|file| text(&file)).into_iter().chain(inside).collect()
    }

    fn text(path: &Path) -> String {
        fs::read_to_string(path).unwrap().split_whitespace().collect()
    }

    /// Whether `name` is imported from `parent`, by itself or in a group.
    fn imports(source: &str, parent: &str, name: &str) -> bool {
        let group = format!("use{parent}::{{");
        let groups = source.split(&group).skip(1).filter_map(|rest| rest.split(';').next());
        let mut grouped = groups.flat_map(|group| group.split([',', '{', '}']));
        source.contains(&format!("{parent}::{name}"))
            || grouped.any(|import| import.split("::").next() == Some(name))
    }

    #[test]
    fn each_room_imports_those_below_it_alone() {
        for (room, below) in ROOMS {
            let source = sources(&folder(room));
            for other in ["decide", "metrics", "observe", "process", "reconcile", "report"] {
                let is_imported = imports(&source, "crate", other);
                let may_be = other == room || below.contains(&other);
                assert!(may_be || !is_imported, "{room} may not import {other}");
                assert!(is_imported || !below.contains(&other), "{room} doesn't import {other} any more");
            }
        }
    }

    #[test]
    fn the_modules_of_a_room_have_no_circle() {
        for (room, modules) in MODULES {
            let entries = fs::read_dir(folder(room)).unwrap().map(|entry| entry.unwrap().path());
            let names = entries.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned());
            let all: BTreeSet<String> = names.filter(|name| name != "mod").collect();
            assert_eq!(all, modules.iter().map(|name| (*name).to_owned()).collect(), "modules of {room}");
            for (at, module) in modules.iter().enumerate() {
                let source = sources(&folder(room).join(module));
                for above in &modules[at + 1..] {
                    let is_imported = imports(&source, "super", above)
                        || imports(&source, &format!("crate::{room}"), above);
                    assert!(!is_imported, "{room}::{module} may not import {above}");
                }
            }
        }
    }
}
