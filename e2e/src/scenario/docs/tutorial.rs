//! `docs/server-side-apply.md`: hand-written text, with the steps of scenarios between its lines, as they were recorded on a server.
//!
//! A line `<!-- scenario NAME -->` begins what is generated, and `<!-- end -->` ends it. `<!-- scenario NAME 2..4 -->` shows
//! only some steps, counted from 1.

use std::{collections::BTreeMap, fmt::Write as _};

use baton_testbed::Json;

use super::{
    super::{Recorded, owners, show::yaml},
    RenderError,
};

const BEGIN: &str = "<!-- scenario ";
const END: &str = "<!-- end -->";

/// Members whose values differ in each run, and that teach a reader nothing.
const VARYING: [&str; 7] =
    ["uid", "resourceVersion", "creationTimestamp", "generation", "time", "fieldsType", "lastTransitionTime"];

/// The document with its generated parts up to date.
pub fn render(document: &str, played: &BTreeMap<String, Vec<Recorded>>) -> Result<String, RenderError> {
    let mut text = String::new();
    let mut rest = document;
    while let Some(at) = rest.find(BEGIN) {
        let line_end = rest[at..].find('\n').map_or(rest.len(), |end| at + end + 1);
        let asked = rest[at + BEGIN.len()..line_end].trim().trim_end_matches("-->").trim();
        text.push_str(&rest[..line_end]);
        let end = rest[line_end..].find(END).ok_or_else(|| RenderError::NoEnd(asked.to_owned()))?;
        text.push('\n');
        text.push_str(&steps(asked, played)?);
        rest = &rest[line_end + end..];
    }
    text.push_str(rest);
    Ok(text)
}

/// The steps that a begin mark names.
fn steps(asked: &str, played: &BTreeMap<String, Vec<Recorded>>) -> Result<String, RenderError> {
    let (name, range) = asked.split_once(' ').unwrap_or((asked, ""));
    let of_name =
        |(known, _): &(&String, &Vec<Recorded>)| *known == name || known.ends_with(&format!("::{name}"));
    let (_, steps) = played.iter().find(of_name).ok_or_else(|| RenderError::NoScenario(name.to_owned()))?;
    // How often a controller writes a status differs in each run.
    let steps: Vec<_> =
        steps.iter().filter(|step| !(step.by_others && step.subresource == "status")).collect();
    let number = |text: &str, otherwise: usize| text.trim().parse().unwrap_or(otherwise);
    let (first, last) = match range.split_once("..") {
        Some((first, last)) => (number(first, 1), number(last, steps.len())),
        None if range.is_empty() => (1, steps.len()),
        None => (number(range, 0), number(range, 0)),
    };
    let wanted = first.checked_sub(1).and_then(|first| steps.get(first..last));
    let wanted = wanted.ok_or_else(|| RenderError::NoSteps(name.to_owned(), steps.len()))?;
    Ok(wanted.iter().copied().map(step).collect())
}

/// A step: the sentence, what is sent, and the result.
fn step(step: &Recorded) -> String {
    let mut text = format!("**{}**\n\n", step.sentence);
    if let Some(sent) = &step.sent {
        let _ = write!(text, "```yaml\n{}```\n\n", document(&without_identity(sent)));
    }
    if let Some(refusal) = &step.refusal {
        let _ =
            write!(text, "The server refuses:\n\n```text\n{}\n```\n\n", without_times(refusal).trim_end());
        return text;
    }
    let after = match (&step.before, &step.sent) {
        // The defaults of a new object would hide the rest.
        (None, Some(sent)) => step.after.as_ref().map(|after| sent_fields(after, sent)),
        _ => step.after.clone(),
    };
    let difference = difference(&shown(step.before.as_ref()), &shown(after.as_ref()));
    if difference.is_empty() {
        text.push_str("Nothing changes.\n\n");
    } else {
        let _ = write!(text, "```diff\n{difference}```\n\n");
    }
    text
}

/// The fields of an object that were sent, and its owners.
fn sent_fields(object: &Json, sent: &Json) -> Json {
    match (object, sent) {
        (Json::Object(members), Json::Object(_)) => {
            let field = |(name, value): &(String, Json)| match (sent.get(name), &**name) {
                (Some(sent), _) => Some((name.clone(), sent_fields(value, sent))),
                (None, "managedFields") => Some((name.clone(), value.clone())),
                (None, "metadata") => Some((name.clone(), sent_fields(value, &Json::object()))),
                (None, _) => None,
            };
            Json::Object(members.iter().filter_map(field).collect())
        }
        (Json::List(items), Json::List(sent)) if items.len() == sent.len() => {
            Json::List(items.iter().zip(sent).map(|(item, sent)| sent_fields(item, sent)).collect())
        }
        _ => object.clone(),
    }
}

/// A document without what differs in each run.
fn document(json: &Json) -> String {
    let text = yaml(&scrubbed(json));
    // The server generates the end of a scenario's namespace.
    let mut parts = text.split("scene-");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "scene" + part.get(5..).unwrap_or_default())
}

