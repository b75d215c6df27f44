//! The API server's audit log, read as a list of requests that can be filtered.
//!
//! `control_plane/audit-policy.yaml` has the rules: every request but health checks and node leases is recorded, writes with their
//! body.

mod entry;

use std::{
    fmt,
    fs::File,
    io::{Read as _, Seek as _, SeekFrom},
    ops::Deref,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

pub use self::entry::AuditEntry;
use crate::{Error, Json, lock, wait_for};

/// The audit log of a control plane.
///
/// A line is written when a request ends, which may be a moment after its client has seen the response: use
/// [`wait_for`](Self::wait_for) to wait for a request that was just sent.
#[derive(Clone, Debug)]
pub struct AuditLog(Source);

#[derive(Clone, Debug)]
enum Source {
    File(PathBuf),
    Memory(Arc<Mutex<Vec<u8>>>),
}

/// A position in the log, to find what came later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark(u64);

/// Requests in the order in which they ended, to be narrowed down: each method keeps those that fit.
///
/// ```
/// # fn example(log: &baton_testbed::AuditLog) -> Result<(), baton_testbed::Error> {
/// let applied = log.entries()?.by("system:serviceaccount:demo:baton").verb("patch").resource("deployments");
/// assert!(applied.iter().all(|request| request.query("fieldManager").as_deref() == Some("baton")), "{applied}");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct AuditEntries(Vec<AuditEntry>);

impl AuditEntries {
    /// Those of a user.
    #[must_use]
    pub fn by(self, username: &str) -> Self {
        self.that(|request| request.user == username)
    }

    /// Those with this verb.
    #[must_use]
    pub fn verb(self, verb: &str) -> Self {
        self.that(|request| request.verb == verb)
    }

    /// Those that could change something.
    #[must_use]
    pub fn writes(self) -> Self {
        self.that(AuditEntry::is_write)
    }

    /// Those about this resource, its subresources included.
    #[must_use]
    pub fn resource(self, plural: &str) -> Self {
        self.that(|request| request.resource.as_deref() == Some(plural))
    }

    /// Those about this subresource, or with `None` about the object itself.
    #[must_use]
    pub fn subresource(self, name: Option<&str>) -> Self {
        self.that(|request| request.subresource.as_deref() == name)
    }

    /// Those in this namespace.
    #[must_use]
    pub fn namespace(self, name: &str) -> Self {
        self.that(|request| request.namespace.as_deref() == Some(name))
    }

    /// Those about the object of this name.
    #[must_use]
    pub fn name(self, name: &str) -> Self {
        self.that(|request| request.name.as_deref() == Some(name))
    }

    /// Those whose response had this status code.
    #[must_use]
    pub fn code(self, code: u16) -> Self {
        self.that(|request| request.code == Some(code))
    }

    /// Those that have this parameter in their query, with this value.
    #[must_use]
    pub fn query(self, key: &str, value: &str) -> Self {
        self.that(|request| request.query(key).as_deref() == Some(value))
    }

    /// Those for which `keep` is true.
    #[must_use]
    pub fn that(mut self, keep: impl FnMut(&AuditEntry) -> bool) -> Self {
        self.0.retain(keep);
        self
    }
}

impl Deref for AuditEntries {
    type Target = [AuditEntry];

    fn deref(&self) -> &[AuditEntry] {
        &self.0
    }
}

impl IntoIterator for AuditEntries {
    type Item = AuditEntry;
    type IntoIter = std::vec::IntoIter<AuditEntry>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// A line each, for the messages of tests.
impl fmt::Display for AuditEntries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("(no requests)");
        }
        self.0.iter().try_for_each(|request| writeln!(f, "{request}"))
    }
}

