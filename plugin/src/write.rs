//! One write of an object: predicted, tried by the server, compared, and sent.

use std::io;

use baton_apply::{
    ApiError, Applier, Comparison, DryRun, Guard, LiveObject, Obstacle, Outcome, Prediction, PreparedWrite,
    Request, Schemas, Tries, ownership::LAST_APPLIED, spelling::Types,
};
use baton_merge::server::Certainty;
use clap::{Args, builder::TypedValueParser};
use jiff::Timestamp;
use kube::ResourceExt as _;
use serde::Serialize;

use crate::{
    Terminal,
    cluster::{ClusterError, Connection, name_of},
    failure::{Exit, Failure},
    intents::KUBECTL,
    view::{Change, ChangeKind, Changing, GREEN, PLAIN, RED, Secrecy, Table, YELLOW},
};

/// How far a write goes, by kubectl's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DryRunStrategy {
    /// It is stored.
    None,
    /// It is predicted here, and not sent.
    Client,
    /// The server does everything but store it.
    Server,
}

/// Reads the value of `--dry-run` as the KEP on dry runs has it: the three words, or a boolean, which is deprecated.
#[derive(Clone)]
pub(crate) struct DryRunParser;

/// What is said of a boolean, in the words of kubectl.
const DEPRECATED: &str = "Boolean values for --dry-run are deprecated and will be removed in a future version. \
                          Must be \"none\", \"server\", or \"client\".";

impl TypedValueParser for DryRunParser {
    type Value = (DryRunStrategy, bool);

    fn parse_ref(
        &self,
        _command: &clap::Command,
        _arg: Option<&clap::Arg>,
        value: &std::ffi::OsStr,
    ) -> Result<Self::Value, clap::Error> {
        match value.to_string_lossy().as_ref() {
            "none" => Ok((DryRunStrategy::None, false)),
            "client" => Ok((DryRunStrategy::Client, false)),
            "server" => Ok((DryRunStrategy::Server, false)),
            // As Go's ParseBool reads them.
            "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok((DryRunStrategy::Client, true)),
            "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok((DryRunStrategy::None, true)),
            other => Err(clap::Error::raw(
                clap::error::ErrorKind::InvalidValue,
                format!("Invalid dry-run value ({other}). Must be \"none\", \"server\", or \"client\".\n"),
            )),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = clap::builder::PossibleValue> + '_>> {
        Some(Box::new(["none", "client", "server"].map(clap::builder::PossibleValue::new).into_iter()))
    }
}

/// The flag that says how far a write goes.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct DryRunArgs {
    /// none: send the write. client: predict it here and send nothing. server: have the server try it without storing it, and compare
    /// its response with the prediction.
    #[arg(
        long,
        num_args = 0..=1,
        default_value = "none",
        default_missing_value = "",
        value_parser = DryRunParser,
        value_name = "none|client|server",
        hide_possible_values = true,
        hide_default_value = true
    )]
    dry_run: (DryRunStrategy, bool),
}

impl DryRunStrategy {
    fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

impl DryRunArgs {
    /// How far the write goes. Warns of a boolean.
    pub(crate) fn get(self, terminal: &mut Terminal) -> io::Result<DryRunStrategy> {
        let (dry_run, is_boolean) = self.dry_run;
        if is_boolean {
            writeln!(terminal.err, "{YELLOW}warning:{YELLOW:#} {DEPRECATED}")?;
        }
        Ok(dry_run)
    }
}

/// How a write ended, or would end.
#[derive(Debug)]
pub(crate) struct Written {
    /// The object before.
    pub(crate) before: Option<LiveObject>,
    /// What was predicted.
    pub(crate) write: PreparedWrite,
    /// What the server did with it; none if it wasn't asked.
    pub(crate) outcome: Option<Outcome>,
    /// What the server warned about.
    pub(crate) warnings: Vec<String>,
}

/// Predicts writes, and sends them.
pub(crate) struct Writer {
    pub(crate) schemas: Schemas,
    types: Types,
    /// Absent without a cluster.
    applier: Option<(Applier, Connection)>,
}

impl Writer {
    pub(crate) fn new((schemas, types): (Schemas, Types), connection: Option<&Connection>) -> Self {
        let applier = connection.map(|connection| (connection.applier(), connection.clone()));
        Self { schemas, types, applier }
    }

