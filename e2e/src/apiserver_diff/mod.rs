//! Random requests to a real kube-apiserver and to the one inside this process. The whole responses are compared: code, warnings,
//! object or status, and what watches then deliver.
//!
//! A sequence of requests is about one object and has a namespace of its own on both servers. It ends at the first unexplained
//! difference, because all later responses would differ too.

#[cfg(test)]
mod absent;
pub mod cases;
mod normal;
mod pair;
mod played;
mod reads;
mod requests;
mod steps;
mod watch;

use std::{collections::BTreeMap, fmt, time::Duration};

use baton_testbed::{Random, writes::Kind};

use self::{normal::Names, pair::Response, requests::Requests, watch::Watches};
pub use self::{
    pair::Pair,
    played::{CHARGED_FOR_REFUSED, NOT_PLAYED},
    reads::reads,
};

/// The size of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// About how many requests to send.
    pub writes: usize,
    /// The seed of all choices.
    pub seed: u64,
    /// The only sequence to play, with each of its requests printed; all if absent.
    pub only: Option<u64>,
}

/// A request with different responses.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The sequence that it belongs to.
    pub sequence: String,
    /// The request.
    pub request: String,
    /// The difference of the responses: the real server's first.
    pub lines: String,
    /// The entry of [`NOT_PLAYED`] that explains it, if one does.
    pub excuse: Option<&'static str>,
}

/// The result of a comparison.
#[derive(Debug, Default)]
pub struct Findings {
    /// How many responses were compared.
    pub compared: usize,
    /// The differences, with the requests that led to them.
    pub differences: Vec<Difference>,
    /// How many requests there were of each sort, and how many of them were refused.
    pub sorts: BTreeMap<String, (usize, usize)>,
}

impl Findings {
    fn note(&mut self, sort: &str, code: u16) {
        self.compared += 1;
        let (sent, refused) = self.sorts.entry(sort.to_owned()).or_default();
        *sent += 1;
        *refused += usize::from(code >= 300);
    }

    /// Notes a request and how the responses of the two servers differ.
    fn compare(
        &mut self,
        sort: &str,
        [real, ours]: [&Response; 2],
        sequence: &str,
        request: String,
        excuse: impl FnOnce(&str) -> Option<&'static str>,
    ) -> Option<&Difference> {
        self.note(sort, real.code);
        let lines = normal::difference(real, ours)?;
        let excuse = excuse(&lines);
        self.differences.push(Difference { sequence: sequence.to_owned(), request, lines, excuse });
        self.differences.last()
    }

    /// The differences that nothing explains.
    pub fn unexplained(&self) -> impl Iterator<Item = &Difference> {
        self.differences.iter().filter(|difference| difference.excuse.is_none())
    }
}

/// Sends random requests to both servers.
///
/// # Errors
/// When one of the servers can't be reached.
pub async fn run(pair: &mut Pair, effort: Effort, mut note: impl FnMut(&str)) -> anyhow::Result<Findings> {
    let mut findings = Findings::default();
    if let Some(number) = effort.only {
        sequence(pair, effort.seed, number, &mut findings, &mut note).await?;
        return Ok(findings);
    }
    let mut number = 0;
    while findings.compared < effort.writes {
        sequence(pair, effort.seed, number, &mut findings, |_| ()).await?;
        number += 1;
        if number % 50 == 0 {
            let Findings { compared, differences, .. } = &findings;
            note(&format!("{compared} requests in {number} sequences, {} differ", differences.len()));
        }
    }
    Ok(findings)
}

/// Sends the requests about one object, up to the first unexplained difference.
async fn sequence(
    pair: &mut Pair,
    seed: u64,
    number: u64,
    findings: &mut Findings,
    mut note: impl FnMut(&str),
) -> anyhow::Result<()> {
    let kinds = Kind::all();
    let kind = &kinds[usize::try_from(number)? % kinds.len()];
    let name = format!("{} {number}", kind.kind);
    let namespace = format!("diff-{seed}-{number}");
    if !kind.cluster {
        pair.open(&namespace).await?;
    }
    let mut requests = Requests::new(kind, namespace.clone(), Random::new(seed, number));
    let mut names = [Names::default(), Names::default()];
    let watches = Watches::open(pair, &requests.list_uri()).await?;
    let mut live = None;
    for _ in 0..requests.length() {
        if requests.pauses() {
            tokio::time::sleep(Duration::from_millis(1100)).await;
        }
        let asked = requests.next(live.as_ref());
        // After each, both objects are read: a response doesn't show all that a write has done.
        for asked in [asked, requests.read_back()] {
            let (real, ours) = pair.send(&asked, &mut names).await?;
            note(&format!("{asked}\n{} {}", real.code, real.body));
            let sort = format!("{} {}", kind.kind, asked.label);
            let excuse = |lines: &str| played::excuse(&kind.kind, kind.is_custom(), &real, &ours, lines);
            let difference = findings.compare(&sort, [&real, &ours], &name, asked.to_string(), excuse);
            if difference.is_some_and(|found| !found.excuse.is_some_and(played::changes_no_object)) {
                return Ok(());
            }
            requests.responded(&asked, real.code < 300);
            live = (ours.code == 200).then_some(ours.body);
        }
    }
    if let Some(lines) = watches.difference(names).await {
        let request = "a watch of all this".to_owned();
        findings.differences.push(Difference { sequence: name, request, lines, excuse: None });
    }
    Ok(())
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (sort, (sent, refused)) in &self.sorts {
            writeln!(f, "{sent:6} {refused:6} refused  {sort}")?;
        }
        let mut excused: BTreeMap<&str, usize> = BTreeMap::new();
        for excuse in self.differences.iter().filter_map(|difference| difference.excuse) {
            *excused.entry(excuse).or_default() += 1;
        }
        for (excuse, times) in &excused {
            writeln!(f, "{times:6} not played: {excuse}")?;
        }
        for Difference { sequence, request, lines, .. } in self.unexplained() {
            writeln!(f, "\n{sequence}: {request}\n{lines}")?;
        }
        let compared = self.compared - excused.values().sum::<usize>();
        writeln!(f, "matched {} of {compared}", compared - self.unexplained().count().min(compared))
    }
}
