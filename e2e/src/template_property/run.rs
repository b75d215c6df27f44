//! Many rounds: Workloads side by side, each with edits of its own. A Workload whose child is wrong is replaced by a new one, so
//! that the same failure isn't found again.

use std::time::Instant;

use baton_testbed::{Error, Random};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde_json::Value;

use super::{
    findings::{Example, Findings},
    installation::Installation,
    reference::by_hand,
    round::{Depth, Turn, by_sort, causes, clear, play},
    shrink,
};
use crate::templates::Templates;

/// How many edits are tried in a row for one that an API server accepts.
const ATTEMPTS: usize = 50;
/// The percentage of cases with a preview.
const PREVIEWED: u32 = 33;

/// How much to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Templates that count, of all Workloads together.
    pub cases: usize,
    /// Workloads side by side.
    pub workloads: usize,
    /// Determines every template and every edit.
    pub seed: u64,
    /// Whether to shrink a failure of each sort, which takes half a minute each.
    pub shrink: bool,
}

/// A series of Workloads in one place.
struct Chain {
    number: usize,
    name: String,
    random: Random,
    /// How many Workloads were in this place before.
    lives: usize,
    /// How many cases it had.
    step: usize,
    spec: Option<Value>,
}

/// The next edit of a Workload.
struct Proposal {
    turn: Turn,
    edits: Vec<String>,
    /// The causes for which the API server refused others.
    refusals: Vec<Vec<String>>,
}

/// Plays so many cases. `print` gets a line after each round.
///
/// # Errors
/// When something fails that isn't under test.
pub async fn run<S: Installation>(
    installation: &mut S,
    effort: Effort,
    print: impl Fn(&str),
) -> Result<Findings, Error> {
    let (templates, began) = (Templates::new(), Instant::now());
    let mut findings = Findings::default();
    let mut chains: Vec<Chain> =
        (0..effort.workloads.min(effort.cases)).map(|number| Chain::new(effort, number)).collect();
    while findings.cases < effort.cases {
        chains.truncate(effort.cases - findings.cases);
        let proposals: Vec<Proposal> = {
            let installation = &*installation;
            let all = stream::iter(&mut chains).map(|chain| chain.propose(&templates, installation));
            all.buffered(8).try_collect().await?
        };
        let turns: Vec<Turn> = proposals.iter().map(|proposal| proposal.turn.clone()).collect();
        let outcomes = play(installation, &turns, Depth::Restart).await?;
        let mut failed = Vec::new();
        for ((chain, proposal), breaches) in chains.iter_mut().zip(proposals).zip(outcomes) {
            findings.cases += 1;
            findings.refused(proposal.refusals);
            for (sort, breach) in by_sort(&breaches) {
                let example = Example {
                    seed: effort.seed,
                    workload: chain.name.clone(),
                    step: chain.step,
                    edits: proposal.edits.clone(),
                    before: chain.spec.clone(),
                    after: proposal.turn.spec.clone(),
                    shown: breach.shown.clone(),
                    is_small: false,
                };
                findings.found(sort, example);
            }
            if breaches.iter().any(|breach| breach.lasts) {
                failed.push(chain.name.clone());
                chain.begin_anew();
            } else {
                chain.spec = Some(proposal.turn.spec);
            }
        }
        clear(installation, &failed).await?;
        print(&findings.progress(began.elapsed(), effort.cases));
    }
    let names: Vec<String> = chains.into_iter().map(|chain| chain.name).collect();
    clear(installation, &names).await?;
    findings.took = began.elapsed();
    if effort.shrink {
        for (sort, finding) in &mut findings.sorts {
            shrink::shrink(installation, sort, &mut finding.example).await?;
            print(&format!("── {sort}\n{}\n", finding.example));
        }
    }
    Ok(findings)
}

impl Chain {
    fn new(effort: Effort, number: usize) -> Self {
        let random = Random::new(effort.seed, number as u64);
        Self { number, name: format!("web-{number:02}"), random, lives: 0, step: 0, spec: None }
    }

    fn begin_anew(&mut self) {
        self.lives += 1;
        self.name = format!("web-{:02}-{}", self.number, self.lives);
        self.spec = None;
    }

    /// An edit that the API server accepts for a Deployment made by hand.
    async fn propose(
        &mut self,
        templates: &Templates,
        installation: &impl Installation,
    ) -> Result<Proposal, Error> {
        let mut refusals = Vec::new();
        self.step += 1;
        for _ in 0..ATTEMPTS {
            let (spec, edits) = match &self.spec {
                Some(before) => templates.edited(&mut self.random, before),
                None => (templates.first(&mut self.random), Vec::new()),
            };
            if self.spec.as_ref() == Some(&spec) {
                continue;
            }
            match by_hand(installation, &self.name, &spec).await {
                Ok(by_hand) => {
                    let previewed = self.random.percent(PREVIEWED);
                    let turn = Turn { name: self.name.clone(), spec, by_hand, previewed };
                    return Ok(Proposal { turn, edits, refusals });
                }
                Err(kube::Error::Api(status)) => refusals.push(causes(&status)),
                Err(error) => return Err(Error::api("try a Deployment by hand")(error)),
            }
        }
        let what =
            format!("{} has no edit that the API server accepts; its causes: {refusals:#?}", self.name);
        Err(Error::parse(what)("the generator and the API server disagree"))
    }
}
