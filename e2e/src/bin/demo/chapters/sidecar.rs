//! Another manager adds a container that Baton doesn't own.

use baton_apply::LiveObject;
use baton_e2e::containers::{image_owner_names, names};
use kube::api::Patch;
use serde_json::json;

use crate::{
    claims::Claims,
    demo::{Demo, NAME},
    manifests::SIDECAR,
    ownership, print,
    recorder::changes,
};

/// How often Baton writes the Deployment, with the sidecar in it.
const ROUNDS: i32 = 5;

pub(crate) async fn show(demo: &Demo, claims: &mut Claims) -> anyhow::Result<()> {
    print::heading(6, "Baton leaves the sidecar of another manager alone");
    print::text(
        "Another tool, here a service mesh, applies its own container to the Deployment. An operator that sends the whole object \
         would remove it with its next write. Baton doesn't own that container, so it stays.",
    );
    print::code(&format!("$ kubectl apply --server-side --field-manager mesh -f -\n{SIDECAR}"));
    demo.apply_deployment("mesh", SIDECAR).await?;
    let mut recorder = demo.record(NAME).await?;

    print::text("Then the Workload changes five times, and Baton writes the Deployment each time:");
    print::code(
        "$ for n in 1 2 3 4 5; do\n    \
             kubectl patch bwl web --type merge \\\n      \
               --patch \"spec: {rollout: {revisionHistoryLimit: $n}}\"\n  \
         done",
    );
    for round in 1..=ROUNDS {
        let patch = json!({"spec": {"rollout": {"revisionHistoryLimit": round}}});
        demo.patch_workload(Patch::Merge(patch)).await?;
        let what = format!("Baton's write {round} of the Deployment");
        recorder.until(&what, |live| history_limit(live) == Some(round)).await?;
    }
    let deployment = demo.deployment().await?;
    print::table(&format!("Deployment {NAME}"), &ownership::table(&deployment));

    print::gap();
    let seen = recorder.writes().await?;
    let writes = changes(seen, history_limit).len() - 1;
    claims.equal("Baton wrote the Deployment five times", &writes, &5)?;
    let containers = changes(seen, |live| names(live).join(" and "));
    claims.equal("neither of the two containers was ever missing", &containers, &["app and proxy"])?;
    let owners = [image_owner_names(&deployment, "app"), image_owner_names(&deployment, "proxy")];
    claims.equal(
        "each image has one owner: Baton, and the mesh",
        &owners,
        &[["baton (Apply)"], ["mesh (Apply)"]],
    )?;
    demo.settled(5).await
}

/// The field that changes with the Workload. It doesn't change the pods.
fn history_limit(deployment: &LiveObject) -> Option<i32> {
    deployment.number(&["spec", "revisionHistoryLimit"])
}
