//! Makes a request small on which two sides differ: parts are left out or made plainer as long as the sides still differ
//! in the same way. It doesn't know what the parts mean.

use anyhow::Result;
use baton_testbed::Json;

use super::compare::{Verdict, Way, compare};
use crate::peer::Peer;

/// How many requests may be asked to make one small.
const TRIES: usize = 20_000;
/// How many are asked at a time.
const BATCH: usize = 64;

/// A case in which the sides differ, mostly made small.
#[derive(Clone, Debug)]
pub struct Small {
    /// The request.
    pub request: Json,
    /// The left answer to it.
    pub left: String,
    /// The right answer to it.
    pub right: String,
    /// In what they differ.
    pub at: String,
}

impl Small {
    /// The request without what tells like cases apart: the names in it, and single values.
    pub fn shape(&self) -> String {
        let mut shape = String::new();
        if let Some(operation) = self.request.get("do").and_then(Json::as_str) {
            shape.push_str(operation);
        }
        trace(&self.request, &mut shape);
        shape
    }
}

/// Writes the structure of a value: members only as many as there are, in the order of their structure.
fn trace(value: &Json, shape: &mut String) {
    match value {
        Json::Object(members) => {
            let mut parts: Vec<String> = members
                .iter()
                .map(|(_, value)| {
                    let mut part = String::new();
                    trace(value, &mut part);
                    part
                })
                .collect();
            parts.sort();
            shape.push('{');
            shape.push_str(&parts.join(","));
            shape.push('}');
        }
        Json::List(items) => {
            shape.push('[');
            for item in items {
                trace(item, shape);
            }
            shape.push(']');
        }
        Json::Null => shape.push('0'),
        _ => shape.push('.'),
    }
}

/// Makes `request` as small as it gets; `None` where the sides don't differ on it by itself.
pub fn shrink(left: &mut dyn Peer, right: &mut dyn Peer, request: &Json) -> Result<Option<Small>> {
    // What was written already becomes parts again.
    let request = request.to_string().parse().unwrap_or_else(|_| request.clone());
    let mut asked = ask(left, right, &[request])?;
    let Some((mut small, way)) = asked.pop().flatten() else { return Ok(None) };
    let mut tries = 0;
    'smaller: while tries < TRIES {
        let candidates = candidates(&small.request);
        for batch in candidates.chunks(BATCH) {
            tries += batch.len();
            let found = ask(left, right, batch)?.into_iter().flatten().find(|(_, other)| *other == way);
            if let Some((smaller, _)) = found {
                small = smaller;
                continue 'smaller;
            }
            if tries >= TRIES {
                break;
            }
        }
        break;
    }
    Ok(Some(small))
}

/// Those of `requests` on which the sides differ, each at its place.
fn ask(left: &mut dyn Peer, right: &mut dyn Peer, requests: &[Json]) -> Result<Vec<Option<(Small, Way)>>> {
    let lines: Vec<String> = requests.iter().map(Json::to_string).collect();
    let answers = left.ask(&lines)?.into_iter().zip(right.ask(&lines)?);
    let judged = requests.iter().zip(answers).map(|(request, (left, right))| match compare(&left, &right) {
        Verdict::Differs { way, at } => Some((Small { request: request.clone(), left, right, at }, way)),
        _ => None,
    });
    Ok(judged.collect())
}

/// Everything that is one step smaller, the largest steps first.
fn candidates(request: &Json) -> Vec<Json> {
    let mut found = Vec::new();
    let mut path = Vec::new();
    collect(request, request, &mut path, &mut found);
    // Without a time each side looks at its own clock, and without a release at rules of its own: that alone makes a
    // difference.
    let has_time = |request: &Json| request.get("now").is_some();
    found.retain(|(_, candidate)| has_time(candidate) || !has_time(request));
    found.retain(|(_, candidate)| candidate.get("profile") == request.get("profile"));
    found.sort_by_key(|(size, _)| *size);
    found.into_iter().map(|(_, candidate)| candidate).collect()
}

/// Adds what is smaller by a change of `value`, which lies at `path` in `request`.
fn collect(request: &Json, value: &Json, path: &mut Vec<usize>, found: &mut Vec<(usize, Json)>) {
    for smaller in simpler(value) {
        let mut candidate = request.clone();
        if let Some(place) = path.iter().try_fold(&mut candidate, |place, &i| child(place, i)) {
            *place = smaller;
        }
        found.push((weight(&candidate), candidate));
    }
    let children: Vec<&Json> = match value {
        Json::Object(members) => members.iter().map(|(_, value)| value).collect(),
        Json::List(items) => items.iter().collect(),
        _ => Vec::new(),
    };
    for (i, below) in children.into_iter().enumerate() {
        path.push(i);
        collect(request, below, path, found);
        path.pop();
    }
}

