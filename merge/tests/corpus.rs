//! Replays the recorded corpus: the merge core responds to each request as the Go libraries of a kube-apiserver.
#![allow(missing_docs, clippy::unwrap_used)]

use std::{
    env,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
};

use baton_merge_driver::{
    Session,
    compare::{Verdict, compare},
    corpus::{self, RELEASES},
};

#[test]
fn the_core_responds_to_every_case_as_the_libraries_of_every_release_did() {
    // Paths in requests are relative to the repository.
    env::set_current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()).unwrap();
    let cases = corpus::read(Path::new("merge/tests/corpus")).unwrap();
    let mut session = Session::checked();
    let (mut asked, mut failures) = (0, Vec::new());
    for release in RELEASES {
        for case in &cases {
            let Some(request) = case.request(release) else { continue };
            asked += 1;
            let expected = case.response(release).unwrap_or("nothing yet: cargo merge-diff --record");
            let actual = catch_unwind(AssertUnwindSafe(|| session.respond(&request))).unwrap_or_else(|_| {
                session = Session::checked();
                "the core panicked".to_owned()
            });
            if let Verdict::Differs { at, .. } = compare(&actual, expected) {
                let name = case.name();
                failures.push(format!(
                    "{name}, {release}: {at}\n  request  {request}\n  expected {expected}\n  actual   {actual}"
                ));
            }
        }
    }
    assert!(asked > 8000, "only {asked} requests were found");
    assert!(failures.is_empty(), "{} of {asked} differ:\n{}", failures.len(), failures.join("\n"));
}
