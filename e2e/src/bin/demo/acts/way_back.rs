//! Replicas come back to Baton.

use baton_controller::decide::{child::ChildKind, replicas::Replicas};

use super::{
    children::one_entry_each,
    handover::{holders, never_fell},
};
use crate::{
    claims::Claims,
    containers, manifests, print,
    replicas::{self, ready},
    stage::{NAME, Stage},
};

pub(crate) async fn play(stage: &Stage, claims: &mut Claims) -> anyhow::Result<()> {
    print::heading(7, "Replicas come back");
    print::say(
        "The Workload asks for six pods and no autoscaler. So that goes first. Then Baton applies the number \
         that is live, and only when it holds that, it releases what the autoscaler still owned and sets the \
         new number: no write of the autoscaler is undone, and no stale entry is left for the next handover.",
    );
    let change = manifests::autoscaling_off();
    print::code(&change.shown);
    let mut recorder = stage.record(NAME).await?;
    stage.apply_workload(&change.manifest).await?;
    recorder
        .until("six replicas of Baton's own", |live| {
            Replicas::of(live).count == 6 && Replicas::of(live).holders.describe() == "baton"
        })
        .await?;
    recorder.until("six pods to be ready", |live| ready(live) == 6).await?;
    let seen = recorder.sightings().await?;
    print::table("", &replicas::table(seen));

    print::gap();
    let steps = ["kube-controller-manager (scale)", "kube-controller-manager (scale), baton", "baton"];
    claims.equal("the number came back, and nothing of the autoscaler's is left", &holders(seen), &steps)?;
    never_fell(seen, claims)?;
    stage.settled(6).await?;
    let children = stage.all_children().await?;
    let kinds: Vec<ChildKind> = children.iter().map(|(kind, _)| *kind).collect();
    let wanted = [ChildKind::Deployment, ChildKind::Service, ChildKind::DisruptionBudget];
    claims.equal("the HorizontalPodAutoscaler is gone", &kinds, &wanted)?;
    one_entry_each(&children, claims)?;
    let deployment = stage.deployment().await?;
    claims.equal(
        "the sidecar of the mesh is still there",
        &containers::names(&deployment),
        &["app", "proxy"],
    )?;
    stage.show_workload().await
}