fn child(value: &mut Json, i: usize) -> Option<&mut Json> {
    match value {
        Json::Object(members) => members.get_mut(i).map(|(_, value)| value),
        Json::List(items) => items.get_mut(i),
        _ => None,
    }
}

/// How large a value is. It falls with every step, so that shrinking ends.
fn weight(value: &Json) -> usize {
    match value {
        Json::Null => 1,
        Json::Bool(_) => 2,
        Json::Number(number) => 2 + number.to_string().len(),
        Json::String(text) => 2 + text.len(),
        Json::Text(text) => text.len(),
        Json::List(items) => 2 + items.iter().map(weight).sum::<usize>(),
        Json::Object(members) => {
            2 + members.iter().map(|(name, value)| 1 + name.len() + weight(value)).sum::<usize>()
        }
    }
}

/// What could stand in place of a value, each of less weight than the value.
fn simpler(value: &Json) -> Vec<Json> {
    let mut simpler = match value {
        Json::Object(members) => {
            let mut simpler = without(members, Json::Object);
            // A level less: a type that is a reference to another, an object in an object.
            simpler.extend(members.iter().map(|(_, value)| value.clone()));
            simpler
        }
        Json::List(items) => {
            let mut simpler = without(items, Json::List);
            simpler.extend(items.iter().cloned());
            simpler
        }
        Json::String(text) => {
            let half: String = text.chars().take(text.chars().count() / 2).collect();
            vec![Json::string(""), Json::string(half)]
        }
        Json::Number(_) => vec![Json::from(0), Json::from(1)],
        Json::Bool(true) => vec![Json::Null],
        Json::Bool(false) | Json::Null | Json::Text(_) => Vec::new(),
    };
    let limit = weight(value);
    simpler.retain(|smaller| weight(smaller) < limit);
    simpler
}

/// A list with its halves and each of its parts left out.
fn without<T: Clone>(parts: &[T], whole: impl Fn(Vec<T>) -> Json) -> Vec<Json> {
    let mut found = Vec::new();
    if parts.len() > 3 {
        let half = parts.len() / 2;
        found.push(whole(parts[half..].to_vec()));
        found.push(whole(parts[..half].to_vec()));
    }
    for i in 0..parts.len() {
        let mut fewer = parts.to_vec();
        fewer.remove(i);
        found.push(whole(fewer));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peer::Batch;

    /// Answers `{"ok":true}`, or what `odd` makes of a request.
    struct Fake<F>(F, Batch);

    impl<F: Fn(&str) -> Option<&'static str> + Send> Peer for Fake<F> {
        fn start(&mut self, requests: Batch) -> Result<()> {
            self.1 = requests;
            Ok(())
        }

        fn finish(&mut self) -> Result<Vec<String>> {
            Ok(self
                .1
                .iter()
                .map(|request| (self.0)(request).unwrap_or(r#"{"ok":true}"#).to_owned())
                .collect())
        }
    }

    fn fake<F: Fn(&str) -> Option<&'static str> + Send>(odd: F) -> Fake<F> {
        Fake(odd, Batch::from([]))
    }

    #[test]
    fn only_what_the_difference_needs_remains() {
        let request: Json =
            r#"{"do":"merge","live":{"a":[1,2,{"b":"long text"}],"c":7},"applied":{"bad":12345,"more":[1,2,3]}}"#
                .parse()
                .unwrap();
        let mut left = fake(|request| request.contains(r#""bad""#).then_some(r#"{"ok":false}"#));
        let small = shrink(&mut left, &mut fake(|_| None), &request).unwrap().unwrap();
        assert_eq!(small.request.to_string(), r#"{"bad":0}"#);
        assert_eq!((small.left.as_str(), small.right.as_str()), (r#"{"ok":false}"#, r#"{"ok":true}"#));
    }

    #[test]
    fn one_difference_does_not_become_another() {
        let request: Json = r#"{"a":"x","b":"y"}"#.parse().unwrap();
        let mut left = fake(|request| {
            let (a, b) = (request.contains(r#""a""#), request.contains(r#""b""#));
            // Without `b` it refuses, which is another matter.
            if a && b { Some(r#"{"ok":false}"#) } else { Some(r#"{"error":{"reason":"Internal"}}"#) }
        });
        let small = shrink(&mut left, &mut fake(|_| None), &request).unwrap().unwrap();
        assert_eq!(small.request.to_string(), r#"{"a":"","b":""}"#);
    }

    #[test]
    fn what_agrees_is_not_shrunk() {
        assert!(shrink(&mut fake(|_| None), &mut fake(|_| None), &Json::object()).unwrap().is_none());
    }
}
