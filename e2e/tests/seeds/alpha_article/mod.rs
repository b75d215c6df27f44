//! An article about server-side apply in Kubernetes 1.14, where it was alpha behind a feature gate.

mod apply;
mod clients;
mod comparison;
mod plain;
mod state;

use baton_e2e::scenario::{Play, Scene, builtin};
use baton_testbed::Json;

pub const PLAYS: &[&[Play]] = &[apply::PLAYS, clients::PLAYS, comparison::PLAYS, state::PLAYS];

/// The image of the container, spelled as in conflicts.
const IMAGE: &str = r#".spec.template.spec.containers[name="nginx"].image"#;

/// Makes the Deployment of the article the subject.
async fn of_nginx(s: &mut Scene) {
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
fn last_sent(s: &Scene) -> &Json {
    s.recorded().last().and_then(|step| step.sent.as_ref()).expect("something was sent")
}
