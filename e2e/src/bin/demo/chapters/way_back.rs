//! Baton takes the replica count back.

use baton_controller::decide::{child::ChildKind, replicas::Replicas};
use baton_e2e::containers;

use super::{
    children::one_entry_each,
    handover::{never_fell, owners},
};
use crate::{
    claims::Claims,
    demo::{Demo, NAME},
    manifests, print,
    replicas::{self, ready},
};

pub(crate) async fn show(demo: &Demo, claims: &mut Claims) -> anyhow::Result<()> {
    print::heading(7, "Baton takes the replica count back");
    print::text(
        "The Workload asks for six pods and no autoscaler. Baton deletes its autoscaler and applies the live count. Once Baton owns \
         the field, it releases the autoscaler's entry and applies the new count. So no write of the autoscaler is lost, and no \
         stale entry is left.",
    );
    let change = manifests::autoscaling_off();
    print::code(&change.shown);
    let mut recorder = demo.record(NAME).await?;
    demo.apply_workload(&change.manifest).await?;
    recorder
        .until("six replicas of Baton's own", |live| {
            Replicas::of(live).count == 6 && Replicas::of(live).owners.describe() == "baton"
        })
        .await?;
    recorder.until("six pods to be ready", |live| ready(live) == 6).await?;
    let seen = recorder.writes().await?;
    print::table("", &replicas::table(seen));

    print::gap();
    let steps = ["kube-controller-manager (scale)", "kube-controller-manager (scale), baton", "baton"];
    claims.equal(
        "Baton owns the field again, and no entry of the autoscaler is left",
        &owners(seen),
        &steps,
    )?;
    never_fell(seen, claims)?;
    demo.settled(6).await?;
    let children = demo.all_children().await?;
    let kinds: Vec<ChildKind> = children.iter().map(|(kind, _)| *kind).collect();
    let wanted = [ChildKind::Deployment, ChildKind::Service, ChildKind::DisruptionBudget];
    claims.equal("the HorizontalPodAutoscaler is gone", &kinds, &wanted)?;
    one_entry_each(&children, claims)?;
    let deployment = demo.deployment().await?;
    claims.equal(
        "the sidecar of the mesh is still there",
        &containers::names(&deployment),
        &["app", "proxy"],
    )?;
    demo.show_workload().await
}
