//! The enhancement proposal "Dry-run".

mod admission;
mod answers;
mod generated;
mod kinds;
mod kubectl;
mod storage;
mod trigger;
pub mod webhooks;

use baton_e2e::scenario::{Document, Section};

const DOCUMENT: Document = Document { title: "Dry-run" };

pub fn sections() -> Vec<Section> {
    vec![
        answers::SECTION,
        kinds::SECTION,
        kubectl::GRADUATION,
        trigger::SECTION,
        admission::SECTION,
        webhooks::SECTION,
        generated::SECTION,
        storage::SECTION,
        kubectl::SECTION,
    ]
}

/// A Deployment with one container.
const DEPLOYMENT: &str = "
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: app, image: nginx}]}
";
