//! Replays the seeds of every fuzz target, without a fuzzer: fixed findings stay fixed.
#![allow(missing_docs, clippy::unwrap_used)]

use std::{fs, path::Path};

#[path = "../lab/fuzz/src/targets/mod.rs"]
pub mod targets;

#[test]
fn every_seed_of_every_target_is_survived() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("lab/fuzz/seeds");
    for (name, target) in targets::ALL {
        let mut files: Vec<_> =
            fs::read_dir(seeds.join(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        assert!(!files.is_empty(), "{name} has no seeds");
        for file in files {
            // A failure doesn't name its file otherwise; the output of passed tests isn't shown.
            println!("{}", file.display());
            target(&fs::read(&file).unwrap());
        }
    }
}
