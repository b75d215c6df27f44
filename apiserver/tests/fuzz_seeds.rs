//! Replays the seeds of the fuzz target `http_request`, without a fuzzer: what was found once stays fixed.
//!
//! The target is in the merge core's laboratory, beside the others.
#![allow(missing_docs, clippy::unwrap_used)]

use std::{fs, path::Path};

#[path = "../../merge/lab/fuzz/src/http_request/mod.rs"]
pub mod http_request;

#[test]
fn every_seed_is_survived() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../merge/lab/fuzz/seeds/http_request");
    let mut files: Vec<_> = fs::read_dir(seeds).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "there are no seeds");
    for file in files {
        // A failure doesn't say its file otherwise; the output of tests that pass isn't shown.
        println!("{}", file.display());
        http_request::http_request(&fs::read(&file).unwrap());
    }
}
