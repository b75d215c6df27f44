//! Sessions with the plugin `kubectl baton`, as people have them: each page's commands are run, and their output compared with what
//! the page has. On the API server inside this process, and with `--ignored` on a real kube-apiserver.
//!
//! With `BATON_WRITE_DOCS=1` the pages are written. What plain kubectl writes is known only on the real control plane, and compared
//! there.
#![allow(missing_docs, unreachable_pub, clippy::unwrap_used)]

mod world;

use std::{fs, path::Path, process::ExitCode, sync::Arc};

use baton_e2e::{generated, session::Page};
use baton_testbed::{ControlPlane, Error, crd, workspace};
use libtest_mimic::{Arguments, Failed, Trial};
use tokio::{runtime::Runtime, sync::OnceCell};
use world::World;

/// The pages for what users rarely meet, beside the one for users.
const PAGES: &str = "e2e/tests/plugin/pages";
/// The arguments of cargo that write the pages.
const TEST: &str = "test -p baton-e2e --test plugin";

/// Without controllers, only sessions write to their objects.
const CONTROLLERS: &str = "--controllers=namespace-controller,serviceaccount-controller,node-lifecycle-controller,clusterrole-aggregation-controller";

/// Baton's CRD.
const WORKLOAD_CRD: &str = "manifests/crd/workloads.baton.rs.yaml";

/// The pages, by their paths in the repository.
fn pages() -> Vec<String> {
    let mut pages = vec!["docs/plugin.md".to_owned()];
    for page in fs::read_dir(workspace().join(PAGES)).unwrap() {
        pages.push(format!("{PAGES}/{}", page.unwrap().file_name().display()));
    }
    pages.sort();
    pages
}

/// Runs a page and compares it with its text, or writes that.
async fn play(path: &str, world: Result<World, Error>) -> Result<(), Failed> {
    let played = async { Page::parse(&generated::read(path)?).play(&world?).await };
    let compared = played.await.and_then(|played| generated::up_to_date(path, &played, TEST));
    compared.map_err(|error| error.report().into())
}

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let runtime = Arc::new(Runtime::new().expect("a runtime"));
    let control_plane = Arc::new(OnceCell::<Arc<ControlPlane>>::new());
    let mut trials = Vec::new();
    for path in pages() {
        let name = Path::new(&path).file_stem().unwrap_or_default().display().to_string();
        let (here, page) = (runtime.clone(), path.clone());
        trials.push(Trial::test(format!("in_process::{name}"), move || {
            here.block_on(async { play(&page, World::in_process().await).await })
        }));
        let (here, control_plane) = (runtime.clone(), control_plane.clone());
        let real = Trial::test(format!("real::{name}"), move || {
            here.block_on(async {
                let world = async {
                    let start = async || {
                        let control_plane =
                            ControlPlane::options().controller_manager_arg(CONTROLLERS).start().await?;
                        crd::install(&control_plane, &workspace().join(WORKLOAD_CRD)).await?;
                        Ok::<_, Error>(Arc::new(control_plane))
                    };
                    World::real(control_plane.get_or_try_init(start).await?).await
                };
                play(&path, world.await).await
            })
        });
        trials.push(real.with_ignored_flag(true));
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}
