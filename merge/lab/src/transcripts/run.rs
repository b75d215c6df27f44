//! Sends sequences of writes to a server, and judges the merge core's predictions.

use std::{fmt, time::Duration};

use anyhow::{Error, Result};
use baton_merge_driver::Session;
use baton_testbed::{
    Json, Random,
    prediction::{Accuracy, Asked, Done, Write},
    writes::{Kind, Sequence},
};
use futures::future::try_join_all;
use jiff::Timestamp;

use super::Server;
use crate::{tally::Tally, traits::traits};

/// The objects that are written at the same time.
const JOBS: u64 = 8;
/// The most attempts of a creation.
const CREATIONS: usize = 4;
/// More than a second, so that the next timestamp differs.
const PAUSE: Duration = Duration::from_millis(1100);
/// The folder of OpenAPI documents, relative to the workspace.
const DOCUMENTS: &str = "merge/tests/data/openapi";

/// The writes of a run.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The writes to send, about: the last sequences are cut.
    pub writes: usize,
    /// The seed of all choices.
    pub seed: u64,
}

/// One write: the request to the merge core, and the server's response.
#[derive(Clone, Debug)]
pub struct Step {
    /// The sequence that it belongs to.
    sequence: String,
    /// The type and the target of the write.
    write: String,
    asked: Asked,
}

impl Step {
    /// The step as one line, with the workspace's own copy of the OpenAPI document in its request, instead of the server's.
    pub fn line(&self) -> String {
        let Asked { mut question, response } = self.asked.clone();
        let text = |name| question.at(&["gvk", name]).and_then(Json::as_str).unwrap_or_default();
        let (group, version) = (text("group"), text("version"));
        let name = if group.is_empty() { version.to_owned() } else { format!("{group}__{version}") };
        if question.get("openapi").is_some() {
            question.set("openapi", Json::object().with("file", format!("{DOCUMENTS}/{name}.json")));
        }
        let step = Json::object().with("sequence", self.sequence.as_str()).with("write", self.write.as_str());
        step.with("request", question).with("server", response).to_string()
    }
}

/// A wrong prediction.
#[derive(Clone, Debug)]
pub struct Failure {
    step: Step,
    prediction: Json,
    difference: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { step, prediction, difference } = self;
        write!(f, "{}, {}: {difference}\n  step       {}", step.sequence, step.write, step.line())?;
        write!(f, "\n  prediction {prediction}")
    }
}

/// The result of a run.
pub struct Report {
    /// Counts.
    pub tally: Tally,
    /// Every step.
    pub steps: Vec<Step>,
    /// Every wrong prediction.
    pub failures: Vec<Failure>,
}

impl Report {
    fn new() -> Self {
        let outcomes = &["matched", "modulo-defaulting", "unknown", "refused", "mismatch"];
        Self { tally: Tally::new(outcomes), steps: Vec::new(), failures: Vec::new() }
    }

    /// Asks the core about a step and counts the outcome.
    fn add(&mut self, step: Step, kind: &str, core: &mut Session) {
        let question = &step.asked.question;
        let prediction = core.respond(&question.to_string()).parse().unwrap_or(Json::Null);
        let accuracy = step.asked.judge(&prediction);
        let outcome = match accuracy {
            Accuracy::Match => 0,
            Accuracy::ModuloDefaulting => 1,
            Accuracy::Unknown => 2,
            Accuracy::Refused => 3,
            Accuracy::Mismatch(_) => 4,
        };
        let traits = traits(question, &prediction).into_iter().map(|name| format!("of which: {name}"));
        self.tally.add(outcome, traits.chain([format!("kind: {kind}"), format!("write: {}", step.write)]));
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

    /// Correct predictions, apart from the server's defaults.
    pub fn matched(&self) -> u64 {
        self.tally.count(&[0, 1])
    }

    /// Predicted writes that succeeded, or failed for a predicted reason.
    pub fn predicted(&self) -> u64 {
        self.tally.count(&[0, 1, 4])
    }
}

/// Sends about as many writes as requested, and predicts each.
pub async fn run(server: &Server, options: Options) -> Result<Report> {
    let Options { writes, seed } = options;
    let job = async |job: u64| {
        let (mut report, mut core) = (Report::new(), Session::checked());
        let mut number = job;
        while (report.steps.len() as u64) * JOBS < writes as u64 {
            let kind = &Kind::all()[usize::try_from(number).unwrap_or_default() % Kind::all().len()];
            let mut sequence = Sequence::new(kind, format!("web-{seed}-{number}"), Random::new(seed, number));
            write_one(server, kind, &mut sequence, &mut report, &mut core).await?;
            number += JOBS;
        }
        Ok::<_, Error>(report)
    };
    let mut report = Report::new();
    for one in try_join_all((0..JOBS).map(job)).await? {
        report.merge(one);
    }
    Ok(report)
}

/// Sends the writes to one object.
async fn write_one(
    server: &Server,
    kind: &Kind,
    sequence: &mut Sequence,
    report: &mut Report,
    core: &mut Session,
) -> Result<()> {
    let mut live = None;
    let mut creations = 0;
    for _ in 0..sequence.length() {
        if sequence.pauses() {
            tokio::time::sleep(PAUSE).await;
        }
        let write = sequence.next(live.as_ref());
        creations += usize::from(live.is_none());
        let (asked, succeeded) = send(server, kind, sequence.name(), &write).await?;
        if succeeded {
            sequence.succeeded(&write);
        }
        if let Some(asked) = asked {
            let sequence = format!("{} {}", kind.kind, sequence.name());
            report.add(Step { sequence, write: write.label(), asked }, &kind.kind, core);
        }
        live = server.read(&server.resource(kind, &kind.version), sequence.name()).await?;
        if live.is_none() && creations >= CREATIONS {
            break;
        }
    }
    Ok(())
}

/// Sends one write, and returns whether it succeeded. The core isn't asked about unpredictable writes.
async fn send(server: &Server, kind: &Kind, name: &str, write: &Write) -> Result<(Option<Asked>, bool)> {
    let resource = &server.resource(kind, &write.version);
    let before = server.read(resource, name).await?;
    let began = Timestamp::now();
    let answer = server.write(resource, name, write).await?;
    let after = server.read(resource, name).await?;
    let outcome = match (&answer, &after) {
        (Ok(_), Some(after)) => Ok(after),
        (Err(status), _) => Err(&**status),
        // The write deleted the object, such as by removing the last finalizer: there is nothing to compare.
        (Ok(_), None) => return Ok((None, true)),
    };
    let done = Done { resource, write, before: before.as_ref(), outcome, began, dry_run: false };
    Ok((done.asked(), answer.is_ok()))
}
