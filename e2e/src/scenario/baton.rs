//! Baton in a scenario.

use super::subject::{Subject, failed};
use crate::{Operator, OperatorOptions};

impl Subject {
    /// Starts Baton for the namespace of this scenario. Dropping the returned operator stops it, and panics if a prediction of Baton's
    /// own was wrong.
    pub async fn baton(&self) -> Operator {
        let options = OperatorOptions {
            namespace: Some(self.namespace().to_owned()),
            name: Some(format!("baton-{}", self.namespace())),
            ..OperatorOptions::default()
        };
        Operator::start(self.server().cluster(), options).await.unwrap_or_else(failed)
    }
}
