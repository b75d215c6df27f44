//! kubectl in a scenario: its writes are predicted, too.

use std::{future::IntoFuture, pin::Pin};

use baton_testbed::{AuditEntry, Json, Mark, Output, eventually};

use super::{
    body, show,
    subject::{Subject, failed},
};

/// A call of kubectl that hasn't run yet. Awaiting it runs it.
#[must_use = "kubectl does nothing until it is awaited"]
pub struct KubectlStep<'s> {
    pub(super) subject: &'s mut Subject,
    args: Vec<String>,
    input: Option<Json>,
    fails_with: Option<String>,
    prints: Vec<String>,
    sends: Option<Vec<&'static str>>,
}

impl Subject {
    /// kubectl as administrator, in the namespace of the scenario: `"apply --server-side -f -"`.
    pub fn kubectl(&mut self, args: &str) -> KubectlStep<'_> {
        let args = args.split_whitespace().map(str::to_owned).collect();
        KubectlStep { subject: self, args, input: None, fails_with: None, prints: Vec::new(), sends: None }
    }
}

impl KubectlStep<'_> {
    /// The input for `-f -`: the subject, written like all bodies.
    pub fn reading(mut self, object: &str) -> Self {
        let (resource, name) = self.subject.target();
        self.input = Some(body::completed(body::parse(object), &resource, &name));
        self
    }

    /// Expects that it fails, with this in its error output.
    pub fn fails(mut self, text: &str) -> Self {
        self.fails_with = Some(text.to_owned());
        self
    }

    /// Expects this in its output.
    pub fn prints(mut self, text: &str) -> Self {
        self.prints.push(text.to_owned());
        self
    }

    /// Expects that it sends these requests about the subject, named by their verbs, and no others.
    pub fn sends(mut self, verbs: &[&'static str]) -> Self {
        self.sends = Some(verbs.to_owned());
        self
    }

    /// The command.
    pub(super) fn command(&self) -> baton_testbed::Kubectl {
        let args = self.args.iter().map(String::as_str).chain(["--namespace", self.subject.namespace()]);
        let command = self.subject.server().cluster().real().kubectl_command(args).unwrap_or_else(failed);
        match &self.input {
            Some(input) => command.input(show::yaml(input)),
            None => command,
        }
    }

    async fn run(self) -> Output {
        let command = self.command();
        let Self { subject, args, input: _, fails_with, prints, sends } = self;
        let sentence = format!("kubectl {}", args.join(" "));
        let mark = subject.end_of_audit_log();
        let output = command.run().await.unwrap_or_else(failed);
        match &fails_with {
            None => assert!(output.status.success(), "{}: {output}", subject.title()),
            Some(text) => assert!(
                !output.status.success() && output.stderr.contains(text),
                "{}: expected a failure with {text:?}\n{output}",
                subject.title()
            ),
        }
        for text in prints {
            let printed = [&*output.stdout, &*output.stderr].concat();
            assert!(
                printed.contains(&text),
                "{}: expected {text:?} in the output\n{output}",
                subject.title()
            );
        }
        if let Some(verbs) = sends {
            subject.expect_requests(mark, &verbs).await;
        }
        subject.record_others(Some(&sentence)).await;
        output
    }
}

impl Subject {
    /// Expects these requests about the subject since a mark, and no others. The log may be late.
    async fn expect_requests(&self, since: Mark, verbs: &[&str]) {
        eventually(&format!("the requests {verbs:?} in {}", self.title()), async || {
            let found = self.requests_since(since);
            if found == verbs { Ok(()) } else { Err(found) }
        })
        .await;
    }

    /// The verbs of the requests about the subject since a mark, in their order.
    fn requests_since(&self, since: Mark) -> Vec<String> {
        let (resource, name) = self.target();
        let log = self.server().cluster().audit().unwrap_or_else(failed);
        let is_here = |request: &AuditEntry| {
            !resource.namespaced || request.namespace.as_deref() == Some(self.namespace())
        };
        let is_named = |request: &AuditEntry| match &request.name {
            Some(own) => *own == name,
            // A creation names its object in its body.
            None => request.request_object.as_ref().is_some_and(|sent| sent["metadata"]["name"] == *name),
        };
        let requests = log.since(since).unwrap_or_else(failed).resource(&resource.plural);
        let mut found: Vec<_> =
            requests.that(|request| is_here(request) && is_named(request)).into_iter().collect();
        found.sort_by_key(|request| request.received);
        found.into_iter().map(|request| request.verb).collect()
    }
}

impl<'s> IntoFuture for KubectlStep<'s> {
    type Output = Output;
    type IntoFuture = Pin<Box<dyn Future<Output = Output> + 's>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.run())
    }
}
