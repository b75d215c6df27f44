//! Baton predicts what a change would write; and a pass without changes sends nothing.

use baton_crd::{Mode, PlannedAction, Workload};
use baton_e2e::containers::image;
use baton_testbed::{AuditEntries, Mark, PATIENCE, wait_for};
use kube::api::Patch;
use serde_json::json;

use crate::{
    claims::Claims,
    print,
    stage::{NAME, Stage},
};

const NEXT_IMAGE: &str = "nginx:1.30";

pub(crate) async fn play(stage: &Stage, claims: &mut Claims) -> anyhow::Result<()> {
    print::heading(9, "Baton predicts what it would write");
    print::text(
        "The Workload gets another image and loses its disruption budget, first in the mode Preview. Baton predicts the result of \
         each write, compares it with a dry run, and writes only the Workload's status.",
    );
    let patch = format!(
        r#"[
    {{"op":"replace","path":"/spec/template/spec/containers/0/image",
     "value":"{NEXT_IMAGE}"}},
    {{"op":"remove","path":"/spec/disruptionBudget"}},
    {{"op":"add","path":"/spec/mode","value":"Preview"}}]"#
    );
    print::code(&format!("$ kubectl patch bwl {NAME} --type json -p '{patch}'"));
    let before = stage.cluster().audit()?.mark()?;
    stage.patch_workload(Patch::Json(serde_json::from_str(&patch)?)).await?;
    let plan = observed(stage, Mode::Preview).await?.status.unwrap_or_default().plan;
    print::text("The status shows the plan:");
    print::code(&baton_merge::yaml::to_string(&json!({"plan": plan}))?);

    print::gap();
    let planned: Vec<_> = plan.iter().map(|child| (child.kind.as_str(), child.action)).collect();
    let expected = [
        ("Deployment", PlannedAction::Update),
        ("Service", PlannedAction::Nothing),
        ("PodDisruptionBudget", PlannedAction::Delete),
    ];
    claims.equal("the plan has one update and one deletion", &planned, &expected)?;
    let dry_runs: Vec<_> = plan.iter().map(|child| format!("{:?}", child.dry_run)).collect();
    claims.equal("the API server's dry run agrees with each prediction", &dry_runs, &["Agreed"; 3])?;
    claims.equal("Baton wrote no child", &written(stage, before)?.len(), &0)?;

    print::text("Then the mode is Enforce, which is the default:");
    let enforce = r#"{"spec": {"mode": "Enforce"}}"#;
    print::code(&format!("$ kubectl patch bwl {NAME} --type merge -p '{enforce}'"));
    stage.patch_workload(Patch::Merge(serde_json::from_str(enforce)?)).await?;
    observed(stage, Mode::Enforce).await?;
    stage.settled(6).await?;
    print::gap();
    let kinds: Vec<_> = stage.all_children().await?.iter().map(|(kind, _)| kind.name()).collect();
    claims.equal("the disruption budget is gone", &kinds, &["Deployment", "Service"])?;
    claims.equal("the image is the new one", &image(&stage.deployment().await?, "app"), &NEXT_IMAGE)?;
    let verbs: Vec<_> = written(stage, before)?.iter().map(|request| request.verb.clone()).collect();
    claims.equal("that took one deletion and one apply", &verbs, &["delete", "patch"])?;

    let before = stage.cluster().audit()?.mark()?;
    let passes = passes(stage).await?;
    stage.reconcile_all().await?;
    wait_for("a reconcile", PATIENCE, async || {
        let is_one = self::passes(stage).await? > passes;
        anyhow::Ok(if is_one { Ok(()) } else { Err(format!("{passes} reconciles")) })
    })
    .await?;
    claims.equal("another pass over everything sends no write", &written(stage, before)?.len(), &0)?;
    let metrics = stage.metrics().await?;
    let wrong = metrics.count("baton_predictions_total", &[("outcome", "mismatch")]);
    claims.equal("no prediction in this whole demo was wrong", &wrong, &0)?;
    Ok(())
}

/// The Workload, once its status is about the spec with this mode.
async fn observed(stage: &Stage, mode: Mode) -> anyhow::Result<Workload> {
    let is_observed = |workload: &Workload| {
        let observed = workload.status.as_ref().and_then(|status| status.observed_generation);
        workload.spec.mode == mode && observed == workload.metadata.generation
    };
    wait_for("the status of this spec", PATIENCE, async || {
        let workload = stage.workload().await?;
        Ok(if is_observed(&workload) { Ok(workload) } else { Err(format!("{:?}", workload.status)) })
    })
    .await
}

/// How many passes of the loop have ended.
async fn passes(stage: &Stage) -> anyhow::Result<u64> {
    Ok(stage.metrics().await?.count("baton_reconciles_total", &[]))
}

/// What Baton wrote since, without statuses, Events and its lease.
fn written(stage: &Stage, since: Mark) -> anyhow::Result<AuditEntries> {
    let writes = stage.cluster().audit()?.since(since)?.by(stage.user()).writes();
    let is_about_a_child = |resource: &str| !matches!(resource, "workloads" | "events" | "leases");
    Ok(writes
        .that(|request| !request.is_dry_run() && request.resource.as_deref().is_some_and(is_about_a_child)))
}
