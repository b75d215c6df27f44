//! Cases about what servers of different releases do differently, each with the answer of every release's libraries. So the
//! merge core can be held against all releases without building an oracle of each. It doesn't know what differs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use baton_testbed::Json;

use super::{
    Error, Peer,
    compare::{Verdict, compare},
    corpus::{Case, Difference},
};
use crate::oracle::Release;

/// The release whose rules are asked for unless another is wanted.
const PROFILE: &str = Release::V1_36_3.name();

/// The file with the cases, below the folder of the corpus.
fn file(corpus: &Path) -> PathBuf {
    corpus.join("releases/cases.jsonl")
}

/// A case and what the libraries of the releases answer.
#[derive(Clone, Debug)]
pub struct Answered {
    /// What differs.
    pub name: String,
    /// The request, without a release.
    pub request: Json,
    /// The answers by the names of the releases.
    pub answers: Json,
}

impl Answered {
    /// The case as it is asked of a release.
    pub fn of(&self, release: Release) -> Case {
        let request = self.request.clone().with("profile", release.name());
        Case { name: format!("{}: {}", release.name(), self.name), line: request.to_string() }
    }
}

/// Every case, in the order of the file: one a line, `{"name":…,"request":{…},"answers":{"1.33":{…},…}}`.
pub fn read(corpus: &Path) -> Result<Vec<Answered>, Error> {
    let path = file(corpus);
    let text = fs::read_to_string(&path).map_err(Error::file("read", &path))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let cases = lines.map(|(i, line)| {
        let parsed = line.parse::<Json>();
        let mut json = parsed.map_err(|source| Error::Parse { path: path.clone(), line: i + 1, source })?;
        let name = json.get("name").and_then(Json::as_str).unwrap_or("without a name").to_owned();
        let mut take = |member| json.take(member).unwrap_or_else(Json::object);
        Ok(Answered { name, request: take("request"), answers: take("answers") })
    });
    cases.collect()
}

/// Writes the cases, in place of those in the file.
pub fn write(corpus: &Path, cases: &[Answered]) -> Result<PathBuf, Error> {
    let path = file(corpus);
    let mut text = String::new();
    for Answered { name, request, answers } in cases {
        let case = Json::object().with("name", name.as_str());
        let case = case.with("request", request.clone()).with("answers", answers.clone());
        text.push_str(&case.to_string());
        text.push('\n');
    }
    fs::write(&path, text).map_err(Error::file("write", &path))?;
    Ok(path)
}

/// Asks a release's libraries every case, and keeps the answers.
pub fn record(cases: &mut [Answered], release: Release, oracle: &mut dyn Peer) -> Result<(), Error> {
    let lines: Vec<String> = cases.iter().map(|case| case.of(release).line).collect();
    for (case, answer) in cases.iter_mut().zip(oracle.ask(&lines)?) {
        let mut answer: Json = answer.parse().unwrap_or_else(|_| Json::string(answer));
        // Messages are for people, and may have the paths of a machine.
        if let Some(error) = answer.get_mut("error") {
            error.take("message");
        }
        case.answers.set(release.name(), answer);
    }
    Ok(())
}

/// Where a peer's answers differ from those that are kept, for one release.
pub fn replay(cases: &[Answered], release: Release, peer: &mut dyn Peer) -> Result<Vec<Difference>, Error> {
    let lines: Vec<String> = cases.iter().map(|case| case.of(release).line).collect();
    let differences = cases.iter().zip(peer.ask(&lines)?).filter_map(|(case, left)| {
        let kept = case.answers.get(release.name()).map_or_else(String::new, Json::to_string);
        match compare(&left, &kept) {
            Verdict::Differs { at, .. } => Some(Difference { case: case.of(release), at, left, right: kept }),
            _ => None,
        }
    });
    Ok(differences.collect())
}

/// The cases of the corpus as they are asked of a release. They are all about the usual one, but for those that ask how
/// other words are answered. To others, lines that name it and are no JSON aren't put.
pub fn of_corpus(cases: Vec<Case>, release: Release) -> Vec<Case> {
    if release.name() == PROFILE {
        return cases;
    }
    let of_release = |case: Case| {
        let Ok(mut request) = case.line.parse::<Json>() else {
            return (!case.line.contains("profile")).then_some(case);
        };
        let profile = request.get("profile").map_or(Some(PROFILE), Json::as_str);
        if request.members().is_empty() || !profile.is_some_and(|profile| PROFILE.starts_with(profile)) {
            return Some(case);
        }
        request.set("profile", release.name());
        Some(Case { line: request.to_string(), ..case })
    };
    cases.into_iter().filter_map(of_release).collect()
}