    /// Predicts a write.
    pub(crate) fn predict(&self, request: Request, before: Option<&LiveObject>) -> Written {
        let write = self.schemas.prepare_itself(request, before, Tries::default(), Timestamp::now());
        let write = self.schemas.as_stored(write, before, &self.types);
        Written { before: before.cloned(), write, outcome: None, warnings: Vec::new() }
    }

    /// Has the server try a write without storing it, unless only the prediction is asked for. Whoever may not do that gets the
    /// prediction, too.
    pub(crate) async fn try_out(
        &self,
        before: Option<LiveObject>,
        asked: DryRunStrategy,
        mut request: impl AsyncFnMut(Option<&LiveObject>) -> Result<Request, Failure>,
    ) -> Result<Written, Failure> {
        let dry_run =
            if asked == DryRunStrategy::Client { DryRunStrategy::Client } else { DryRunStrategy::Server };
        match self.write(before.clone(), dry_run, &mut request).await {
            Err(Failure::Cluster(ClusterError::Forbidden { .. })) => {
                self.write(before, DryRunStrategy::Client, request).await
            }
            written => written,
        }
    }

    /// Does a write as far as it is to go. `request` makes it for an object as it was read last, and is called again if the object
    /// has changed in between.
    pub(crate) async fn write(
        &self,
        mut before: Option<LiveObject>,
        dry_run: DryRunStrategy,
        mut request: impl AsyncFnMut(Option<&LiveObject>) -> Result<Request, Failure>,
    ) -> Result<Written, Failure> {
        let mut tries = Tries::default();
        loop {
            let made = request(before.as_ref()).await?;
            let target = made.target.clone();
            let (Some((applier, connection)), true) = (&self.applier, dry_run != DryRunStrategy::Client)
            else {
                return Ok(self.predict(made, before.as_ref()));
            };
            let write = self.schemas.prepare_itself(made, before.as_ref(), tries, Timestamp::now());
            let dry_run = if dry_run == DryRunStrategy::Server { DryRun::Yes } else { DryRun::No };
            let response = applier.send(&write.request, dry_run).await;
            let outcome = self.schemas.settle(&write, before.as_ref(), response, dry_run);
            match outcome {
                Outcome::Stale { ref error, expected: false }
                    if tries.are_guarded() && !error.is_ownership_conflict() =>
                {
                    tries.stale();
                    before = connection.find(&target).await?;
                }
                Outcome::Failed(error) => {
                    return Err(connection.failed(format!("write {}", name_of(&target)), error).into());
                }
                Outcome::Rejected { error, .. } if lacks_permission(&error) => {
                    return Err(connection.failed(format!("write {}", name_of(&target)), error).into());
                }
                outcome => {
                    let write = match write.prediction {
                        Ok(Prediction::Conflicts(_)) => {
                            self.schemas.as_stored(write, before.as_ref(), &self.types)
                        }
                        _ => write,
                    };
                    let warnings = connection.warnings.take();
                    return Ok(Written { before, write, outcome: Some(outcome), warnings });
                }
            }
        }
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

/// A write, for programs.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct WrittenReport {
    /// The object: `deployment.apps/web`.
    pub(crate) object: String,
    /// What became of it, or would become: `created`, `changed`, `unchanged`, `conflict`, `refused`.
    pub(crate) result: &'static str,
    /// `none`, `client` or `server`.
    pub(crate) dry_run: &'static str,
    /// Field by field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) changes: Vec<Change>,
    /// The server's message, if it refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
    /// How far the prediction goes, if the server wasn't asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) certainty: Option<String>,
    /// How the server's response compares with the prediction: `agreed`, `filledIn`, `uncertain` or `differs`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) prediction: Option<&'static str>,
    /// Where it differs.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) differences: Vec<String>,
    /// What the server warned about.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) warnings: Vec<String>,
}

impl WrittenReport {
    /// Of a write that couldn't be tried.
    pub(crate) fn failed(object: String, dry_run: DryRunStrategy, message: String) -> Self {
        Self {
            object,
            result: "refused",
            dry_run: dry_run.name(),
            changes: Vec::new(),
            message: Some(message),
            certainty: None,
            prediction: None,
            differences: Vec::new(),
            warnings: Vec::new(),
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

    /// What it does to single fields.
    pub(crate) fn changes(&self) -> Vec<Change> {
        let change = self.changing();
        match (&self.outcome, &self.write.prediction) {
            (Some(Outcome::Stored { changed: false, .. }), _) => Vec::new(),
            // A dry run confirms no effects, but shows the object.
            (Some(Outcome::Stored { object, .. }), Ok(Prediction::Stored(stored)))
                if self.is_unstored(object) =>
            {
                change.rows(&stored.effects, object)
            }
            (Some(Outcome::Stored { object, effects, .. }), _) => change.rows(effects, object),
            (_, Ok(Prediction::Conflicts(conflicts))) => Change::conflicts(conflicts),
            (None, Ok(Prediction::Stored(stored))) => change.rows(&stored.effects, &stored.object),
            _ => Vec::new(),
        }
    }

    /// The values that the object had before and that are others, or gone, in another state of it, whoever changed them.
    pub(crate) fn other_values(&self, after: &LiveObject) -> Vec<Change> {
        self.changing().other_values(after)
    }

    fn changing(&self) -> Changing<'_> {
        let secrecy = Secrecy::of(&self.write.request.target.resource);
        Changing { before: self.before.as_ref(), manager: self.write.request.manager(), secrecy }
    }

    /// What became of it, for programs.
    pub(crate) fn report(&self, dry_run: DryRunStrategy) -> WrittenReport {
        let (mut prediction, mut differences) = (None, Vec::new());
        let (result, message) = match &self.outcome {
            Some(Outcome::Stored { changed, comparison, .. }) => {
                match comparison {
                    Some(Comparison::Match) => prediction = Some("agreed"),
                    Some(Comparison::ModuloDefaulting) => prediction = Some("filledIn"),
                    Some(Comparison::Unknown(_)) => prediction = Some("uncertain"),
                    Some(Comparison::Mismatch(found)) => {
                        prediction = Some("differs");
                        differences = found.iter().map(ToString::to_string).collect();
                    }
                    None => {}
                }
                let result = match (&self.before, changed) {
                    (None, _) => "created",
                    (Some(_), false) => "unchanged",
                    (Some(_), true) => "changed",
                };
                (result, None)
            }
            Some(Outcome::Stale { error, expected } | Outcome::Rejected { error, expected }) => {
                let is_conflict = error.is_ownership_conflict();
                // Admission and validation aren't predicted.
                prediction = match (expected, is_conflict) {
                    (true, _) => Some("agreed"),
                    (false, true) => Some("differs"),
                    (false, false) => None,
                };
                let result = if is_conflict { "conflict" } else { "refused" };
                let message = Obstacle::explain(error.to_string(), error, &self.write, self.before.as_ref());
                (result, Some(message))
            }
            Some(Outcome::Skipped | Outcome::Deleted(_) | Outcome::Failed(_)) => ("unchanged", None),
            None => self.predicted_result(),
        };
        let changes = self.changes();
        let sets_values = |change: &Change| !matches!(change.kind, ChangeKind::Shared | ChangeKind::Released);
        let certainty = match (&self.outcome, &self.write.prediction) {
            (None, Ok(Prediction::Stored(stored))) => match stored.certainty {
                Certainty::Unknown(reason) | Certainty::Unseen(reason) => {
                    Some(format!("uncertain: {reason}"))
                }
                _ if !changes.iter().any(sets_values) => None,
                Certainty::ModuloDefaulting => {
                    Some("the server's defaults and its validation aren't predicted".to_owned())
                }
                Certainty::Exact => Some("the server's validation isn't predicted".to_owned()),
            },
            _ => None,
        };
        WrittenReport {
            object: name_of(&self.write.request.target),
            result,
            dry_run: dry_run.name(),
            changes,
            message,
            certainty,
            prediction,
            differences,
            warnings: self.warnings.clone(),
        }
    }

    /// Whether a response has the version that was read.
    fn is_unstored(&self, object: &LiveObject) -> bool {
        self.before.as_ref().is_some_and(|before| before.revision() == object.revision())
    }

    fn predicted_result(&self) -> (&'static str, Option<String>) {
        match &self.write.prediction {
            Ok(Prediction::NoOp | Prediction::Deleted) => ("unchanged", None),
            Ok(Prediction::Stored(_)) if self.before.is_none() => ("created", None),
            Ok(Prediction::Stored(stored)) => (if stored.changed { "changed" } else { "unchanged" }, None),
            Ok(Prediction::Conflicts(conflicts)) => ("conflict", Some(conflicts.to_string())),
            Ok(Prediction::Refused(message)) => ("refused", Some(message.clone())),
            Err(error) => ("unknown", Some(error.to_string())),
        }
    }
}

impl WrittenReport {
    /// Whether the server refuses it, and not because of other managers' fields.
    pub(crate) fn is_refused(&self) -> bool {
        self.result == "refused"
    }

