//! Shrinks a request on which two sides differ: drops or simplifies parts as long as the sides differ in the same way,
//! without knowing their meaning.

use anyhow::Result;
use baton_testbed::Json;

use super::compare::{Verdict, Way, compare};
use crate::peer::Peer;

/// The most requests for one case.
const TRIES: usize = 20_000;
/// The requests of a batch.
const BATCH: usize = 64;

/// A case in which the sides differ.
#[derive(Clone, Debug)]
pub struct Difference {
    /// The request.
    pub request: Json,
    /// The left response to it.
    pub left: String,
    /// The right response to it.
    pub right: String,
    /// The place of the difference.
    pub at: String,
}

/// Shrinks a request; `None` if the sides don't differ on it alone.
pub fn shrink(left: &mut Peer, right: &mut Peer, request: &Json) -> Result<Option<Difference>> {
    // Raw text is parsed again.
    let request = request.to_string().parse().unwrap_or_else(|_| request.clone());
    let mut asked = ask(left, right, &[request])?;
    let Some((mut small, way)) = asked.pop().flatten() else { return Ok(None) };
    let mut tries = 0;
    'smaller: while tries < TRIES {
        for batch in candidates(&small.request).chunks(BATCH) {
            tries += batch.len();
            let found = ask(left, right, batch)?.into_iter().flatten().find(|(_, other)| *other == way);
            if let Some((smaller, _)) = found {
                small = smaller;
                continue 'smaller;
            }
        }
        break;
    }
    Ok(Some(small))
}

/// The requests on which the sides differ, each at its index.
fn ask(left: &mut Peer, right: &mut Peer, requests: &[Json]) -> Result<Vec<Option<(Difference, Way)>>> {
    let lines: Vec<String> = requests.iter().map(Json::to_string).collect();
    let responses = left(&lines)?.into_iter().zip(right(&lines)?);
    let judged =
        requests.iter().zip(responses).map(|(request, (left, right))| match compare(&left, &right) {
            Verdict::Differs { way, at } => {
                Some((Difference { request: request.clone(), left, right, at }, way))
            }
            _ => None,
        });
    Ok(judged.collect())
}

/// All requests that are one step smaller, the largest steps first. Every step makes the text shorter, so that shrinking
/// ends.
fn candidates(request: &Json) -> Vec<Json> {
    let size = |json: &Json| json.to_string().len();
    let mut found = smaller(request);
    // Without a time each side reads its own clock, and without a release it has its own rules: both make a difference.
    let has_time = |request: &Json| request.get("now").is_some();
    found.retain(|candidate| {
        size(candidate) < size(request)
            && has_time(candidate) == has_time(request)
            && candidate.get("profile") == request.get("profile")
    });
    found.sort_by_cached_key(size);
    found
}

/// Replacements of a value.
fn smaller(value: &Json) -> Vec<Json> {
    match value {
        Json::Object(members) => {
            let with = |(name, _): &(String, Json), value| (name.clone(), value);
            fewer(members, Json::Object, |(_, value)| value, with)
        }
        Json::List(items) => fewer(items, Json::List, |item| item, |_, item| item),
        Json::String(text) => {
            let half: String = text.chars().take(text.chars().count() / 2).collect();
            vec![Json::string(""), Json::string(half)]
        }
        Json::Number(_) => vec![Json::from(0), Json::from(1)],
        Json::Bool(_) | Json::Null | Json::Text(_) => Vec::new(),
    }
}

/// One of the parts; half of them; all but one; all with one of them smaller.
fn fewer<T: Clone>(
    parts: &[T],
    whole: fn(Vec<T>) -> Json,
    value: fn(&T) -> &Json,
    with: fn(&T, Json) -> T,
) -> Vec<Json> {
    let mut found: Vec<_> = parts.iter().map(|part| value(part).clone()).collect();
    let (first, second) = parts.split_at(parts.len() / 2);
    found.extend([whole(first.to_vec()), whole(second.to_vec())]);
    for (i, part) in parts.iter().enumerate() {
        let replaced = |by: Option<T>| {
            let mut parts = parts.to_vec();
            parts.splice(i..=i, by);
            whole(parts)
        };
        found.push(replaced(None));
        found.extend(smaller(value(part)).into_iter().map(|value| replaced(Some(with(part, value)))));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Responds with `{"ok":true}`, or the result of `odd`.
    fn fake(odd: impl Fn(&str) -> Option<&'static str> + Send + 'static) -> Peer {
        let respond = move |request: &String| odd(request).unwrap_or(r#"{"ok":true}"#).to_owned();
        Box::new(move |requests| Ok(requests.iter().map(&respond).collect()))
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
            // Without `b` it refuses, which is another difference.
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