impl AuditLog {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self(Source::File(path))
    }

    /// A log to which the test adds lines.
    pub(crate) fn in_memory(lines: Arc<Mutex<Vec<u8>>>) -> Self {
        Self(Source::Memory(lines))
    }

    /// All requests so far.
    pub fn entries(&self) -> Result<AuditEntries, Error> {
        self.since(Mark::default())
    }

    /// The end of the log now.
    pub fn mark(&self) -> Result<Mark, Error> {
        match &self.0 {
            Source::File(path) => {
                path.metadata().map(|file| Mark(file.len())).map_err(Error::file("read", path))
            }
            Source::Memory(lines) => Ok(Mark(lock(lines).len() as u64)),
        }
    }

    /// The requests that ended after `mark` was made.
    pub fn since(&self, mark: Mark) -> Result<AuditEntries, Error> {
        parse(&self.bytes_since(mark)?).map_err(self.unreadable())
    }

    /// As [`since`](Self::since), of one user. The requests of others, which are most of a shared log, aren't parsed.
    pub fn by_since(&self, user: &str, mark: Mark) -> Result<AuditEntries, Error> {
        let bytes = self.bytes_since(mark)?;
        let lines = whole_lines(&bytes).filter_map(|line| str::from_utf8(line).ok());
        let lines: String = lines.filter(|line| line.contains(user)).flat_map(|line| [line, "\n"]).collect();
        parse(lines.as_bytes()).map(|entries| entries.by(user)).map_err(self.unreadable())
    }

    /// The lines that were written after `mark` was made, to the letter, where the order of members in field sets counts.
    pub fn lines_since(&self, mark: Mark) -> Result<Vec<Json>, Error> {
        whole_lines(&self.bytes_since(mark)?)
            .map(serde_json::from_slice)
            .collect::<Result<_, _>>()
            .map_err(self.unreadable())
    }

    fn bytes_since(&self, mark: Mark) -> Result<Vec<u8>, Error> {
        let path = match &self.0 {
            Source::File(path) => path,
            Source::Memory(lines) => {
                let begin = usize::try_from(mark.0).unwrap_or(usize::MAX);
                return Ok(lock(lines).get(begin..).unwrap_or_default().to_vec());
            }
        };
        let failed = || Error::file("read", path);
        let mut file = File::open(path).map_err(failed())?;
        file.seek(SeekFrom::Start(mark.0)).map_err(failed())?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(failed())?;
        Ok(bytes)
    }

    fn unreadable(&self) -> impl FnOnce(serde_json::Error) -> Error {
        Error::parse(self.to_string())
    }

    /// Waits until `select` leaves at least one request, and returns what it leaves.
    pub async fn wait_for(
        &self,
        limit: Duration,
        select: impl Fn(AuditEntries) -> AuditEntries,
    ) -> Result<AuditEntries, Error> {
        wait_for("a request of the kind that was waited for", limit, async || {
            let found = select(self.entries()?);
            Ok(if found.is_empty() { Err(format!("{self} has none")) } else { Ok(found) })
        })
        .await
    }
}

impl fmt::Display for AuditLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Source::File(path) => write!(f, "the audit log {}", path.display()),
            Source::Memory(_) => f.write_str("the audit log in memory"),
        }
    }
}

/// The last line may be half written, and a mark may be in the middle of one: only whole lines count.
fn whole_lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    bytes[..whole].split(|byte| *byte == b'\n').filter(|line| {
        [&b"{\"kind\""[..], b"{\"apiVersion\":\"audit"].iter().any(|start| line.starts_with(start))
    })
}

