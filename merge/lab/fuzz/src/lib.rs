//! Fuzz targets for the merge core.
//!
//! What a target does is a plain function over bytes in [`targets`], so that libFuzzer (`fuzz_targets/`), the
//! `replay` example and the workspace's own tests (`merge/tests/fuzz_seeds.rs`) run the same.

pub mod targets;
