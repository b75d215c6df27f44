//! Replicas pass to an autoscaler.

use baton_apply::LiveObject;
use baton_controller::decide::{child::ChildKind, replicas::Replicas};

use super::children::one_entry_each;
use crate::{
    claims::Claims,
    manifests, print,
    recorder::{Sighting, changes},
    replicas::{self, first_fall, ready},
    stage::{NAME, Stage},
};

pub(crate) async fn play(stage: &Stage, claims: &mut Claims) -> anyhow::Result<()> {
    print::heading(4, "Replicas pass to an autoscaler");
    print::say(
        "When an operator stops setting replicas and nobody else owns the number, the API server resets \
         it to 1. So Baton passes it on by a stand-in, the field manager handover-to-hpa, which holds it \
         until the autoscaler has written. The Workload gets these lines, and a watch sees every write \
         to the Deployment:",
    );
    let change = manifests::autoscaling_on();
    print::code(&change.shown);
    let mut recorder = stage.record(NAME).await?;
    stage.apply_workload(&change.manifest).await?;
    recorder
        .until("the autoscaler to hold five replicas", |live| Replicas::of(live).count == 5 && scaled(live))
        .await?;
    recorder.until("five pods to be ready", |live| ready(live) == 5).await?;
    let seen = recorder.sightings().await?;
    print::table("", &replicas::table(seen));

    print::gap();
    let steps = ["baton", "handover-to-hpa, baton", "handover-to-hpa", "kube-controller-manager (scale)"];
    claims.equal("the number went from Baton by the stand-in to the autoscaler", &holders(seen), &steps)?;
    never_fell(seen, claims)?;
    stage.settled(5).await?;
    let children = stage.all_children().await?;
    let kinds = children.iter().map(|(kind, _)| *kind).collect::<Vec<_>>();
    claims.equal("the HorizontalPodAutoscaler is the fourth child", &kinds, &ChildKind::ALL)?;
    one_entry_each(&children, claims)?;
    stage.show_workload().await
}

/// Who held the number, each change once.
pub(super) fn holders(seen: &[Sighting]) -> Vec<String> {
    changes(seen, |live| Replicas::of(live).holders.describe())
        .into_iter()
        .map(|(_, holders)| holders)
        .collect()
}

/// Claims that neither the number nor the pods ever became fewer.
pub(super) fn never_fell(seen: &[Sighting], claims: &mut Claims) -> anyhow::Result<()> {
    let numbers = changes(seen, |live| Replicas::of(live).count).into_iter().map(|(_, number)| number);
    let told: Vec<String> = numbers.clone().map(|number| number.to_string()).collect();
    let claim = format!("replicas never fell, in {} writes: {}", seen.len() - 1, told.join(" → "));
    claims.equal(&claim, &first_fall(numbers), &None)?;
    let pods = seen.iter().map(|seen| ready(&seen.live));
    Ok(claims.equal("and at no time were fewer pods ready than before", &first_fall(pods), &None)?)
}

fn scaled(deployment: &LiveObject) -> bool {
    let holders = Replicas::of(deployment).holders;
    !holders.scale.is_empty() && !holders.baton && !holders.temporary
}