    /// What has to be said besides the fields, line by line: why it is refused, and how far the prediction goes.
    pub(crate) fn notes(&self) -> impl Iterator<Item = &str> {
        let message = self.message.as_deref().filter(|_| self.result != "conflict");
        message.into_iter().chain(self.certainty.as_deref()).flat_map(str::lines)
    }

    /// Writes it for people: a line for the object, and one for each field. What is wrong goes to standard error.
    pub(crate) fn write(&self, terminal: &mut Terminal) -> io::Result<()> {
        write!(terminal.out, "{} ", self.object)?;
        self.write_result(terminal)?;
        let mut table = Table::headless();
        // All fields of a new object are new.
        if self.result != "created" {
            self.changes.iter().for_each(|change| change.row(&mut table));
        }
        table.write(&mut *terminal.out, "  ")?;
        self.write_notes(terminal, "  ")
    }

    /// Writes what became of the object, to the end of the line.
    pub(crate) fn write_result(&self, terminal: &mut Terminal) -> io::Result<()> {
        let how = match self.dry_run {
            "client" => " (client dry run)",
            "server" => " (server dry run)",
            _ => "",
        };
        let style = match self.result {
            "conflict" | "refused" => RED,
            "unchanged" => PLAIN,
            _ => GREEN,
        };
        writeln!(terminal.out, "{style}{}{style:#}{how}", self.result)
    }

