//! Cases that are kept: written by hand, or found by a run and made small. They are replayed wherever the tests run.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use baton_testbed::{Json, workspace};
use sha2::{Digest as _, Sha256};

use super::{
    Error, Peer,
    compare::{Verdict, compare},
    shrink::Small,
};

/// A case with its name.
#[derive(Clone, Debug)]
pub struct Case {
    /// What it shows, or where it is from.
    pub name: String,
    /// The request, as one line. It may be anything but JSON, to see how that is answered.
    pub line: String,
}

/// The folder of the corpus.
pub fn folder() -> PathBuf {
    workspace().join("e2e/corpus")
}

/// Every case below `folder`: lines of `*.jsonl`, and one case in each `found/*.json`, in the order of names. A line is
/// `{"name":…,"request":{…}}`, or has the text `line` in place of `request`.
pub fn read(folder: &Path) -> Result<Vec<Case>, Error> {
    let mut cases = Vec::new();
    for path in files(folder, "jsonl")? {
        let text = fs::read_to_string(&path).map_err(Error::file("read", &path))?;
        for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            cases.push(case(&path, i + 1, line)?);
        }
    }
    let found = folder.join("found");
    if found.is_dir() {
        for path in files(&found, "json")? {
            let text = fs::read_to_string(&path).map_err(Error::file("read", &path))?;
            cases.push(case(&path, 1, &text)?);
        }
    }
    Ok(cases)
}

fn case(path: &Path, line: usize, text: &str) -> Result<Case, Error> {
    let json: Json = text.parse().map_err(|source| Error::Parse { path: path.to_owned(), line, source })?;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let name = json.get("name").and_then(Json::as_str).unwrap_or("without a name");
    let request = match (json.get("request"), json.get("line")) {
        (Some(request), _) => request.to_string(),
        (None, Some(Json::String(line))) => line.clone(),
        _ => String::new(),
    };
    Ok(Case { name: format!("{file}:{line}: {name}"), line: request })
}

fn files(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::file("read", folder))? {
        let path = entry.map_err(Error::file("read", folder))?.path();
        if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// A case that two sides answer differently.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The case.
    pub case: Case,
    /// In what they differ.
    pub at: String,
    /// The left answer.
    pub left: String,
    /// The right answer.
    pub right: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { case, at, left, right } = self;
        write!(f, "{}: {at}\n  request {}\n  left    {left}\n  right   {right}", case.name, case.line)
    }
}

/// Asks both sides every case, and tells where they differ.
pub fn replay(cases: &[Case], left: &mut dyn Peer, right: &mut dyn Peer) -> Result<Vec<Difference>, Error> {
    let lines: Vec<String> = cases.iter().map(|case| case.line.clone()).collect();
    let answers = left.ask(&lines)?.into_iter().zip(right.ask(&lines)?);
    let differences =
        cases.iter().zip(answers).filter_map(|(case, (left, right))| match compare(&left, &right) {
            Verdict::Differs { at, .. } => Some(Difference { case: case.clone(), at, left, right }),
            _ => None,
        });
    Ok(differences.collect())
}

/// Keeps a case that was found, under a name that follows from its request, and tells the file.
pub fn save(folder: &Path, name: &str, small: &Small) -> Result<PathBuf, Error> {
    let folder = folder.join("found");
    fs::create_dir_all(&folder).map_err(Error::file("create", &folder))?;
    let request = small.request.to_string();
    let digest = Sha256::digest(request.as_bytes());
    let hash = digest.iter().take(8).fold(0, |hash, byte| (hash << 8) | u64::from(*byte));
    let path = folder.join(format!("{hash:016x}.json"));
    let case = Json::object().with("name", name).with("request", small.request.clone());
    fs::write(&path, format!("{case}\n")).map_err(Error::file("write", &path))?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(
            folder.path().join("a.jsonl"),
            "{\"name\":\"one\",\"request\":{\"do\":\"merge\"}}\n\n{\"name\":\"two\",\"line\":\"nonsense\"}\n",
        )
        .unwrap();
        let request: Json = r#"{"do":"compare","b":1,"a":1.0}"#.parse().unwrap();
        let small = Small { request, left: String::new(), right: String::new(), at: String::new() };
        save(folder.path(), "three", &small).unwrap();
        let cases = read(folder.path()).unwrap();
        let lines: Vec<_> = cases.iter().map(|case| case.line.as_str()).collect();
        assert_eq!(lines, [r#"{"do":"merge"}"#, "nonsense", r#"{"do":"compare","b":1,"a":1.0}"#]);
        assert!(cases[1].name.contains("a.jsonl:3: two"), "{}", cases[1].name);
    }
}
