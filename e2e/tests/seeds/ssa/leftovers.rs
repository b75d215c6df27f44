//! Defaults and copies of the server that no manager owns stay when the intent changes.

use baton_e2e::{
    scenario::{Subject, builtin::DEPLOYMENT},
    scenario_list,
};

scenario_list! {
    a_default_without_an_owner_blocks_a_change,
    a_copy_without_an_owner_restores_a_field,
}

const ROLLING: &str = "
    metadata: {labels: {app: nginx}}
    spec:
      replicas: 0
      selector: {matchLabels: {app: nginx}}
      template:
        metadata: {labels: {app: nginx}}
        spec: {containers: [{name: nginx, image: 'nginx:1.14.2'}]}";

const RECREATE: &str = "
    metadata: {labels: {app: nginx}}
    spec:
      replicas: 0
      selector: {matchLabels: {app: nginx}}
      strategy: {type: Recreate}
      template:
        metadata: {labels: {app: nginx}}
        spec: {containers: [{name: nginx, image: 'nginx:1.14.2'}]}";

/// The intent with the server's default, at its live value.
const WITH_DEFAULT: &str = "
    metadata: {labels: {app: nginx}}
    spec:
      replicas: 0
      selector: {matchLabels: {app: nginx}}
      strategy: {rollingUpdate: {maxSurge: 25%, maxUnavailable: 25%}}
      template:
        metadata: {labels: {app: nginx}}
        spec: {containers: [{name: nginx, image: 'nginx:1.14.2'}]}";

async fn a_default_without_an_owner_blocks_a_change(s: &mut Subject) {
    s.of(DEPLOYMENT).await;
    s.apply_as("ci", ROLLING).await;
    s.expect(".spec.strategy.rollingUpdate.maxSurge", "25%");
    s.expect_no_owner(".spec.strategy.rollingUpdate.maxSurge");
    s.apply_as("ci", RECREATE)
        .is_refused(
            422,
            "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
        )
        .await;
    s.apply_as("ci", WITH_DEFAULT).await;
    s.expect_owner(".spec.strategy.rollingUpdate.maxSurge", "ci (Apply)");
    s.apply_as("ci", RECREATE).await;
    s.expect_absent(".spec.strategy.rollingUpdate");
}

fn with_account(account: &str) -> String {
    format!(
        "metadata: {{labels: {{app: nginx}}}}
spec:
  replicas: 0
  selector: {{matchLabels: {{app: nginx}}}}
  template:
    metadata: {{labels: {{app: nginx}}}}
    spec:
      {account}
      containers: [{{name: nginx, image: 'nginx:1.14.2'}}]"
    )
}

async fn a_copy_without_an_owner_restores_a_field(s: &mut Subject) {
    s.of(DEPLOYMENT).await;
    s.apply_as("ci", &with_account("serviceAccountName: powerful")).await;
    s.expect(".spec.template.spec.serviceAccount", "powerful");
    s.expect_no_owner(".spec.template.spec.serviceAccount");
    s.apply_as("ci", &with_account("")).await;
    s.expect(".spec.template.spec.serviceAccountName", "powerful");
    s.expect_no_owner(".spec.template.spec.serviceAccountName");
    s.apply_as("ci", &with_account("serviceAccountName: powerful\n      serviceAccount: powerful")).await;
    s.apply_as("ci", &with_account("")).await;
    s.expect_absent(".spec.template.spec.serviceAccountName");
    s.expect_absent(".spec.template.spec.serviceAccount");
}
