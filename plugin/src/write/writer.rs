//! One write of an object: predicted, tried by the server, compared, and sent.

use std::sync::Arc;

use baton_apply::{
    ApiError, Applier, DryRun, Guard, LiveObject, Outcome, Prediction, PreparedWrite, Request, Schemas,
    ownership::LAST_APPLIED,
};
use jiff::Timestamp;
use kube::ResourceExt as _;

use super::DryRunStrategy;
use crate::{
    cluster::{ClusterError, Connection, name_of},
    error::CommandError,
    model::{FieldChange, Write},
};

/// The manager of `kubectl apply --server-side`.
pub(crate) const KUBECTL: &str = "kubectl";

/// How a write ended, or would end.
#[derive(Debug)]
pub(crate) struct Written {
    /// The object before.
    pub(crate) before: Option<LiveObject>,
    /// The request with its prediction.
    pub(crate) write: PreparedWrite,
    /// The server's outcome; none if it wasn't sent.
    pub(crate) outcome: Option<Outcome>,
    /// The server's warnings.
    pub(crate) warnings: Vec<String>,
}

/// How often a write is made again because the object has changed in between.
const MOST_RETRIES: u32 = 3;

/// Predicts writes, and sends them.
pub(crate) struct Writer {
    pub(crate) schemas: Arc<Schemas>,
    /// Absent without a cluster.
    applier: Option<(Applier, Connection)>,
}

impl Writer {
    pub(crate) fn new(schemas: Arc<Schemas>, connection: Option<&Connection>) -> Self {
        let applier = connection.map(|connection| (connection.applier(), connection.clone()));
        Self { schemas, applier }
    }

    /// Predicts a write.
    pub(crate) fn predict(&self, request: Request, before: Option<&LiveObject>) -> Written {
        let write = self.schemas.prepare_exact(request, before, Timestamp::now());
        let write = self.schemas.as_stored(write, before);
        Written { before: before.cloned(), write, outcome: None, warnings: Vec::new() }
    }

    /// Has the server try a write without storing it, unless only the prediction is asked for. A user who may not do that gets the
    /// prediction, too.
    pub(crate) async fn try_out(
        &self,
        before: Option<LiveObject>,
        asked: DryRunStrategy,
        mut request: impl AsyncFnMut(Option<&LiveObject>) -> Result<Request, CommandError>,
    ) -> Result<Written, CommandError> {
        if asked != DryRunStrategy::Client {
            match self.write(before.clone(), DryRunStrategy::Server, &mut request).await {
                Err(CommandError::Cluster(ClusterError::Forbidden { .. })) => {}
                written => return written,
            }
        }
        self.write(before, DryRunStrategy::Client, request).await
    }

    /// Does a write as far as it is to go. `request` makes it for an object as it was read last, and is called again if the object
    /// has changed in between.
    pub(crate) async fn write(
        &self,
        mut before: Option<LiveObject>,
        dry_run: DryRunStrategy,
        mut request: impl AsyncFnMut(Option<&LiveObject>) -> Result<Request, CommandError>,
    ) -> Result<Written, CommandError> {
        let mut retries = 0;
        loop {
            let made = request(before.as_ref()).await?;
            let target = made.target.clone();
            let (Some((applier, connection)), true) = (&self.applier, dry_run != DryRunStrategy::Client)
            else {
                return Ok(self.predict(made, before.as_ref()));
            };
            let write = self.schemas.prepare_exact(made, before.as_ref(), Timestamp::now());
            let is_dry = if dry_run == DryRunStrategy::Server { DryRun::Yes } else { DryRun::No };
            let response = applier.send(&write.request, is_dry).await;
            let outcome = self.schemas.settle(&write, before.as_ref(), response, is_dry);
            let failed = |error| connection.failed(format!("write {}", name_of(&target)), error).into();
            match outcome {
                Outcome::Stale { ref error, expected: false }
                    if retries < MOST_RETRIES && !error.is_ownership_conflict() =>
                {
                    retries += 1;
                    before = connection.find(&target).await?;
                }
                Outcome::Failed(error) => return Err(failed(error)),
                Outcome::Rejected { error, .. } if lacks_permission(&error) => return Err(failed(error)),
                outcome => {
                    let write = match write.prediction {
                        Ok(Prediction::Conflicts(_)) => self.schemas.as_stored(write, before.as_ref()),
                        _ => write,
                    };
                    let warnings = connection.warnings.take();
                    return Ok(Written { before, write, outcome: Some(outcome), warnings });
                }
            }
        }
    }
}

