//! An article about server-side apply in Kubernetes 1.14, where it was alpha behind a feature gate.

mod apply;
mod clients;
mod comparison;
mod plain;
mod state;

use baton_e2e::scenario::{Scenario, Subject, builtin};
use baton_testbed::Json;

pub const SCENARIOS: &[&[Scenario]] =
    &[apply::SCENARIOS, clients::SCENARIOS, comparison::SCENARIOS, state::SCENARIOS];

/// The image of the container, spelled as in conflicts.
const IMAGE: &str = r#".spec.template.spec.containers[name="nginx"].image"#;

/// Makes the Deployment of the article the subject.
async fn of_nginx(s: &mut Subject) {
    s.named("nginx").await;
    s.of(builtin::DEPLOYMENT).await;
}

/// The manifest of the article, with this image.
fn nginx(image: &str) -> String {
    format!(
        "spec:
  selector: {{matchLabels: {{app: nginx}}}}
  template:
    metadata: {{labels: {{app: nginx}}}}
    spec: {{containers: [{{name: nginx, image: '{image}'}}]}}"
    )
}

/// The body that was sent last.
fn last_sent(s: &Subject) -> &Json {
    s.recorded().last().and_then(|step| step.sent.as_ref()).expect("something was sent")
}
