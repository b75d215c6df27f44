//! Every promise of the documents that define server-side apply, played as scenarios and predicted: on the API server inside this
//! process, except for those that are `only real`, and with `--ignored` on a real kube-apiserver.
//!
//! `docs/seeds.md` lists the promises, each with the scenarios that show it. After a run of all scenarios on the real server, this
//! document and `docs/server-side-apply.md` are compared with the run. With `BATON_WRITE_DOCS=1` they are written.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod alpha_article;
mod apply_kep;
mod conflict_article;
mod dry_run_kep;
mod kinds;
mod map;
mod ssa;

use std::{
    collections::BTreeMap,
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
};

use baton_e2e::{
    generated,
    scenario::{Recorded, Scenario, SeedServer, Subject, docs},
};
use baton_testbed::Error;
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::{runtime::Runtime, sync::OnceCell};

/// Scenarios mostly wait for the server, and share only the server.
const AT_ONCE: usize = 8;

/// The annotation in which client-side apply keeps what it applied.
const LAST_APPLIED: &str = ".metadata.annotations.kubectl.kubernetes.io/last-applied-configuration";

/// All scenarios.
fn scenarios() -> Vec<Scenario> {
    [
        ssa::SCENARIOS,
        apply_kep::SCENARIOS,
        dry_run_kep::SCENARIOS,
        conflict_article::SCENARIOS,
        alpha_article::SCENARIOS,
    ]
    .concat()
    .concat()
}

/// The recorded steps, by scenario.
type Played = Arc<Mutex<BTreeMap<String, Vec<Recorded>>>>;

/// Runs scenarios on one server, which the first of them starts.
#[derive(Default)]
struct Runner {
    server: OnceCell<Arc<SeedServer>>,
    played: Played,
}

impl Runner {
    /// Plays on a control plane.
    async fn play(&self, scenario: Scenario) -> Result<(), Failed> {
        let start = async || SeedServer::start().await.map(Arc::new).map_err(|error| error.report());
        let server = self.server.get_or_try_init(start).await?;
        self.play_on(server, scenario).await
    }

    /// Plays on a server inside this process.
    async fn play_in_process(&self, scenario: Scenario) -> Result<(), Failed> {
        let start = async || SeedServer::start_in_process().map(Arc::new);
        let server = self.server.get_or_try_init(start).await?;
        self.play_on(server, scenario).await
    }

    async fn play_on(&self, server: &Arc<SeedServer>, scenario: Scenario) -> Result<(), Failed> {
        let mut subject = Subject::open(server, scenario.name).await.map_err(|error| error.report())?;
        (scenario.run)(&mut subject).await;
        let steps = subject.recorded().to_vec();
        self.played
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(title(scenario.name).to_owned(), steps);
        Ok(())
    }
}

/// The name of a scenario without the name of this program.
fn title(name: &str) -> &str {
    name.split_once("::").map_or(name, |(_, title)| title)
}

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(AT_ONCE);
    // The message is shown with the test's outcome.
    std::panic::set_hook(Box::new(|panic| {
        if let Some(place) = panic.location() {
            eprintln!("panicked at {place}");
        }
    }));
    let runtime = Arc::new(Runtime::new().expect("a runtime"));
    let (runner, in_process) = (Arc::new(Runner::default()), Arc::new(Runner::default()));
    let scenarios = scenarios();
    let on_real = |scenario: &Scenario| {
        let (scenario, runtime, runner) = (*scenario, runtime.clone(), runner.clone());
        let server = if scenario.only_real.is_some() { "only_real" } else { "real" };
        let name = format!("{server}::{}", title(scenario.name));
        Trial::test(name, move || runtime.block_on(runner.play(scenario))).with_ignored_flag(true)
    };
    let on_embedded = |scenario: &Scenario| {
        let (scenario, runtime, runner) = (*scenario, runtime.clone(), in_process.clone());
        let name = format!("in_process::{}", title(scenario.name));
        Trial::test(name, move || runtime.block_on(runner.play_in_process(scenario)))
    };
    let embedded = scenarios.iter().filter(|scenario| scenario.only_real.is_none()).map(on_embedded);
    let trials = embedded.chain(scenarios.iter().map(on_real)).chain(map::trials()).collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    for (runner, place) in [(&runner, "on a control plane"), (&in_process, "in this process")] {
        if let Some(server) = runner.server.get() {
            let played = runner.played.lock().unwrap_or_else(PoisonError::into_inner).len();
            println!("{played} of {} scenarios {place}; {}", scenarios.len(), server.tally().counts());
        }
    }
    let all_played = runner.played.lock().unwrap_or_else(PoisonError::into_inner).len() == scenarios.len();
    match runner.server.get() {
        _ if conclusion.has_failed() => ExitCode::FAILURE,
        Some(server) if all_played => documents(server, &runner.played),
        _ => ExitCode::SUCCESS,
    }
}

/// Compares the documents with what was played, or writes them.
fn documents(server: &SeedServer, played: &Played) -> ExitCode {
    const TEST: &str = "test -p baton-e2e --test seeds -- --ignored";
    let played = played.lock().unwrap_or_else(PoisonError::into_inner);
    let table = |text: &str| docs::table::render(text, &scenarios(), server.release());
    let tutorial = |text: &str| docs::tutorial::render(text, &played);
    let compare = |path: &str, made: &dyn Fn(&str) -> Result<String, docs::RenderError>| {
        let made = made(&generated::read(path)?).map_err(Error::parse(path))?;
        generated::up_to_date(path, &made, TEST)
    };
    let compared = [compare("docs/seeds.md", &table), compare("docs/server-side-apply.md", &tutorial)];
    let errors: Vec<_> = compared.into_iter().filter_map(Result::err).collect();
    for error in &errors {
        eprintln!("{}", error.report());
    }
    if errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
