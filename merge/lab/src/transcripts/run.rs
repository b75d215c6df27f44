//! Sends sequences of writes to a server and keeps what it answers.

use std::{fmt, time::Duration};

use anyhow::{Error, Result};
use baton_merge_driver::Session;
use baton_testbed::{
    Json, Random,
    prediction::{
        Accuracy, Answered, Write, question,
        response::{done, refused},
        time::{seconds, time_of},
        version_of,
    },
};
use futures::future::try_join_all;
use jiff::Timestamp;

use super::{kinds::Kind, sequence::Sequence, server::Server, transcript::Step};
use crate::tally::Tally;

/// How often a creation is tried.
const CREATIONS: usize = 4;
/// Longer than a second, so that the next time stamp is another one.
const PAUSE: Duration = Duration::from_millis(1100);

/// What to write.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many writes to send, about: the last sequences are ended by it.
    pub writes: usize,
    /// What all choices follow from.
    pub seed: u64,
    /// Begin with this sequence.
    pub first: u64,
    /// Only objects of these kinds; of all where there are none.
    pub kinds: Vec<String>,
    /// How many objects are written at the same time.
    pub jobs: usize,
}

/// A prediction that was wrong.
#[derive(Clone, Debug)]
pub struct Failure {
    /// What was written, and what came of it.
    pub step: Step,
    /// What the merge core made of it.
    pub prediction: Json,
    /// In what they differ.
    pub difference: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}: {}", self.step.sequence(), self.step.write(), self.difference)
    }
}

/// What a run has seen.
pub struct Report {
    /// Counts.
    pub tally: Tally,
    /// Every step.
    pub steps: Vec<Step>,
    /// Every wrong prediction.
    pub failures: Vec<Failure>,
}

impl Default for Report {
    fn default() -> Self {
        let outcomes = &["matched", "modulo-defaulting", "unknown", "refused", "mismatch"];
        Self { tally: Tally::new(outcomes), steps: Vec::new(), failures: Vec::new() }
    }
}

impl Report {
    /// Asks the core about a step and takes the outcome into account.
    pub fn add(&mut self, step: Step, core: &mut Session) {
        let (prediction, accuracy) = step.predict(core);
        let outcome = match accuracy {
            Accuracy::Match => 0,
            Accuracy::ModuloDefaulting => 1,
            Accuracy::Unknown => 2,
            Accuracy::Refused => 3,
            Accuracy::Mismatch(_) => 4,
        };
        let rows = [("kind", step.kind().to_owned()), ("write", step.write().to_owned())];
        let traits = traits(&step).into_iter().map(|name| ("of which", name.to_owned()));
        self.tally.add(outcome, rows.into_iter().chain(traits));
        if let Accuracy::Mismatch(difference) = accuracy {
            self.failures.push(Failure { step: step.clone(), prediction, difference });
        }
        self.steps.push(step);
    }

    fn merge(&mut self, other: Self) {
        self.tally.merge(other.tally);
        self.steps.extend(other.steps);
        self.failures.extend(other.failures);
    }

    /// Writes that were predicted rightly, the server's defaults aside.
    pub fn matched(&self) -> u64 {
        self.tally.count(&[0, 1])
    }

    /// Writes that were predicted and done, or refused for a reason that is predicted.
    pub fn predicted(&self) -> u64 {
        self.tally.count(&[0, 1, 4])
    }
}

/// What tells a write that shows something from one that shows little.
fn traits(step: &Step) -> Vec<&'static str> {
    let (request, server) = (step.request(), step.server());
    let mut traits = Vec::new();
    if server.get("conflicts").is_some() {
        traits.push("conflicts");
    } else if server.get("code").is_some_and(|code| code.to_string() != "200") {
        traits.push("refused");
    }
    if server.get("changed") == Some(&Json::Bool(false)) {
        traits.push("no-op");
    }
    let entries = server.get("managedFields").or_else(|| server.at(&["object", "metadata", "managedFields"]));
    let entries = entries.map(Json::items).unwrap_or_default();
    let before = request.at(&["live", "metadata", "managedFields"]).map(Json::items).unwrap_or_default();
    for name in ["ancient-changes", "before-first-apply"] {
        let is_there = |entries: &[Json]| {
            entries.iter().any(|entry| entry.get("manager").and_then(Json::as_str) == Some(name))
        };
        if is_there(entries) && !is_there(before) {
            traits.push(name);
        }
    }
    let version = |entry: &Json| entry.get("apiVersion").cloned();
    if before.iter().any(|entry| version(entry) != request.get("live").and_then(version)) {
        traits.push("entries of other versions");
    }
    traits
}

