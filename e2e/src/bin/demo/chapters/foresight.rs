//! Baton predicts what a change would write; and a pass without changes sends nothing.

use baton_crd::{Mode, PlannedAction, Workload};
use baton_e2e::containers::image;
use baton_testbed::{AuditEntries, Mark, PATIENCE, wait_for};
use kube::api::Patch;
use serde_json::json;

use crate::{
    claims::Claims,
    demo::{Demo, NAME},
    print,
};

const NEXT_IMAGE: &str = "nginx:1.30";

pub(crate) async fn show(demo: &Demo, claims: &mut Claims) -> anyhow::Result<()> {
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
    let before = demo.cluster().audit()?.mark()?;
    demo.patch_workload(Patch::Json(serde_json::from_str(&patch)?)).await?;
    let plan = observed(demo, Mode::Preview).await?.status.unwrap_or_default().plan;
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
    claims.equal("Baton wrote no child", &written(demo, before)?.len(), &0)?;

    print::text("Then the mode is Enforce, which is the default:");
    let enforce = r#"{"spec": {"mode": "Enforce"}}"#;
    print::code(&format!("$ kubectl patch bwl {NAME} --type merge -p '{enforce}'"));
    demo.patch_workload(Patch::Merge(serde_json::from_str(enforce)?)).await?;
    observed(demo, Mode::Enforce).await?;
    demo.settled(6).await?;
    print::gap();
    let kinds: Vec<_> = demo.all_children().await?.iter().map(|(kind, _)| kind.name()).collect();
    claims.equal("the disruption budget is gone", &kinds, &["Deployment", "Service"])?;
    claims.equal("the image is the new one", &image(&demo.deployment().await?, "app"), &NEXT_IMAGE)?;
    let verbs: Vec<_> = written(demo, before)?.iter().map(|request| request.verb.clone()).collect();
    claims.equal("that took one deletion and one apply", &verbs, &["delete", "patch"])?;

    let before = demo.cluster().audit()?.mark()?;
    let passes = passes(demo).await?;
    demo.reconcile_all().await?;
    wait_for("a reconcile", PATIENCE, async || {
        let is_one = self::passes(demo).await? > passes;
        anyhow::Ok(if is_one { Ok(()) } else { Err(format!("{passes} reconciles")) })
    })
    .await?;
    claims.equal("another pass over everything sends no write", &written(demo, before)?.len(), &0)?;
    let metrics = demo.metrics().await?;
    let wrong = metrics.count("baton_predictions_total", &[("outcome", "mismatch")]);
    claims.equal("no prediction in this whole demo was wrong", &wrong, &0)?;
    Ok(())
}

/// The Workload, once its status is about the spec with this mode.
async fn observed(demo: &Demo, mode: Mode) -> anyhow::Result<Workload> {
    let is_observed = |workload: &Workload| {
        let observed = workload.status.as_ref().and_then(|status| status.observed_generation);
        workload.spec.mode == mode && observed == workload.metadata.generation
    };
    wait_for("the status of this spec", PATIENCE, async || {
        let workload = demo.workload().await?;
        Ok(if is_observed(&workload) { Ok(workload) } else { Err(format!("{:?}", workload.status)) })
    })
    .await
}

/// How many passes of the loop have ended.
async fn passes(demo: &Demo) -> anyhow::Result<u64> {
    Ok(demo.metrics().await?.count("baton_reconciles_total", &[]))
}

/// Baton's writes since then, without statuses, Events and its lease.
fn written(demo: &Demo, since: Mark) -> anyhow::Result<AuditEntries> {
    let writes = demo.cluster().audit()?.since(since)?.by(demo.user()).writes();
    let is_about_a_child = |resource: &str| !matches!(resource, "workloads" | "events" | "leases");
    Ok(writes
        .that(|request| !request.is_dry_run() && request.resource.as_deref().is_some_and(is_about_a_child)))
}
