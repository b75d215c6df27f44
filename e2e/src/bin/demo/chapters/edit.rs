//! A user changes a field that Baton owns.

use baton_controller::decide::child::ChildKind;
use baton_e2e::{
    Table,
    containers::{image, image_owner_names},
};
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::{
    claims::Claims,
    demo::{Demo, NAME},
    print,
    recorder::changes,
};

const OURS: &str = "nginx:1.29";
const THEIRS: &str = "nginx:hotfix";

pub(crate) async fn show(demo: &Demo, claims: &mut Claims) -> anyhow::Result<()> {
    print::heading(5, "Baton corrects a change by another manager");
    print::text(
        "A user sets another image in the Deployment. The API server accepts it, and the user's manager owns the field. But the \
         Workload specifies the image, so Baton takes the field back.",
    );
    print::code(&format!("$ kubectl set image deployment/web app={THEIRS}"));
    let mut recorder = demo.record(NAME).await?;
    set_image(demo).await?;
    recorder.until("the edit to be stored", |live| image(live, "app") == THEIRS).await?;
    recorder.until("the image to be put back", |live| image(live, "app") == OURS).await?;

    let mut table = Table::new(["IMAGE", "OWNED BY"]);
    let mut owners = Vec::new();
    for (image, owner) in changes(recorder.writes().await?, |live| {
        (image(live, "app").to_owned(), image_owner_names(live, "app").join(", "))
    }) {
        table.row([image, owner.clone()]);
        owners.push(owner);
    }
    print::table("", &table);
    print::gap();
    let expected = ["baton (Apply)", "kubectl-set (Update)", "baton (Apply)"];
    claims.equal("the edit took the field over, and Baton took it back", &owners, &expected)?;
    let managers = demo.deployment().await?.managers();
    let theirs = managers.iter().filter(|manager| *manager == "kubectl-set").count();
    claims.equal("nothing of the edit is left, not even in managedFields", &theirs, &0)?;
    let takeovers = demo.workload().await?.status.unwrap_or_default().takeovers;
    print::text("The Workload reports it in its status:");
    print::code(&baton_merge::yaml::to_string(&json!({"takeovers": takeovers}))?);
    print::gap();
    let reported: Vec<_> = takeovers.iter().map(|takeover| (&*takeover.manager, &*takeover.path)).collect();
    let image = r#".spec.template.spec.containers[name="app"].image"#;
    claims.equal(
        "the status has the field and the manager it was taken from",
        &reported,
        &[("kubectl-set", image)],
    )?;
    demo.settled(5).await
}

/// The request of `kubectl set image`.
async fn set_image(demo: &Demo) -> anyhow::Result<()> {
    let containers = json!({
        "$setElementOrder/containers": [{"name": "app"}], "containers": [{"name": "app", "image": THEIRS}],
    });
    let patch = Patch::Strategic(json!({"spec": {"template": {"spec": containers}}}));
    let params = PatchParams { field_manager: Some("kubectl-set".to_owned()), ..PatchParams::default() };
    demo.children(ChildKind::Deployment).patch(NAME, &params, &patch).await?;
    Ok(())
}
