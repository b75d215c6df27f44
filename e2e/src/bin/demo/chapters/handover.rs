//! The replica count is handed to an autoscaler.

use baton_apply::LiveObject;
use baton_controller::decide::{child::ChildKind, replicas::Replicas};

use super::children::one_entry_each;
use crate::{
    claims::Claims,
    demo::{Demo, NAME},
    manifests, print,
    recorder::changes,
    replicas::{self, first_fall, ready},
};

pub(crate) async fn show(demo: &Demo, claims: &mut Claims) -> anyhow::Result<()> {
    print::heading(4, "The replica count is handed to an autoscaler");
    print::text(
        "If an operator stops applying spec.replicas and no one else owns the field, the API server resets it to 1. So Baton first \
         applies the live count as a temporary manager, handover-to-hpa, which owns the field until the autoscaler writes. The \
         user adds these lines to the Workload, and a watch records every write to the Deployment:",
    );
    let change = manifests::autoscaling_on();
    print::code(&change.shown);
    let mut recorder = demo.record(NAME).await?;
    demo.apply_workload(&change.manifest).await?;
    recorder
        .until("the autoscaler to own a count of five", |live| Replicas::of(live).count == 5 && scaled(live))
        .await?;
    recorder.until("five pods to be ready", |live| ready(live) == 5).await?;
    let seen = recorder.writes().await?;
    print::table("", &replicas::table(seen));

    print::gap();
    let steps = ["baton", "handover-to-hpa, baton", "handover-to-hpa", "kube-controller-manager (scale)"];
    claims.equal("the field went from Baton to handover-to-hpa to the autoscaler", &owners(seen), &steps)?;
    never_fell(seen, claims)?;
    demo.settled(5).await?;
    let children = demo.all_children().await?;
    let kinds = children.iter().map(|(kind, _)| *kind).collect::<Vec<_>>();
    claims.equal("the HorizontalPodAutoscaler is the fourth child", &kinds, &ChildKind::ALL)?;
    one_entry_each(&children, claims)?;
    demo.show_workload().await
}

/// The owners of the field after each change.
pub(super) fn owners(seen: &[LiveObject]) -> Vec<String> {
    changes(seen, |live| Replicas::of(live).owners.describe())
}

/// Claims that neither the replica count nor the number of ready pods ever fell.
pub(super) fn never_fell(seen: &[LiveObject], claims: &mut Claims) -> anyhow::Result<()> {
    let numbers = changes(seen, |live| Replicas::of(live).count).into_iter();
    let shown: Vec<String> = numbers.clone().map(|number| number.to_string()).collect();
    let claim = format!("the replica count never fell, in {} writes: {}", seen.len() - 1, shown.join(" → "));
    claims.equal(&claim, &first_fall(numbers), &None)?;
    let pods = seen.iter().map(ready);
    Ok(claims.equal("the number of ready pods never fell either", &first_fall(pods), &None)?)
}

fn scaled(deployment: &LiveObject) -> bool {
    let owners = Replicas::of(deployment).owners;
    !owners.scale.is_empty() && !owners.baton && !owners.temporary
}