/// Sends about as many writes as are asked for, and predicts each.
pub async fn run(server: &Server, options: &Options) -> Result<Report> {
    let wanted = |kind: &&Kind| options.kinds.is_empty() || options.kinds.contains(&kind.kind);
    let kinds: Vec<&'static Kind> = Kind::all().iter().filter(wanted).collect();
    let jobs = options.jobs.max(1);
    let each = options.writes.div_ceil(jobs);
    let job = async |job: usize| {
        let (mut report, mut core) = (Report::default(), Session::new());
        let mut number = options.first + job as u64;
        while report.steps.len() < each && !kinds.is_empty() {
            let kind = kinds[usize::try_from(number).unwrap_or_default() % kinds.len()];
            let random = Random::new(options.seed, number);
            write_one(server, kind, random, &format!("{}-{number}", options.seed), &mut report, &mut core)
                .await?;
            number += jobs as u64;
        }
        Ok::<_, Error>(report)
    };
    let mut report = Report::default();
    for one in try_join_all((0..jobs).map(job)).await? {
        report.merge(one);
    }
    Ok(report)
}

/// Sends the writes to one object.
async fn write_one(
    server: &Server,
    kind: &'static Kind,
    random: Random,
    number: &str,
    report: &mut Report,
    core: &mut Session,
) -> Result<()> {
    let mut sequence = Sequence::new(kind, format!("web-{number}"), random);
    let mut live = None;
    let mut creations = 0;
    for _ in 0..sequence.length() {
        if sequence.pauses() {
            tokio::time::sleep(PAUSE).await;
        }
        let write = sequence.next(live.as_ref());
        creations += usize::from(live.is_none());
        let (step, succeeded) = send(server, kind, &sequence, &write, number).await?;
        if succeeded {
            sequence.succeeded(&write);
        }
        if let Some(step) = step {
            report.add(step, core);
        }
        live = server.read(&server.resource(kind, &kind.version), sequence.name()).await?;
        if live.is_none() && creations >= CREATIONS {
            break;
        }
    }
    Ok(())
}

/// Sends one write, and says whether the server did it. There is no step where nothing can be predicted.
async fn send(
    server: &Server,
    kind: &Kind,
    sequence: &Sequence,
    write: &Write,
    number: &str,
) -> Result<(Option<Step>, bool)> {
    let resource = server.resource(kind, &write.version);
    let live = server.read(&resource, sequence.name()).await?;
    let began = Timestamp::now();
    let answer = server.write(&resource, sequence.name(), write).await?;
    let after = server.read(&resource, sequence.name()).await?;
    let now = after.as_ref().and_then(|after| time_of(write, after, began)).unwrap_or_else(|| seconds(began));
    let changed = live.as_ref().map(version_of) != after.as_ref().map(version_of);
    let mut answered = Answered { live: live.as_ref(), after: None, changed, now: &now };
    let (recorded, succeeded) = match (&answer, &after) {
        (Ok(_), Some(after)) => {
            answered.after = Some(after);
            (done(write, changed, after), true)
        }
        (Err(status), _) => (refused(status), false),
        // What is deleted by being written, such as the last finalizer taken off: nothing is left to compare with.
        (Ok(_), None) => return Ok((None, true)),
    };
    let step = question(&resource, write, &answered)
        .map(|question| Step::new(&format!("{} {number}", kind.kind), &write.label(), question, recorded));
    Ok((step, succeeded))
}
