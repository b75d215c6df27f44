//! Writes that are sent at the same time, in an order that only the server decides. Each successful one is predicted afterwards, in
//! that order.

use baton_testbed::{Json, raw::Request};
use futures::{FutureExt as _, future::join_all};

use super::{
    KubectlStep, ScenarioStep,
    subject::{Subject, failed},
};

/// A write that is sent together with others.
#[must_use = "a rival does nothing until it runs against others"]
pub struct Rival {
    /// The path of its object.
    object: String,
    sent: Sent,
}

enum Sent {
    Request(Request),
    Kubectl(baton_testbed::Kubectl),
}

/// The outcomes of writes that were sent at the same time, in the order in which they were passed.
#[must_use = "a write at the same time as others may be refused"]
pub struct Race {
    title: String,
    outcomes: Vec<Result<(), String>>,
}

impl ScenarioStep<'_> {
    /// A write to send at the same time as others. What the step expects is ignored.
    pub fn as_rival(self) -> Rival {
        let sent = Sent::Request(self.request(self.write(self.subject.live.as_ref()).as_ref()));
        Rival { object: self.subject.path(), sent }
    }
}

impl KubectlStep<'_> {
    /// A call to run at the same time as others. What the step expects is ignored.
    pub fn as_rival(self) -> Rival {
        Rival { object: self.subject.path(), sent: Sent::Kubectl(self.command()) }
    }
}

impl Subject {
    /// Sends these at the same time. Writes to the subject are predicted; of those to other objects only the outcome is kept.
    pub async fn at_once(&mut self, rivals: impl IntoIterator<Item = Rival>) -> Race {
        let client = self.server().client().clone();
        let run = |sent| match sent {
            Sent::Request(request) => {
                let client = client.clone();
                async move {
                    let reply = request.send(&client).await.unwrap_or_else(failed);
                    reply.into_result().map(drop).map_err(|status| status.message)
                }
                .boxed_local()
            }
            Sent::Kubectl(command) => async move {
                let output = command.run().await.unwrap_or_else(failed);
                if output.status.success() { Ok(()) } else { Err(output.stderr) }
            }
            .boxed_local(),
        };
        let (objects, sent): (Vec<_>, Vec<_>) =
            rivals.into_iter().map(|rival| (rival.object, rival.sent)).unzip();
        let outcomes = join_all(sent.into_iter().map(run)).await;
        let subject = self.path();
        let wins = |(object, outcome): &(&String, &Result<_, _>)| **object == subject && outcome.is_ok();
        let done = objects.iter().zip(&outcomes).filter(wins).count();
        self.record_rivals(Some("at the same time"), done).await;
        Race { title: self.title().to_owned(), outcomes }
    }

    /// The path of the subject.
    fn path(&self) -> String {
        format!("{}/{}", self.resource().path(self.namespace()), self.name())
    }

    /// The text at a path.
    pub fn text(&self, path: &str) -> &str {
        self.at(path).and_then(Json::as_str).unwrap_or_default()
    }
}

impl Race {
    /// Expects that all succeed.
    #[track_caller]
    pub fn all_win(self) {
        let Self { title, outcomes } = self;
        assert!(outcomes.iter().all(Result::is_ok), "{title}: expected all to succeed: {outcomes:#?}");
    }

    /// Expects that exactly one succeeds, and that the others are refused with this text. Returns which one succeeded, counted from 0.
    #[track_caller]
    pub fn one_wins(self, text: &str) -> usize {
        let Self { title, outcomes } = self;
        let winners: Vec<_> = (0..outcomes.len()).filter(|i| outcomes[*i].is_ok()).collect();
        let others = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        let [winner] = winners[..] else {
            panic!("{title}: expected exactly one to succeed: {outcomes:#?}");
        };
        for refusal in others {
            assert!(refusal.contains(text), "{title}: expected a refusal with {text:?}: {refusal}");
        }
        winner
    }
}
