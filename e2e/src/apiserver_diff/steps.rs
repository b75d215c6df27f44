//! Fixed sequences of requests to both servers, in which a later request meets what an earlier one left: an object that is being
//! deleted, a name that is taken, a namespace that refuses. `cases/steps.yaml` has them.

use std::{collections::BTreeMap, time::Duration};

use anyhow::Context as _;
use baton_merge::yaml;
use baton_testbed::Json;
use serde::Deserialize;
use tokio::time::sleep;

use super::{
    Findings,
    cases::{hide_made_up, hide_uids},
    normal::Names,
    pair::Pair,
    played,
    requests::{Asked, METADATA, TABLE},
};

/// Requests in a namespace of their own, whose name stands where they have `$ns`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Steps {
    name: String,
    steps: Vec<Step>,
}

/// A method and a path, with a body where there is one: a text is sent as it is, in YAML. `MERGE`, `STRATEGIC`, `JSON` and `APPLY` are
/// patches, and `AWAIT` is a `GET` that is sent until it succeeds. `READ` gets an object in every form: alone, as a row of a table, its
/// metadata, in a list, in a watch. Behind the path, `as USER` and `in GROUP` say who sends it, if it isn't the administrator.
/// `$x9` is a text of so many letters. `WAIT` is no request: for so many milliseconds, the controllers of the real server work.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Step {
    Bare(String),
    WithBody(BTreeMap<String, Json>),
}

impl Step {
    /// How long the step waits, if it is no request.
    fn pause(&self) -> Option<Duration> {
        match self {
            Self::Bare(step) => Some(Duration::from_millis(step.strip_prefix("WAIT ")?.parse().ok()?)),
            Self::WithBody(_) => None,
        }
    }

    /// The requests of the step.
    fn asked(&self, namespace: &str) -> anyhow::Result<Vec<Asked>> {
        let read = match self {
            Self::Bare(step) => step.strip_prefix("READ ").and_then(|path| path.rsplit_once('/')),
            Self::WithBody(_) => None,
        };
        let Some((collection, name)) = read else { return Ok(vec![self.request(namespace)?]) };
        let collection = collection.replace("$ns", namespace);
        let one = format!("{collection}/{name}");
        let watch = format!("{collection}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name={name}");
        let read = |uri: &str, accept| {
            Asked::of(&format!("GET {uri} as {accept}"), "GET", uri, Some(("accept", accept)), String::new())
        };
        Ok(vec![
            read(&one, JSON),
            read(&one, TABLE),
            read(&format!("{one}?includeObject=Object"), TABLE),
            read(&one, METADATA),
            read(&collection, JSON),
            read(&watch, JSON),
        ])
    }

    fn request(&self, namespace: &str) -> anyhow::Result<Asked> {
        let (request, body, format) = match self {
            Self::Bare(request) => (request, String::new(), JSON),
            Self::WithBody(of) => match of.first_key_value().context("a step without a request")? {
                (request, Json::String(text)) => (request, text.clone(), "application/yaml"),
                (request, body) => (request, body.to_string(), JSON),
            },
        };
        let mut words = request.split(' ');
        let (method, path) = words.next().zip(words.next()).context("a step is a method and a path")?;
        let (method, content_type) = match method {
            "GET" | AWAIT => ("GET", JSON),
            "POST" => ("POST", format),
            "PUT" => ("PUT", format),
            "DELETE" => ("DELETE", JSON),
            "MERGE" => ("PATCH", "application/merge-patch+json"),
            "STRATEGIC" => ("PATCH", "application/strategic-merge-patch+json"),
            "JSON" => ("PATCH", "application/json-patch+json"),
            "APPLY" => ("PATCH", "application/apply-patch+yaml"),
            _ => anyhow::bail!("{method} is no method of a step"),
        };
        let (path, body) = (path.replace("$ns", namespace), with_texts(&body.replace("$ns", namespace)));
        let mut asked = Asked::of(request, method, &path, Some(("content-type", content_type)), body);
        while let Some(word) = words.next() {
            let header = match word {
                "as" => "impersonate-user",
                "in" => "impersonate-group",
                _ => anyhow::bail!("{word} says nothing of who sends a step"),
            };
            asked.headers.push((header, words.next().context("who sends a step?")?.to_owned()));
        }
        Ok(asked)
    }

    fn awaits(&self) -> bool {
        matches!(self, Self::Bare(request) if request.starts_with(AWAIT))
    }
}

const AWAIT: &str = "AWAIT";
const JSON: &str = "application/json";

/// A body with texts of the lengths that it names.
fn with_texts(body: &str) -> String {
    let mut parts = body.split("$x");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |made, part| {
        let end = part.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(part.len());
        made + &"x".repeat(part[..end].parse().unwrap_or_default()) + &part[end..]
    })
}

fn all() -> anyhow::Result<Vec<Steps>> {
    yaml::from_str(include_str!("cases/steps.yaml")).context("the steps can't be read")
}

/// Plays all sequences with this word in their name.
pub(super) async fn run(pair: &mut Pair, word: &str, findings: &mut Findings) -> anyhow::Result<()> {
    let open = pair.control_access()?;
    for (number, Steps { name, steps }) in all()?.iter().enumerate() {
        if !name.to_lowercase().contains(word) {
            continue;
        }
        let namespace = format!("steps-{number}");
        pair.open(&namespace).await?;
        let mut names = [Names::default(), Names::default()];
        for step in steps {
            if let Some(pause) = step.pause() {
                sleep(pause).await;
                continue;
            }
            for asked in step.asked(&namespace)? {
                if step.awaits() {
                    pair.until_it_succeeds(&asked).await?;
                }
                let (mut real, mut ours) = pair.send(&asked, &mut names).await?;
                for response in [&mut real, &mut ours] {
                    hide_made_up(&mut response.body);
                    response.warnings.iter_mut().for_each(hide_uids);
                }
                let kind = real.body.get("kind").and_then(Json::as_str).unwrap_or_default().to_owned();
                let excuse = |lines: &str| played::excuse(&kind, false, &real, &ours, lines);
                findings.compare("steps", [&real, &ours], name, asked.label.clone(), excuse);
            }
        }
    }
    pair.ours = open;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_a_request() {
        for Steps { name, steps } in all().unwrap() {
            for step in steps.iter().filter(|step| step.pause().is_none()) {
                assert!(step.asked("ns").is_ok_and(|asked| !asked.is_empty()), "{name}: {step:?}");
            }
        }
    }
}
