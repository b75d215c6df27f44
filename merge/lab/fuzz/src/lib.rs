//! Fuzz targets for the merge core, and for the API server that stands on it.
//!
//! A target is a plain function over bytes, so that libFuzzer (`fuzz_targets/`), the `replay` example and the workspace's
//! own tests (`merge/tests/fuzz_seeds.rs`, `apiserver/tests/fuzz_seeds.rs`) run the same. The server's target is apart from
//! [`targets`], since the merge core's tests don't depend on the server.

pub mod http_request;
pub mod targets;

use targets::Target;

/// All targets by name.
pub fn all() -> impl Iterator<Item = (&'static str, Target)> {
    targets::ALL.iter().copied().chain([("http_request", http_request::http_request as Target)])
}