/// Of a watch, which has a line at its start and one at its end, the later one stays.
fn parse(bytes: &[u8]) -> Result<AuditEntries, serde_json::Error> {
    let requests: Vec<AuditEntry> =
        whole_lines(bytes).map(serde_json::from_slice).collect::<Result<_, _>>()?;
    let mut seen = std::collections::HashSet::new();
    let mut latest: Vec<AuditEntry> =
        requests.into_iter().rev().filter(|request| seen.insert(request.id.clone())).collect();
    latest.reverse();
    Ok(AuditEntries(latest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(id: &str, stage: &str, verb: &str, uri: &str, rest: &str) -> String {
        format!(
            r#"{{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Request","auditID":"{id}","stage":"{stage}","requestURI":"{uri}","verb":"{verb}","user":{{"username":"system:serviceaccount:ns:baton"}},"requestReceivedTimestamp":"2025-01-02T03:04:05.678901Z"{rest}}}"#
        )
    }

    fn log() -> String {
        let about = r#","objectRef":{"resource":"deployments","namespace":"ns","name":"web","apiGroup":"apps","apiVersion":"v1"},"responseStatus":{"metadata":{},"code":200},"requestObject":{"spec":{"replicas":3}}"#;
        let scale = r#","objectRef":{"resource":"deployments","namespace":"ns","name":"web","apiGroup":"apps","apiVersion":"v1","subresource":"scale"},"responseStatus":{"metadata":{},"status":"Failure","message":"no","reason":"Conflict","code":409}"#;
        [
            line("1", "ResponseStarted", "watch", "/apis/apps/v1/deployments?watch=true", ""),
            line("2", "ResponseComplete", "patch", "/x?fieldManager=a%2Fb+c&force=true", about),
            line("3", "ResponseComplete", "update", "/x/scale", scale),
            line("1", "ResponseComplete", "watch", "/apis/apps/v1/deployments?watch=true", ""),
            line("4", "ResponseComplete", "get", "/version", ""),
        ]
        .join("\n")
            + "\n"
    }

    #[test]
    fn a_request_is_read_with_its_query_object_and_response() {
        let requests = parse(log().as_bytes()).unwrap().resource("deployments").subresource(None);
        assert_eq!(requests.len(), 1, "{requests}");
        let request = &requests[0];
        assert_eq!(request.query("fieldManager").as_deref(), Some("a/b c"));
        assert!(request.is_forced() && request.is_write() && !request.is_dry_run());
        assert_eq!(request.code, Some(200));
        assert_eq!(request.request_object.as_ref().unwrap()["spec"]["replicas"], 3);
    }

    #[test]
    fn requests_are_narrowed_down() {
        let all = || parse(log().as_bytes()).unwrap();
        assert_eq!(all().len(), 4);
        assert_eq!(all().by("system:serviceaccount:ns:baton").len(), 4);
        assert_eq!(all().by("somebody").len(), 0);
        assert_eq!(all().writes().len(), 2);
        assert_eq!(
            all().namespace("ns").name("web").code(409).subresource(Some("scale")).verb("update").len(),
            1
        );
        assert_eq!(all().query("force", "true").len(), 1);
    }

    #[test]
    fn a_dry_run_is_marked_in_the_query_or_in_the_body_of_a_deletion() {
        let log = [
            line("1", "ResponseComplete", "patch", "/x?dryRun=All", ""),
            line("2", "ResponseComplete", "delete", "/x", r#","requestObject":{"dryRun":["All"]}"#),
            line("3", "ResponseComplete", "delete", "/x", r#","requestObject":{"preconditions":{}}"#),
        ]
        .join("\n")
            + "\n";
        let trials: Vec<bool> = parse(log.as_bytes()).unwrap().iter().map(AuditEntry::is_dry_run).collect();
        assert_eq!(trials, [true, true, false]);
    }

    #[test]
    fn a_watch_counts_once_with_its_last_stage() {
        let watches = parse(log().as_bytes()).unwrap().verb("watch");
        assert_eq!(
            watches.iter().map(|watch| watch.stage.as_str()).collect::<Vec<_>>(),
            ["ResponseComplete"]
        );
    }

    #[test]
    fn half_a_line_at_either_end_is_left_out() {
        let log = log();
        assert_eq!(parse(&log.as_bytes()[..log.len() - 5]).unwrap().len(), 3);
        assert_eq!(parse(&log.as_bytes()[5..]).unwrap().len(), 4);
        assert!(parse(b"").unwrap().is_empty());
    }
}
