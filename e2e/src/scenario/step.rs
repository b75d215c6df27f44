//! One write of a scenario: built as a sentence, sent when it is awaited, and compared with the prediction of the merge core.

use std::{collections::BTreeSet, future::IntoFuture, pin::Pin};

use baton_testbed::{
    Json,
    prediction::{Accuracy, Done, Method, Resource, Write, response},
    query,
    raw::{Reply, Request, Responded},
};
use jiff::Timestamp;

use super::{
    body,
    manager::Manager,
    record::Recorded,
    response::{Expected, StepResponse},
    show::{self, Failure},
    subject::Subject,
};

/// A write that hasn't been sent yet. Awaiting it sends it.
#[must_use = "a step does nothing until it is awaited"]
pub struct ScenarioStep<'s> {
    pub(super) subject: &'s mut Subject,
    pub(super) resource: Resource,
    pub(super) name: String,
    /// The method; absent for a deletion, which the merge core doesn't predict.
    pub(super) method: Option<Method>,
    pub(super) manager: Manager,
    pub(super) subresource: &'static str,
    /// The body as the scenario wrote it.
    pub(super) written: Option<Json>,
    /// The body that is sent, as JSON.
    pub(super) body: Json,
    /// The exact text that is sent instead.
    verbatim: Option<String>,
    dry_run: bool,
    query: Vec<(&'static str, String)>,
    headers: Vec<(&'static str, String)>,
    expected: Expected,
    /// The members that admission is expected to add.
    added: Vec<Vec<String>>,
}

impl<'s> ScenarioStep<'s> {
    pub(super) fn new(
        subject: &'s mut Subject,
        method: Option<Method>,
        manager: Manager,
        body: Json,
    ) -> Self {
        let (resource, name) = subject.target();
        Self {
            resource,
            name,
            subject,
            method,
            manager,
            subresource: "",
            written: Some(body.clone()),
            body,
            verbatim: None,
            dry_run: false,
            query: Vec::new(),
            headers: Vec::new(),
            expected: Expected::Success(None),
            added: Vec::new(),
        }
    }

    /// Overrules conflicts.
    pub fn by_force(mut self) -> Self {
        self.method = Some(Method::Apply { force: true });
        self
    }

    /// Sends a dry run: the server does everything but store the object.
    pub fn dry_run(mut self) -> Self {
        self.dry_run = true;
        self.with("dryRun", "All")
    }

    /// Adds a query parameter.
    pub fn with(mut self, parameter: &'static str, value: &str) -> Self {
        self.query.push((parameter, value.to_owned()));
        self
    }

    /// Adds a header.
    pub fn with_header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// As this user, with their permissions.
    pub fn by_user(self, user: &str) -> Self {
        self.with_header("impersonate-user", user)
    }

    /// To this subresource.
    pub fn to(mut self, subresource: &'static str) -> Self {
        self.subresource = subresource;
        self
    }

    /// Sends exactly this text instead. It has to mean the same as the body of the scenario.
    pub fn spelled(mut self, text: &str) -> Self {
        self.verbatim = Some(text.to_owned());
        self
    }

    /// Expects that admission adds this member, such as `.metadata.annotations`. Admission comes after the merge, so the prediction
    /// doesn't have it.
    pub fn admission_adds(mut self, member: &str) -> Self {
        self.added.push(member.split('.').skip(1).map(str::to_owned).collect());
        self
    }

    /// Expects that the object is created.
    pub fn creates(mut self) -> Self {
        self.expected = Expected::Success(Some(201));
        self
    }

    /// Expects a success that leaves the object as it was.
    pub fn changes_nothing(mut self) -> Self {
        self.expected = Expected::NoChange;
        self
    }

    /// Expects a conflict with this manager on this field, one call for each field. A manager that wrote to a subresource is spelled
    /// `kubectl (scale)`.
    pub fn conflicts_with(mut self, manager: &str, field: &str) -> Self {
        let row = (manager.to_owned(), field.to_owned());
        match &mut self.expected {
            Expected::Conflicts(rows) => drop(rows.insert(row)),
            other => *other = Expected::Conflicts(BTreeSet::from([row])),
        }
        self
    }

    /// Expects a refusal with this status code, with this text in its message.
    pub fn is_refused(mut self, code: u16, text: &str) -> Self {
        self.expected = Expected::Refusal(code, text.to_owned());
        self
    }

    /// The step as a sentence.
    fn sentence(&self) -> String {
        let write = self.method.map(|method| sentence(method, &self.manager, self.subresource));
        let mut sentence = write.unwrap_or_else(|| "delete".to_owned());
        for (name, value) in &self.query {
            sentence = format!("{sentence}, {name}={value}");
        }
        if let Some((_, user)) = self.headers.iter().find(|(name, _)| *name == "impersonate-user") {
            sentence = format!("{sentence}, by {user}");
        }
        sentence
    }

    pub(super) fn write(&self, live: Option<&Json>) -> Option<Write> {
        let method = self.method?;
        Some(Write {
            method,
            subresource: self.subresource,
            version: self.resource.version.clone(),
            manager: self.manager.recorded().to_owned(),
            owners: body::owners_in(method, &self.body, live),
            body: self.body.clone(),
        })
    }

    pub(super) fn request(&self, write: Option<&Write>) -> Request {
        let namespace = self.subject.namespace();
        let (method, content_type, path) = match write {
            Some(write) => {
                let (method, content_type) = write.method.on_the_wire();
                (method, content_type, write.path(&self.resource, namespace, &self.name))
            }
            None => {
                ("DELETE", "application/json", format!("{}/{}", self.resource.path(namespace), self.name))
            }
        };
        let mut parameters = self.query.clone();
        if let Manager::Named(name) = &self.manager {
            parameters.insert(0, ("fieldManager", query::escape(name)));
        }
        if self.method == Some(Method::Apply { force: true }) {
            parameters.push(("force", "true".to_owned()));
        }
        let parameters: Vec<_> = parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let mut headers = self.headers.clone();
        if headers.iter().all(|(name, _)| *name != "content-type") {
            headers.push(("content-type", content_type.to_owned()));
        }
        if let Manager::UserAgent(text) = &self.manager {
            headers.push(("user-agent", text.clone()));
        }
        let body = match (&self.verbatim, write) {
            (Some(text), _) => text.clone(),
            (None, Some(_)) => self.body.to_string(),
            // A deletion with a body takes its options only from there.
            (None, None) => String::new(),
        };
        Request { method, uri: format!("{path}?{}", parameters.join("&")), headers, body }
    }

    async fn send(self) -> StepResponse {
        let sentence = self.sentence();
        let before = self.subject.read(&self.resource, &self.name).await;
        let write = self.write(before.as_ref());
        let began = Timestamp::now();
        let request = self.request(write.as_ref());
        let reply = match request.clone().send(self.subject.server().client()).await {
            Ok(reply) => reply,
            Err(error) => panic!("{sentence}: {}", error.report()),
        };
        let responded = StepResponse {
            code: reply.code,
            body: reply.text.parse().unwrap_or_else(|_| reply.text.as_str().into()),
            warnings: reply.warnings.clone(),
        };
        let name = self.name_of_outcome(&responded);
        let after = self.subject.read(&self.resource, &name).await;
        let result = reply.clone().into_result();
        let outcome = match &result {
            Err(status) => Err(&**status),
            Ok(_) if self.dry_run => Ok(&responded.body),
            Ok(_) => Ok(after.as_ref().unwrap_or(&Json::Null)),
        };
        let managed = outcome.map(|object| without(object, &self.added));
        let outcome = managed.as_ref().map_err(|status| *status);
        // A body that isn't YAML has no prediction.
        let is_json = self.verbatim.as_deref().is_none_or(body::is_yaml);
        let done = write.as_ref().filter(|_| is_json).map(|write| Done {
            resource: &self.resource,
            write,
            before: before.as_ref(),
            outcome,
            began,
            dry_run: self.dry_run,
        });
        let predicted = self.subject.server().predict(done.as_ref());
        let problems = self.problems(&reply, &responded, before.as_ref(), after.as_ref(), predicted.as_ref());
        if !problems.is_empty() {
            let (live, shown) =
                (before.unwrap_or(Json::Null), outcome_shown(&result, &responded, after.as_ref()));
            let failure = Failure {
                scenario: self.subject.title(),
                sentence: &sentence,
                problems: &problems,
                live: &live,
                request: &self.body,
                uri: &request.uri,
                prediction: predicted.as_ref().map_or(&Json::Null, |(prediction, _)| prediction),
                response: &shown,
                code: responded.code,
            };
            panic!("{}", show::failure(&failure));
        }
        let refusal = result.err().map(|status| status.message);
        let seen =
            if self.dry_run && refusal.is_none() { Some(responded.body.clone()) } else { after.clone() };
        let recorded = Recorded {
            sentence,
            subresource: self.subresource,
            by_others: false,
            sent: self.written,
            refusal,
            before,
            after: seen,
        };
        self.subject.keep_own(recorded, after, reply.audit_id);
        responded
    }

    /// The name of the resulting object, which the server may have generated.
    fn name_of_outcome(&self, responded: &StepResponse) -> String {
        let generated = self.body.at(&["metadata", "generateName"]).is_some();
        let name = responded.body.at(&["metadata", "name"]).and_then(Json::as_str).filter(|_| generated);
        name.unwrap_or(&self.name).to_owned()
    }

    /// Everything that is wrong.
    fn problems(
        &self,
        reply: &Reply,
        responded: &StepResponse,
        before: Option<&Json>,
        after: Option<&Json>,
        predicted: Option<&(Json, Accuracy)>,
    ) -> Vec<String> {
        let mut problems = Vec::new();
        problems.extend(self.expected.unmet(responded, before, after));
        for member in &self.added {
            let path: Vec<_> = member.iter().map(String::as_str).collect();
            if responded.body.at(&path).is_none() {
                problems.push(format!("expected admission to add .{}", path.join(".")));
            }
        }
        let is_done = (200..300).contains(&reply.code);
        if (self.dry_run || !is_done) && before != after {
            problems.push(format!(
                "{}, but the object has changed",
                if is_done { "a dry run" } else { "refused" }
            ));
        }
        if let Some((_, Accuracy::Mismatch(difference))) = predicted {
            problems.push(format!("predicted wrongly: {difference}"));
        }
        problems
    }
}

/// A write as a sentence.
pub(super) fn sentence(method: Method, manager: &Manager, subresource: &str) -> String {
    let verb = match method {
        Method::Apply { .. } => "apply",
        Method::Replace => "update",
        method => method.name(),
    };
    let through = if subresource.is_empty() { String::new() } else { format!(" through {subresource}") };
    let force = if method == (Method::Apply { force: true }) { ", by force" } else { "" };
    format!("{verb} {}{through}{force}", manager.phrase())
}

/// An object without these members.
fn without(object: &Json, members: &[Vec<String>]) -> Json {
    let mut object = object.clone();
    for member in members {
        baton_testbed::prediction::edit::remove(&mut object, member);
    }
    object
}

/// The result as a failure shows it: the live object, or the refusal.
fn outcome_shown(result: &Responded, responded: &StepResponse, after: Option<&Json>) -> Json {
    match (result, after) {
        (Err(status), _) => response::refused(status),
        (Ok(_), Some(after)) => after.clone(),
        (Ok(_), None) => responded.body.clone(),
    }
}

impl<'s> IntoFuture for ScenarioStep<'s> {
    type Output = StepResponse;
    type IntoFuture = Pin<Box<dyn Future<Output = StepResponse> + 's>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.send())
    }
}
