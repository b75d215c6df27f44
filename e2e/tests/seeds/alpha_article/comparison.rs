//! kubectl's flags for server-side apply, and a conflict with an edit.

use baton_e2e::{scenario::Subject, scenario_list};

use super::{IMAGE, nginx, of_nginx};

scenario_list! {
    only real, because "of kubectl":
    the_flags_of_the_alpha_are_gone, server_side_apply_conflicts_with_an_edit,
    a_conflict_is_resolved_in_the_manifest;
}

async fn the_flags_of_the_alpha_are_gone(s: &mut Subject) {
    of_nginx(s).await;
    for flag in ["server-side", "field-manager=me", "force-conflicts"] {
        s.kubectl(&format!("apply --experimental-{flag} -f -"))
            .reading(&nginx("nginx"))
            .fails("unknown flag: --experimental-")
            .sends(&[])
            .await;
    }
    s.expect_absent("");
}

async fn server_side_apply_conflicts_with_an_edit(s: &mut Subject) {
    of_nginx(s).await;
    s.kubectl("apply --server-side -f -").reading(&nginx("nginx")).await;
    s.kubectl("set image deployment nginx nginx=nginx:1.15").prints("image updated").await;
    s.expect(IMAGE, "nginx:1.15");
    let output = s
        .kubectl("apply --server-side -f -")
        .reading(&nginx("nginx"))
        .fails(&format!(
            "Apply failed with 1 conflict: conflict with \"kubectl-set\" using apps/v1: {IMAGE}\n"
        ))
        .await;
    assert!(output.stderr.contains("--force-conflicts"), "{output}");
    s.expect(IMAGE, "nginx:1.15");
    s.expect_owner(IMAGE, "kubectl-set (Update)");
    let refused = s.apply_as("kubectl", &nginx("nginx")).conflicts_with("kubectl-set", IMAGE).await;
    assert!(!refused.body.to_string().contains(" at 20"), "the conflict has a time: {}", refused.body);
}

async fn a_conflict_is_resolved_in_the_manifest(s: &mut Subject) {
    of_nginx(s).await;
    s.kubectl("apply --server-side -f -").reading(&nginx("nginx")).await;
    s.kubectl("set image deployment nginx nginx=nginx:1.15").await;
    let difference = "-      - image: nginx:1.15\n+      - image: nginx\n";
    s.kubectl("diff -f -").reading(&nginx("nginx")).fails("").prints(difference).await;
    s.kubectl("diff --server-side -f -").reading(&nginx("nginx")).fails("Apply failed with 1 conflict").await;
    let forced = "diff --server-side --force-conflicts -f -";
    s.kubectl(forced).reading(&nginx("nginx")).fails("").prints(difference).await;
    s.expect(IMAGE, "nginx:1.15");

    s.kubectl("diff --server-side -f -").reading(&nginx("nginx:1.15")).await;
    s.kubectl("apply --server-side -f -").reading(&nginx("nginx:1.15")).await;
    s.expect_owners(IMAGE, &["kubectl (Apply)", "kubectl-set (Update)"]);
}
