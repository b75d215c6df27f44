//! Sessions with the plugin `kubectl baton`, as people have them: each page's commands are run, and their output compared with what
//! the page has. On the API server inside this process, and with `--ignored` on a real kube-apiserver.
//!
//! With `BATON_WRITE_DOCS=1` the pages are written. What plain kubectl writes is known only on the real control plane, and compared
//! there.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod page;
mod world;

use std::{env, fs, path::PathBuf, process::ExitCode, sync::Arc};

use baton_e2e::scenario::docs::WRITE_DOCS;
use baton_testbed::{ControlPlane, Error, crd, workspace};
use libtest_mimic::{Arguments, Failed, Trial};
use page::Page;
use tokio::{runtime::Runtime, sync::OnceCell};
use world::World;

/// Where the pages are: one for users, and others for what they rarely meet.
const PAGES: [&str; 2] = ["docs/plugin.md", "e2e/tests/plugin/pages"];

/// Without controllers, only sessions write to their objects.
const CONTROLLERS: &str = "--controllers=namespace-controller,serviceaccount-controller,node-lifecycle-controller,clusterrole-aggregation-controller";

/// Baton's CRD.
const WORKLOAD_CRD: &str = "manifests/crd/workloads.baton.rs.yaml";

fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for path in PAGES.map(|path| workspace().join(path)) {
        if path.is_dir() {
            pages.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else {
            pages.push(path);
        }
    }
    pages.sort();
    pages
}

/// Runs a page and compares it with its text, or writes that.
async fn play(path: &PathBuf, world: World) -> Result<(), Failed> {
    let text = fs::read_to_string(path)?;
    let played = Page::parse(&text).play(world).await.map_err(|error| error.report())?;
    if played == text {
        return Ok(());
    }
    if env::var_os(WRITE_DOCS).is_some_and(|value| !value.is_empty()) {
        fs::write(path, played)?;
        return Ok(());
    }
    let name = path.display().to_string();
    let diff = similar::TextDiff::from_lines(&text, &played);
    let diff = diff.unified_diff().header(&name, "as it was played").to_string();
    Err(format!("{diff}\nto write it, run: {WRITE_DOCS}=1 cargo test -p baton-e2e --test plugin").into())
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let runtime = Arc::new(Runtime::new().expect("a runtime"));
    let control_plane = Arc::new(OnceCell::<Arc<ControlPlane>>::new());
    let mut trials = Vec::new();
    for path in pages() {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let (here, page) = (runtime.clone(), path.clone());
        trials.push(Trial::test(format!("in_process::{name}"), move || {
            here.block_on(async {
                play(&page, World::in_process().await.map_err(|error| error.report())?).await
            })
        }));
        let (here, control_plane) = (runtime.clone(), control_plane.clone());
        let real = Trial::test(format!("real::{name}"), move || {
            here.block_on(async {
                let start = async || {
                    let control_plane =
                        ControlPlane::options().controller_manager_arg(CONTROLLERS).start().await?;
                    crd::install(&control_plane, &workspace().join(WORKLOAD_CRD)).await?;
                    Ok(Arc::new(control_plane))
                };
                let control_plane =
                    control_plane.get_or_try_init(start).await.map_err(|error: Error| error.report())?;
                let world = World::real(control_plane).await.map_err(|error| error.report())?;
                play(&path, world).await
            })
        });
        trials.push(real.with_ignored_flag(true));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
