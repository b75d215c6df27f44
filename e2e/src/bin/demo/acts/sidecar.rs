//! Somebody adds what Baton doesn't own.

use baton_controller::{child::ChildKind, live::Live};

use crate::{
    claims::Claims,
    containers::{image_owners, names},
    manifests::SIDECAR,
    ownership::{self, owners},
    print,
    stage::{NAME, Stage, eventually},
};

/// How often Baton has to write the Deployment anew, with the sidecar in it.
const ROUNDS: i32 = 5;

pub(crate) async fn play(stage: &Stage, claims: &mut Claims) -> anyhow::Result<()> {
    print::heading(6, "A foreign sidecar is left alone");
    print::say(
        "Another tool, here a service mesh, applies a container of its own to the Deployment. An operator that sends the \
         whole object would remove it with its next write. To Baton it is a field that the Workload doesn't speak of.",
    );
    print::code(&format!("$ kubectl apply --server-side --field-manager mesh -f -\n{SIDECAR}"));
    stage.apply("mesh", SIDECAR).await?;
    print::say(&format!(
        "Then the Workload is changed {ROUNDS} times, so that Baton has to write the Deployment {ROUNDS} times:"
    ));
    print::code(
        r#"$ kubectl patch workload web --type merge -p '{"spec": {"rollout": {"revisionHistoryLimit": 1}}}'  # to 5"#,
    );
    for round in 1..=ROUNDS {
        write_anew(stage, round).await?;
    }
    let deployment = stage.children(ChildKind::Deployment).get(NAME).await?;
    print::table(&format!("Deployment {NAME}"), &ownership::table(&owners(&deployment)));

    print::gap();
    let live = Live::from(deployment);
    claims.equal("both containers are there", names(&live), vec!["app", "proxy"])?;
    claims.equal(
        "Baton still owns the image of its own",
        image_owners(&live, "app"),
        vec!["baton (Apply)".to_owned()],
    )?;
    claims.equal(
        "the mesh still owns the image of the sidecar, alone",
        image_owners(&live, "proxy"),
        vec!["mesh (Apply)".to_owned()],
    )?;
    stage.ready(5).await
}

/// Changes a field of the Workload that leaves the pods as they are, and waits until Baton has passed it on.
async fn write_anew(stage: &Stage, round: i32) -> anyhow::Result<()> {
    let patch = serde_json::json!({"spec": {"rollout": {"revisionHistoryLimit": round}}}).to_string();
    stage.kubectl(&["patch", "workload", NAME, "--type", "merge", "-p", &patch]).await?;
    let deployments = stage.children(ChildKind::Deployment);
    eventually(&format!("write {round} of the Deployment"), async || {
        let seen = deployments.get(NAME).await?.data["spec"]["revisionHistoryLimit"].clone();
        Ok(if seen == round { Ok(()) } else { Err(format!("revisionHistoryLimit: {seen}")) })
    })
    .await
}
