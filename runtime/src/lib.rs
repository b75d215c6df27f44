#![doc = include_str!("../README.md")]

pub mod access;
pub mod admin;
pub mod clock;
pub mod cluster;
pub mod election;
mod lists;
mod lock;
pub mod logs;
pub mod metrics;
pub mod pace;
mod port;
pub mod readiness;
pub mod secure_metrics;
pub mod signals;
#[cfg(feature = "otel")]
pub mod telemetry;
pub mod text;
mod timeout;

pub use lock::lock;

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    /// The rooms, from the bottom up: each may import those before it.
    const ROOMS: [&str; 17] = [
        "text",
        "lock",
        "clock",
        "timeout",
        "port",
        "lists",
        "readiness",
        "signals",
        "logs",
        "telemetry",
        "pace",
        "access",
        "metrics",
        "admin",
        "election",
        "cluster",
        "secure_metrics",
    ];

    /// The room's source without spaces: of its file, or of all files in its folder.
    fn source(room: &Path) -> String {
        let files = fs::read_dir(room).into_iter().flatten().map(|entry| entry.unwrap().path());
        let files = files.chain([room.with_extension("rs")]);
        let texts: String = files.filter_map(|file| fs::read_to_string(file).ok()).collect();
        texts.split_whitespace().collect()
    }

    #[test]
    fn no_room_imports_one_above_it() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let lib = fs::read_to_string(folder.join("lib.rs")).unwrap();
        let modules = lib.lines().filter_map(|line| line.trim_start_matches("pub ").strip_prefix("mod "));
        let mut modules: Vec<_> = modules.filter_map(|name| name.strip_suffix(';')).collect();
        modules.sort_by_key(|name| ROOMS.iter().position(|room| room == name));
        assert_eq!(modules, ROOMS);
        for (at, room) in ROOMS.iter().enumerate() {
            let source = source(&folder.join(room));
            let groups = source.split("crate::{").skip(1).filter_map(|rest| rest.split(';').next());
            let grouped: Vec<_> = groups.flat_map(|group| group.split([',', '{', '}', ':'])).collect();
            for above in &ROOMS[at + 1..] {
                let imports = source.contains(&format!("crate::{above}")) || grouped.contains(above);
                assert!(!imports, "{room} may not import {above}");
            }
        }
    }
}