impl Written {
    /// The object afterwards, as the server returned it, or else as it is predicted; none if the write is refused.
    pub(crate) fn after(&self) -> Option<&LiveObject> {
        match (&self.outcome, &self.write.prediction) {
            (Some(Outcome::Stored { object, .. }), _) => Some(object),
            (None, Ok(Prediction::Stored(stored))) => Some(&stored.object),
            (None, Ok(Prediction::NoOp)) => self.before.as_ref(),
            _ => None,
        }
    }

    /// The object afterwards, for the next prediction: a predicted object with another version than the one before.
    pub(crate) fn into_after(self) -> Result<Option<LiveObject>, CommandError> {
        match (self.outcome, self.write.prediction) {
            (Some(Outcome::Stored { object, .. }), _) => Ok(Some(object)),
            (None, Ok(Prediction::Stored(stored))) => {
                let returned = stored.returned(self.before.as_ref());
                returned.map(Some).map_err(CommandError::format("an object"))
            }
            (None | Some(Outcome::Skipped), Ok(Prediction::NoOp)) => Ok(self.before),
            _ => Ok(None),
        }
    }

    /// Its changes of single fields.
    pub(crate) fn changes(&self) -> Vec<FieldChange> {
        let write = self.as_write();
        match (&self.outcome, &self.write.prediction) {
            (Some(Outcome::Stored { changed: false, .. }), _) => Vec::new(),
            // A dry run confirms no effects, but shows the object.
            (Some(Outcome::Stored { object, .. }), Ok(Prediction::Stored(stored)))
                if self.is_unstored(object) =>
            {
                write.changes(&stored.effects, object)
            }
            (Some(Outcome::Stored { object, effects, .. }), _) => write.changes(effects, object),
            (_, Ok(Prediction::Conflicts(conflicts))) => FieldChange::conflicts(conflicts),
            (None, Ok(Prediction::Stored(stored))) => write.changes(&stored.effects, &stored.object),
            _ => Vec::new(),
        }
    }

    /// The values of the object before that differ in another state of it, or are gone, by any change.
    pub(crate) fn other_values(&self, after: &LiveObject) -> Vec<FieldChange> {
        self.as_write().other_values(after)
    }

    fn as_write(&self) -> Write<'_> {
        Write { before: self.before.as_ref(), manager: self.write.request.manager() }
    }

    /// Whether a response has the version that was read.
    fn is_unstored(&self, object: &LiveObject) -> bool {
        self.before.as_ref().is_some_and(|before| before.revision() == object.revision())
    }
}

/// The guard of an apply of an object as it was read.
pub(crate) fn guard(live: &LiveObject, manager: &str) -> Guard {
    // The server keeps the annotation of client-side apply up to date with what `kubectl` applies, as it is, with its guards:
    // `lastAppliedManager` in k8s.io/apimachinery's managedfields.
    if manager == KUBECTL && live.annotations().contains_key(LAST_APPLIED) {
        Guard::Nothing
    } else {
        Guard::Unchanged(live.revision())
    }
}

/// Whether the user may not write. Admission plugins, such as that of Pod Security, refuse objects with the same code.
fn lacks_permission(error: &ApiError) -> bool {
    match error {
        ApiError::Response(status) => {
            status.code == 401 || status.code == 403 && status.message.contains("is forbidden: User ")
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    #[test]
    fn only_a_user_who_may_not_write_lacks_a_permission() {
        let refused = |message: &str, code| {
            lacks_permission(&ApiError::Response(Box::new(
                Status::failure(message, "Forbidden").with_code(code),
            )))
        };
        assert!(refused(
            "deployments.apps \"web\" is forbidden: User \"ci\" cannot patch resource \"deployments\"",
            403
        ));
        assert!(refused("Unauthorized", 401));
        assert!(!refused(
            "pods \"web\" is forbidden: exceeded quota: few, requested: pods=1, used: pods=9, limited: pods=9",
            403
        ));
        assert!(!refused("admission webhook \"policy.example.com\" denied the request: no", 403));
    }
}
