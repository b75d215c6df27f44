//! The recorded corpus: replayed on both sides, recorded again, and extended.

use std::{
    fs::OpenOptions,
    io::Write as _,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use baton_merge_driver::corpus::{self, Case, RECORDED, RELEASES};
use baton_testbed::workspace;

use super::{
    compare::{Verdict, compare},
    shrink::Difference,
};
use crate::peer::Peer;

/// The folder of the corpus.
pub fn folder() -> PathBuf {
    workspace().join("merge/tests/corpus")
}

/// All of the corpus.
pub fn read() -> Result<Vec<Case>> {
    corpus::read(&folder()).context("can't read the corpus")
}

/// The cases for a release, with their requests.
fn asked<'a>(cases: impl IntoIterator<Item = &'a Case>, release: &str) -> (Vec<&'a Case>, Vec<String>) {
    cases.into_iter().filter_map(|case| Some((case, case.request(release)?))).unzip()
}

/// Asks both sides every case of a release. Returns the count, with a description of cases that differ, and of those whose
/// recorded response is outdated.
pub fn replay(
    cases: &[Case],
    release: &str,
    left: &mut Peer,
    right: &mut Peer,
) -> Result<(usize, Vec<String>)> {
    let (cases, requests) = asked(cases, release);
    let responses = left(&requests)?.into_iter().zip(right(&requests)?);
    let mut differences = Vec::new();
    for ((case, request), (left, right)) in cases.iter().zip(&requests).zip(responses) {
        let recorded = case.response(release).unwrap_or("nothing: cargo merge-diff --record");
        for (whose, other) in [("left    ", left.as_str()), ("recorded", recorded)] {
            if let Verdict::Differs { at, .. } = compare(other, &right) {
                differences.push(format!(
                    "{}, {release}: {at}\n  request  {request}\n  {whose} {other}\n  right    {right}",
                    case.name()
                ));
                break;
            }
        }
    }
    Ok((cases.len(), differences))
}

/// Records the responses of every release's libraries, and returns the folder.
pub fn record(oracle: impl Fn(&str) -> Result<Peer>) -> Result<PathBuf> {
    let mut cases = read()?;
    for release in [RECORDED].into_iter().chain(RELEASES.into_iter().filter(|other| *other != RECORDED)) {
        let (_, requests) = asked(&cases, release);
        let responses = oracle(release)?(&requests)?;
        let asked = cases.iter_mut().filter(|case| case.request(release).is_some());
        for (case, response) in asked.zip(responses) {
            case.record(release, &response)
                .with_context(|| format!("{}: the response is {response}", case.name()))?;
        }
    }
    corpus::write(&cases).context("can't write the corpus")?;
    Ok(folder())
}

/// Adds a case, and returns the file. Its responses are still to be recorded.
pub fn save(folder: &Path, name: &str, small: &Difference) -> Result<PathBuf> {
    let path = folder.join("found.jsonl");
    let mut request = small.request.clone();
    request.take("profile");
    let line = Case::new(path.clone(), name, &request.to_string()).and_then(|case| case.to_line());
    let file = OpenOptions::new().create(true).append(true).open(&path);
    let written = line.and_then(|line| file?.write_all(line.as_bytes()));
    written.with_context(|| format!("can't write {}", path.display()))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let request = r#"{"do":"compare","b":1,"a":1.0,"profile":"1.34"}"#.parse().unwrap();
        let small = Difference { request, left: String::new(), right: String::new(), at: String::new() };
        save(folder.path(), "one", &small).unwrap();
        save(folder.path(), "two", &small).unwrap();
        let cases = corpus::read(folder.path()).unwrap();
        let expected = r#"{"do":"compare","b":1,"a":1.0,"profile":"1.37"}"#;
        assert!(cases.iter().all(|case| case.request("1.37").as_deref() == Some(expected)));
        assert_eq!(cases.len(), 2);
    }
}
