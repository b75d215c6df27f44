//! Recorded requests, each with the responses of the Go libraries: written by hand, or found by a run and made small.
//!
//! A corpus is a folder of files with one case a line: `{"name":…,"request":{…},"response":{…},"otherwise":{"1.33":{…}}}`.
//! `response` is that of the libraries of [`RECORDED`], `otherwise` has those of the releases that respond in another way.
//! A request that isn't a JSON object is the text `line` instead of `request`, for [`RECORDED`] only.

use std::{
    collections::BTreeMap,
    fs, io,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::compare::{Verdict, compare};

/// The release whose responses are recorded for every case.
pub const RECORDED: &str = "1.36.3";
/// The releases whose responses are known of every request.
pub const RELEASES: [&str; 6] = ["1.33", "1.34", "1.35", "1.36.2", RECORDED, "1.37"];

/// A recorded case.
pub struct Case {
    file: PathBuf,
    line: usize,
    recorded: Recorded,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Recorded {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    otherwise: BTreeMap<String, Box<RawValue>>,
}

/// The cases of every file `*.jsonl` of a folder, in the order of their names.
pub fn read(folder: &Path) -> io::Result<Vec<Case>> {
    let mut files = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        for (i, line) in fs::read_to_string(&file)?.lines().enumerate() {
            let wrong = |error| io::Error::other(format!("line {} of {}: {error}", i + 1, file.display()));
            let recorded = serde_json::from_str(line).map_err(wrong)?;
            cases.push(Case { file: file.clone(), line: i + 1, recorded });
        }
    }
    Ok(cases)
}

/// Writes the cases into their files, in place of what is there.
pub fn write(cases: &[Case]) -> io::Result<()> {
    for of_file in cases.chunk_by(|one, next| one.file == next.file) {
        let mut text = String::new();
        for case in of_file {
            text.push_str(&case.to_line()?);
        }
        fs::write(&of_file[0].file, text)?;
    }
    Ok(())
}

impl Case {
    /// A new case for a file, without responses.
    pub fn new(file: PathBuf, name: &str, request: &str) -> io::Result<Self> {
        let request = Some(serde_json::from_str(request)?);
        let name = name.to_owned();
        let recorded = Recorded { name, request, line: None, response: None, otherwise: BTreeMap::new() };
        Ok(Self { file, line: 0, recorded })
    }

    /// The place and the name of the case.
    pub fn name(&self) -> String {
        format!("{}:{}: {}", self.file.display(), self.line, self.recorded.name)
    }

    /// The request to a release; none if it isn't asked.
    pub fn request(&self, release: &str) -> Option<String> {
        let Recorded { request, line, .. } = &self.recorded;
        match request.as_deref().map(RawValue::get).and_then(|request| request.strip_suffix('}')) {
            Some(request) => Some(format!("{request},\"profile\":\"{release}\"}}")),
            None => line.clone().filter(|_| release == RECORDED),
        }
    }

    /// The recorded response of a release's libraries.
    pub fn response(&self, release: &str) -> Option<&str> {
        let Recorded { response, otherwise, .. } = &self.recorded;
        otherwise.get(release).or(response.as_ref()).map(|response| response.get())
    }

    /// Records the response of a release's libraries, unless the recorded one is equal. [`RECORDED`] goes first, since the
    /// others are compared with it.
    pub fn record(&mut self, release: &str, response: &str) -> io::Result<()> {
        let Recorded { response: usual, otherwise, .. } = &mut self.recorded;
        let is = |recorded: Option<&Box<RawValue>>| {
            recorded.is_some_and(|recorded| {
                matches!(compare(recorded.get(), response), Verdict::Matched | Verdict::ErrorsAgreed)
            })
        };
        if release == RECORDED {
            if !is(usual.as_ref()) {
                *usual = Some(without_message(response)?);
            }
        } else if is(usual.as_ref()) {
            otherwise.remove(release);
        } else if !is(otherwise.get(release)) {
            otherwise.insert(release.to_owned(), without_message(response)?);
        }
        Ok(())
    }

    /// Its line in the file.
    pub fn to_line(&self) -> io::Result<String> {
        Ok(serde_json::to_string(&self.recorded)? + "\n")
    }
}

/// Messages of errors are for people, and may have the paths of a machine.
fn without_message(response: &str) -> io::Result<Box<RawValue>> {
    #[derive(Serialize, Deserialize)]
    struct Failed {
        error: Error,
    }

    #[derive(Serialize, Deserialize)]
    struct Error {
        reason: String,
    }

    Ok(match serde_json::from_str::<Failed>(response) {
        Ok(failed) => serde_json::value::to_raw_value(&failed)?,
        Err(_) => serde_json::from_str(response)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_asked_of_every_release_and_a_line_of_the_recorded_one() {
        let folder = tempfile::tempdir().unwrap();
        let lines = r#"{"name":"one","request":{"b":1,"a":1.0},"response":{"ok":true}}
{"name":"two","line":"nonsense"}
"#;
        let file = folder.path().join("a.jsonl");
        fs::write(&file, lines).unwrap();
        let cases = read(folder.path()).unwrap();
        let requests = |release| cases.iter().map(|case| case.request(release)).collect::<Vec<_>>();
        let one = |release| Some(format!(r#"{{"b":1,"a":1.0,"profile":"{release}"}}"#));
        assert_eq!(requests(RECORDED), [one(RECORDED), Some("nonsense".to_owned())]);
        assert_eq!(requests("1.33"), [one("1.33"), None]);
        assert_eq!(cases[0].response("1.33"), Some(r#"{"ok":true}"#));
        assert_eq!(cases[1].response(RECORDED), None);
        assert!(cases[1].name().ends_with("a.jsonl:2: two"), "{}", cases[1].name());
        write(&cases).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), lines);
    }

    #[test]
    fn only_releases_that_respond_in_another_way_have_responses_of_their_own() {
        let mut case = Case::new(PathBuf::new(), "n", "{}").unwrap();
        let mut record = |release, response: &str| {
            case.record(release, response).unwrap();
            case.to_line().unwrap().trim().replace(r#"{"name":"n","request":{},"#, "{")
        };
        let (value, error) =
            (r#"{"value":{"a":1,"b":2}}"#, r#"{"error":{"reason":"Invalid","message":"at /a"}}"#);
        assert_eq!(record(RECORDED, value), r#"{"response":{"value":{"a":1,"b":2}}}"#);
        assert_eq!(record("1.37", r#"{"value":{"b":2,"a":1}}"#), r#"{"response":{"value":{"a":1,"b":2}}}"#);
        assert_eq!(
            record("1.33", error),
            r#"{"response":{"value":{"a":1,"b":2}},"otherwise":{"1.33":{"error":{"reason":"Invalid"}}}}"#
        );
        record(RECORDED, error);
        assert_eq!(record("1.33", error), r#"{"response":{"error":{"reason":"Invalid"}}}"#);
        assert_eq!(record("1.37", error), r#"{"response":{"error":{"reason":"Invalid"}}}"#);
    }
}
