//! A dry run, and then the real write: both responses have to be the same, except for values that the server generates.

use baton_testbed::Json;

use super::{
    ScenarioStep, StepResponse, Subject,
    show::{self, Failure},
};

/// The responses to a write that was sent as a dry run first.
#[derive(Clone, Debug)]
pub struct RehearsedStep {
    /// The response to the dry run.
    pub dry_run: StepResponse,
    /// The response to the real write.
    pub real: StepResponse,
}

impl Subject {
    /// Sends a step as a dry run, and then for real. Code, warnings and body of the two responses have to be the same, owners
    /// included, except for `resourceVersion`, the times of owners and of the write, and the `uid` and the generated name of a
    /// new object.
    ///
    /// # Panics
    /// When the responses differ in anything else, or when one of them isn't what the step expects.
    pub async fn rehearse(
        &mut self,
        step: impl for<'s> Fn(&'s mut Self) -> ScenarioStep<'s>,
    ) -> RehearsedStep {
        let dry_run = step(self).dry_run().await;
        let real = step(self).await;
        let bodies = [&dry_run, &real].map(|responded| comparable(&responded.body, responded.code == 201));
        let mut problems = Vec::new();
        if dry_run.code != real.code {
            problems
                .push(format!("the code of the dry run is {}, that of the real write isn't", dry_run.code));
        }
        if dry_run.warnings != real.warnings {
            let (tried, real) = (&dry_run.warnings, &real.warnings);
            problems.push(format!("the dry run warns of {tried:?}, the real write of {real:?}"));
        }
        if bodies[0] != bodies[1] {
            problems.push("the bodies differ".to_owned());
        }
        if !problems.is_empty() {
            let nothing = Json::Null;
            let failure = Failure {
                scenario: self.title(),
                sentence: "rehearsed: the dry run is shown as the prediction",
                problems: &problems,
                live: &nothing,
                request: &nothing,
                uri: "",
                prediction: &bodies[0],
                response: &bodies[1],
                code: real.code,
            };
            panic!("{}", show::failure(&failure));
        }
        RehearsedStep { dry_run, real }
    }
}

/// A response without what always differs between two responses to the same write. Such a member stays, without its value.
fn comparable(body: &Json, is_new: bool) -> Json {
    let mut body = body.clone();
    if let Some(Json::List(causes)) = body.get_mut("details").and_then(|details| details.get_mut("causes")) {
        // The causes of a conflict come in any order.
        causes.sort_by_cached_key(Json::to_string);
    }
    let Some(metadata) = body.get_mut("metadata") else { return body };
    metadata.take("resourceVersion");
    let is_generated = metadata.get("generateName").is_some();
    let times = ["deletionTimestamp", if is_new { "creationTimestamp" } else { "" }];
    let identity = [if is_new { "uid" } else { "" }, if is_new && is_generated { "name" } else { "" }];
    for member in times.into_iter().chain(identity) {
        if metadata.get(member).is_some() {
            metadata.set(member, "*");
        }
    }
    if let Some(Json::List(entries)) = metadata.get_mut("managedFields") {
        for entry in entries.iter_mut() {
            if entry.get("time").is_some() {
                entry.set("time", "*");
            }
        }
        // They are ordered by time.
        entries.sort_by_cached_key(Json::to_string);
    }
    body
}

#[cfg(test)]
mod tests {
    fn comparable(text: &str, is_new: bool) -> String {
        super::comparable(&text.parse().unwrap(), is_new).to_string()
    }

    #[test]
    fn generated_values_of_a_new_object_are_not_compared() {
        let tried = r#"{"metadata":{"name":"a-1","generateName":"a-","uid":"1","creationTimestamp":"t"}}"#;
        let real = r#"{"metadata":{"name":"a-2","generateName":"a-","uid":"2","resourceVersion":"7","creationTimestamp":"u"}}"#;
        assert_eq!(comparable(tried, true), comparable(real, true));
        assert_ne!(comparable(tried, false), comparable(real, false));
        assert_ne!(comparable(&tried.replace("generateName", "other"), true), comparable(real, true));
        assert_ne!(comparable(&tried.replace("uid", "other"), true), comparable(real, true));
    }

    #[test]
    fn owners_are_compared_except_for_times_and_order() {
        let owners =
            |entries: &str| comparable(&format!(r#"{{"metadata":{{"managedFields":[{entries}]}}}}"#), false);
        let (a, b) = (r#"{"manager":"a","time":"1"}"#, r#"{"manager":"b","time":"1"}"#);
        let [tried, real] = [[a, b].join(","), [b, &a.replace('1', "2")].join(",")];
        assert_eq!(owners(&tried), owners(&real));
        assert_ne!(owners(&tried), owners(&real.replace("\"a\"", "\"c\"")));
        assert_ne!(owners(a), owners(r#"{"manager":"a"}"#));
    }
}
