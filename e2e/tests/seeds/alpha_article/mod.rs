//! An article about server-side apply as it was in Kubernetes 1.14, where it was new and had to be allowed first.

mod apply;
mod clients;
mod comparison;
mod plain;
mod state;

use baton_e2e::scenario::{Document, Scene, Section, builtin};
use baton_testbed::Json;

const DOCUMENT: Document = Document { title: "Server-side apply in Kubernetes 1.14" };

pub fn sections() -> Vec<Section> {
    vec![
        apply::INTRODUCTION,
        apply::APPLY,
        apply::SERVER_SIDE,
        apply::SETUP,
        comparison::KUBECTL,
        comparison::COMPARISON,
        state::SECTION,
        clients::LIBRARY,
        clients::CURL,
        clients::IMPRESSIONS,
    ]
}

/// The image of the container, spelled as in conflicts.
const IMAGE: &str = r#".spec.template.spec.containers[name="nginx"].image"#;

/// Turns to the Deployment of the article.
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

/// What was sent last.
fn last_sent(s: &Scene) -> &Json {
    s.recorded().last().and_then(|step| step.sent.as_ref()).expect("something was sent")
}
