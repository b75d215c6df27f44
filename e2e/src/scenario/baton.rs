//! Baton on a scene.

use super::scene::{Scene, failed};
use crate::{Operator, OperatorOptions};

impl Scene {
    /// Starts Baton for the namespace of this scene. It works until what is returned is dropped, which panics if Baton itself has
    /// predicted anything wrongly.
    pub async fn baton(&self) -> Operator {
        let options = OperatorOptions {
            namespace: Some(self.namespace().to_owned()),
            name: Some(format!("baton-{}", self.namespace())),
            ..OperatorOptions::default()
        };
        Operator::start(self.stage().cluster(), options).await.unwrap_or_else(failed)
    }
}
