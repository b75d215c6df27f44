//! Leaves the cluster and the operator running, and says how to use and stop them.

use anyhow::bail;
use baton_testbed::assets::{Assets, Program};

use crate::{
    print,
    stage::{Ground, Stage},
};

/// Lets go of everything that would end with this program.
pub(crate) fn keep(stage: Stage) -> anyhow::Result<()> {
    let Stage { namespace, ground, .. } = stage;
    let Ground::Played { operator, cluster } = ground else { bail!("a real node can't be kept") };
    let kubectl = Assets::locate(&[Program::Kubectl])?.path(Program::Kubectl);
    let kept = cluster.keep()?;
    let log = operator.process().log().to_owned();
    let operator = operator.keep();
    let in_namespace = namespace.to_string();
    namespace.keep();

    print::say("The cluster and the operator keep running. To use them:");
    print::code(&format!(
        "export KUBECONFIG={}\n\
         alias kubectl={}\n\
         kubectl config set-context --current --namespace {in_namespace}\n\
         kubectl get bwl -A\n\
         kubectl get deploy web -o yaml --show-managed-fields\n\
         kubectl explain bwl.spec\n\
         tail -f {}",
        kept.kubeconfig.display(),
        kubectl.display(),
        log.display(),
    ));
    print::say("And to stop them:");
    print::code(&format!("kill {operator}; {}", kept.stop.display()));
    Ok(())
}
