//! What every broken core is asked, with the answers of the Go libraries: the corpus, what releases answer differently,
//! and then what the generators make of a seed. The libraries are asked only once, since their answers don't depend on who else is asked.

use std::{
    collections::BTreeSet,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use baton_testbed::Json;

use crate::{
    merge_diff::{
        Error, Peer, ProcessPeer, corpus,
        generate::Level,
        peer::Batch,
        releases::{self, Answered},
        run::{Options, Progress, STEPS, Sides, run},
    },
    oracle::Release,
};

/// How many cases of the corpus are asked at a time.
const BATCH: usize = 256;

/// Requests that are asked together.
pub(super) struct Group {
    pub(super) requests: Batch,
    pub(super) answers: Vec<String>,
    /// The positions of those that show nothing.
    pub(super) left_out: BTreeSet<usize>,
    source: Source,
}

/// Where the requests of a group are from.
enum Source {
    /// The corpus: the name of each.
    Corpus(Vec<String>),
    /// Neighbouring scenarios of a run, beginning with this one: the same step of each.
    Generated { seed: u64, first: u64, step: u64 },
}

/// Where a request is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A case of the corpus.
    Corpus(String),
    /// A step of a scenario, as `cargo merge-diff` numbers them.
    Generated {
        /// What all choices follow from.
        seed: u64,
        /// The scenario.
        scenario: u64,
        /// Its request, counted from zero.
        step: u64,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Corpus(name) => f.write_str(name),
            Self::Generated { seed, scenario, step } => {
                write!(f, "seed {seed}, scenario {scenario}, step {step}")
            }
        }
    }
}

impl Group {
    fn new(requests: Batch, answers: Vec<String>, source: Source) -> Self {
        Self { requests, answers, left_out: BTreeSet::new(), source }
    }

    /// Where the request at `position` is from.
    pub(super) fn origin(&self, position: usize) -> Origin {
        match &self.source {
            Source::Corpus(names) => Origin::Corpus(names.get(position).cloned().unwrap_or_default()),
            Source::Generated { seed, first, step } => {
                Origin::Generated { seed: *seed, scenario: first + position as u64, step: *step }
            }
        }
    }
}

/// All questions, in the order in which they are asked.
pub struct Questions {
    pub(super) groups: Vec<Group>,
}

impl Questions {
    /// Asks the oracle, which is the program at `oracle`, all of the corpus and `cases` generated questions.
    pub fn collect(oracle: &str, seed: u64, cases: u64) -> Result<Self, Error> {
        let mut groups = Vec::new();
        let mut peer = ProcessPeer::start(vec![oracle.to_owned()])?;
        for cases in corpus::read(&corpus::folder())?.chunks(BATCH) {
            let requests: Batch = cases.iter().map(|case| case.line.clone()).collect();
            peer.start(Arc::clone(&requests))?;
            let names = cases.iter().map(|case| case.name.clone()).collect();
            groups.push(Group::new(requests, peer.finish()?, Source::Corpus(names)));
        }
        groups.extend(of_releases(&releases::read(&corpus::folder())?));
        groups.extend(generated(peer, seed, cases)?);
        Ok(Self { groups })
    }

    /// How many there are that show something.
    pub fn len(&self) -> usize {
        self.groups.iter().map(|group| group.requests.len() - group.left_out.len()).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The cases that releases answer differently, with the answers that are kept: the oracle is that of one release.
fn of_releases(kept: &[Answered]) -> impl Iterator<Item = Group> {
    Release::ALL.into_iter().map(|release| {
        let cases: Vec<_> = kept.iter().map(|case| case.of(release)).collect();
        let answer = |case: &Answered| case.answers.get(release.name()).unwrap_or(&Json::Null).to_string();
        Group::new(
            cases.iter().map(|case| case.line.clone()).collect(),
            kept.iter().map(answer).collect(),
            Source::Corpus(cases.into_iter().map(|case| case.name).collect()),
        )
    })
}

/// What a run asks when the oracle is on both sides, and so never differs.
fn generated(oracle: ProcessPeer, seed: u64, cases: u64) -> Result<Vec<Group>, Error> {
    let record = Record::default();
    let oracle = Mutex::new(Some(oracle));
    let right = || -> Result<Box<dyn Peer>, Error> {
        let oracle = oracle.lock().unwrap_or_else(PoisonError::into_inner).take();
        // There is one job, and so one right side.
        oracle.map_or(Err(Error::NoCommand), |oracle| {
            Ok(Box::new(Recorder { oracle: Some(oracle), record: Arc::clone(&record) }) as Box<dyn Peer>)
        })
    };
    let left = || -> Result<Box<dyn Peer>, Error> {
        Ok(Box::new(Recorder { oracle: None, record: Arc::clone(&record) }))
    };
    let options = Options {
        cases,
        seed,
        first: 0,
        levels: Level::ALL.to_vec(),
        jobs: 1,
        profile: Some(Release::default()),
    };
    run(&options, Sides { left: &left, right: &right }, &Progress::default())?;
    let batches = std::mem::take(&mut *record.lock().unwrap_or_else(PoisonError::into_inner));
    let mut groups = Vec::with_capacity(batches.len());
    let (mut first, mut step, mut scenarios) = (0, 0, 0);
    for (requests, answers) in batches {
        if step == 0 {
            first += scenarios;
            scenarios = requests.len() as u64;
        }
        groups.push(Group::new(requests, answers, Source::Generated { seed, first, step }));
        step = (step + 1) % STEPS;
    }
    Ok(groups)
}

/// All that the oracle was asked, batch by batch, and what it answered.
type Record = Arc<Mutex<Vec<(Batch, Vec<String>)>>>;

/// A side of a run. The one that has the oracle asks it as soon as a batch begins and writes down what it answers; the
/// other one says the same.
struct Recorder {
    oracle: Option<ProcessPeer>,
    record: Record,
}

impl Peer for Recorder {
    fn start(&mut self, requests: Batch) -> Result<(), Error> {
        if let Some(oracle) = &mut self.oracle {
            oracle.start(Arc::clone(&requests))?;
            let answers = oracle.finish()?;
            self.record.lock().unwrap_or_else(PoisonError::into_inner).push((requests, answers));
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<Vec<String>, Error> {
        let record = self.record.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(record.last().map(|(_, answers)| answers.clone()).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_of_a_run_is_named_by_its_scenario_and_step() {
        let source = Source::Generated { seed: 7, first: 256, step: 3 };
        let group = Group::new(Batch::from([]), Vec::new(), source);
        assert_eq!(group.origin(2).to_string(), "seed 7, scenario 258, step 3");
    }
}