fn scrubbed(json: &Json) -> Json {
    match json {
        Json::Object(members) => {
            let kept = members.iter().filter(|(name, _)| !VARYING.contains(&&**name));
            Json::Object(kept.map(|(name, value)| (name.clone(), scrubbed(value))).collect())
        }
        Json::List(items) => {
            // An operation of a JSON patch may set one of them.
            let is_kept = |item: &&Json| {
                let path = item.get("path").and_then(Json::as_str).unwrap_or_default();
                path.strip_prefix("/metadata/").is_none_or(|name| !VARYING.contains(&name))
            };
            Json::List(items.iter().filter(is_kept).map(scrubbed).collect())
        }
        other => other.clone(),
    }
}

/// A message without times.
fn without_times(message: &str) -> String {
    let is_time = |word: &str| word.trim_end_matches([':', ',', '"']).parse::<jiff::Timestamp>().is_ok();
    let words: Vec<_> = message.split(' ').collect();
    let mut kept = Vec::new();
    for (i, word) in words.iter().enumerate() {
        if is_time(word) {
            if let Some(last) = kept.last_mut().filter(|_| word.ends_with(':')) {
                *last = format!("{last}:");
            }
        } else if !(*word == "at" && words.get(i + 1).is_some_and(|next| is_time(next))) {
            kept.push((*word).to_owned());
        }
    }
    kept.join(" ")
}

/// A body without the fields that identify its object.
fn without_identity(body: &Json) -> Json {
    let mut body = body.clone();
    body.take("apiVersion");
    body.take("kind");
    if let Some(metadata) = body.get_mut("metadata") {
        metadata.take("name");
        metadata.take("namespace");
        if scrubbed(metadata).is_empty() {
            body.take("metadata");
        }
    }
    body
}

/// An object as a reader needs it, with its owners at the end.
fn shown(object: Option<&Json>) -> String {
    let Some(object) = object else { return String::new() };
    let mut object = without_identity(object);
    let entries = object.get_mut("metadata").and_then(|metadata| metadata.take("managedFields"));
    if object.get("metadata").is_some_and(|metadata| scrubbed(metadata).is_empty()) {
        object.take("metadata");
    }
    if let Some(Json::List(mut entries)) = entries {
        // A server sorts them by time first, which differs in each run.
        entries.sort_by_cached_key(owners::name);
        object.set("managedFields", entries);
    }
    if object.is_empty() { String::new() } else { document(&object) }
}

/// The changed lines between two texts, with some lines around.
fn difference(before: &str, after: &str) -> String {
    let diff = similar::TextDiff::from_lines(before, after);
    let text = diff.unified_diff().context_radius(4).to_string();
    let mut lines = String::new();
    for line in text.lines() {
        let line = if line.starts_with("@@") { " …" } else { line };
        lines.push_str(line);
        lines.push('\n');
    }
    // A mark for omitted lines is useless at the start.
    lines.strip_prefix(" …\n").map(str::to_owned).unwrap_or(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn played() -> BTreeMap<String, Vec<Recorded>> {
        let object = |text: &str| Some(text.parse().unwrap());
        let step = Recorded {
            sentence: "apply as kubectl".to_owned(),
            subresource: "",
            by_others: false,
            sent: object(r#"{"data":{"a":"1"}}"#),
            refusal: None,
            before: object(r#"{"kind":"ConfigMap","metadata":{"uid":"x"},"data":{"a":"0"}}"#),
            after: object(
                r#"{"kind":"ConfigMap","metadata":{"uid":"x","managedFields":[{"manager":"kubectl","time":"t"}]},"data":{"a":"1"}}"#,
            ),
        };
        BTreeMap::from([("ssa::fields::one".to_owned(), vec![step])])
    }

    #[test]
    fn only_the_text_between_the_marks_is_replaced() {
        let document = "before\n<!-- scenario fields::one -->\nold\n<!-- end -->\nafter\n";
        let made = render(document, &played()).unwrap();
        assert_eq!(
            made,
            "before\n<!-- scenario fields::one -->\n\n**apply as kubectl**\n\n```yaml\ndata:\n  a: \"1\"\n```\n\n```diff\n data:\n-  a: \
             \"0\"\n+  a: \"1\"\n+managedFields:\n+- manager: kubectl\n```\n\n<!-- end -->\nafter\n"
        );
        assert_eq!(render(&made, &played()).unwrap(), made);
    }

    #[test]
    fn missing_scenarios_steps_and_end_marks_are_errors() {
        let error = |text: &str| render(text, &played()).unwrap_err().to_string();
        assert!(error("<!-- scenario two -->\n<!-- end -->").contains("no scenario two"));
        assert!(error("<!-- scenario fields::one 2 -->\n<!-- end -->").contains("no such steps"));
        assert!(error("<!-- scenario fields::one -->\n").contains("has no <!-- end -->"));
    }

    #[test]
    fn a_time_in_a_message_is_left_out() {
        let message = r#"conflict with "m" using v1 at 2026-01-02T03:04:05Z: .data.a"#;
        assert_eq!(without_times(message), r#"conflict with "m" using v1: .data.a"#);
    }
}