    /// Writes why it is refused, and how the prediction compares, after an indentation.
    pub(crate) fn write_notes(&self, terminal: &mut Terminal, indentation: &str) -> io::Result<()> {
        let is_tried = self.dry_run == "server";
        let compared = match self.prediction {
            Some("agreed") if is_tried => Some("as predicted"),
            Some("filledIn") if is_tried => Some("as predicted, but for what the server fills in"),
            Some("uncertain") if is_tried => Some("the prediction was uncertain, and differs"),
            _ => None,
        };
        for line in self.notes().chain(compared) {
            writeln!(terminal.out, "{indentation}{line}")?;
        }
        self.write_warnings(terminal)?;
        if self.prediction == Some("differs") {
            writeln!(terminal.err, "{YELLOW}warning:{YELLOW:#} {}: not as predicted", self.object)?;
            self.differences.iter().try_for_each(|difference| writeln!(terminal.err, "  {difference}"))?;
        }
        Ok(())
    }

    /// Writes what the server warned about.
    pub(crate) fn write_warnings(&self, terminal: &mut Terminal) -> io::Result<()> {
        let mut warnings = self.warnings.iter();
        warnings
            .try_for_each(|text| writeln!(terminal.err, "{YELLOW}warning:{YELLOW:#} {}: {text}", self.object))
    }

    /// The exit code that it deserves.
    pub(crate) fn exit(&self) -> Exit {
        match self.result {
            "conflict" | "refused" => Exit::Differs,
            _ => Exit::Done,
        }
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
