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
    scenario::{Play, Recorded, Scene, Stage, docs},
};
use baton_testbed::Error;
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::{runtime::Runtime, sync::OnceCell};

/// Scenarios mostly wait for the server, and share only the server.
const AT_ONCE: usize = 8;

/// The annotation in which client-side apply keeps what it applied.
const LAST_APPLIED: &str = ".metadata.annotations.kubectl.kubernetes.io/last-applied-configuration";

/// All scenarios.
fn plays() -> Vec<Play> {
    [ssa::PLAYS, apply_kep::PLAYS, dry_run_kep::PLAYS, conflict_article::PLAYS, alpha_article::PLAYS]
        .concat()
        .concat()
}

/// The recorded steps, by scenario.
type Played = Arc<Mutex<BTreeMap<String, Vec<Recorded>>>>;

/// A stage, which the first scenario starts.
#[derive(Default)]
struct Theatre {
    stage: OnceCell<Arc<Stage>>,
    played: Played,
}

impl Theatre {
    /// Plays on a control plane.
    async fn play(&self, play: Play) -> Result<(), Failed> {
        let start = async || Stage::start().await.map(Arc::new).map_err(|error| error.report());
        let stage = self.stage.get_or_try_init(start).await?;
        self.play_on(stage, play).await
    }

    /// Plays on a server inside this process.
    async fn play_in_process(&self, play: Play) -> Result<(), Failed> {
        let start = async || Stage::start_in_process().map(Arc::new);
        let stage = self.stage.get_or_try_init(start).await?;
        self.play_on(stage, play).await
    }

    async fn play_on(&self, stage: &Arc<Stage>, play: Play) -> Result<(), Failed> {
        let mut scene = Scene::open(stage, play.name).await.map_err(|error| error.report())?;
        (play.run)(&mut scene).await;
        let steps = scene.recorded().to_vec();
        self.played.lock().unwrap_or_else(PoisonError::into_inner).insert(title(play.name).to_owned(), steps);
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
    let (theatre, in_process) = (Arc::new(Theatre::default()), Arc::new(Theatre::default()));
    let plays = plays();
    let on_real = |play: &Play| {
        let (play, runtime, theatre) = (*play, runtime.clone(), theatre.clone());
        let server = if play.only_real.is_some() { "only_real" } else { "real" };
        let name = format!("{server}::{}", title(play.name));
        Trial::test(name, move || runtime.block_on(theatre.play(play))).with_ignored_flag(true)
    };
    let on_embedded = |play: &Play| {
        let (play, runtime, theatre) = (*play, runtime.clone(), in_process.clone());
        let name = format!("in_process::{}", title(play.name));
        Trial::test(name, move || runtime.block_on(theatre.play_in_process(play)))
    };
    let embedded = plays.iter().filter(|play| play.only_real.is_none()).map(on_embedded);
    let trials = embedded.chain(plays.iter().map(on_real)).chain(map::trials()).collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    for (theatre, place) in [(&theatre, "on a control plane"), (&in_process, "in this process")] {
        if let Some(stage) = theatre.stage.get() {
            let played = theatre.played.lock().unwrap_or_else(PoisonError::into_inner).len();
            println!("{played} of {} scenarios {place}; {}", plays.len(), stage.tally().counts());
        }
    }
    let all_played = theatre.played.lock().unwrap_or_else(PoisonError::into_inner).len() == plays.len();
    match theatre.stage.get() {
        _ if conclusion.has_failed() => ExitCode::FAILURE,
        Some(stage) if all_played => documents(stage, &theatre.played),
        _ => ExitCode::SUCCESS,
    }
}

/// Compares the documents with what was played, or writes them.
fn documents(stage: &Stage, played: &Played) -> ExitCode {
    const TEST: &str = "test -p baton-e2e --test seeds -- --ignored";
    let played = played.lock().unwrap_or_else(PoisonError::into_inner);
    let table = |text: &str| docs::table::render(text, &plays(), stage.release());
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
