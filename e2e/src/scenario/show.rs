//! The text of a failed step: live object beside request, prediction beside response.

use std::fmt::Write as _;

use baton_testbed::Json;

/// The widest column, in characters. Longer lines are cut.
const WIDEST: usize = 78;

/// A step that failed.
pub(super) struct Failure<'a> {
    pub(super) scenario: &'a str,
    pub(super) sentence: &'a str,
    /// The problems.
    pub(super) problems: &'a [String],
    /// The object before.
    pub(super) live: &'a Json,
    pub(super) request: &'a Json,
    pub(super) uri: &'a str,
    /// The prediction of the merge core.
    pub(super) prediction: &'a Json,
    /// The object after, or the refusal.
    pub(super) response: &'a Json,
    pub(super) code: u16,
}

/// The text about a failure.
pub(super) fn failure(failure: &Failure<'_>) -> String {
    let Failure { scenario, sentence, problems, live, request, uri, prediction, response, code } = failure;
    // The response is an object: show the predicted object beside it, if there is one.
    let predicted = prediction.get("object").unwrap_or(prediction);
    let mut text = format!("{scenario}: {sentence}\n{uri}\n");
    for problem in *problems {
        let _ = writeln!(text, "  - {problem}");
    }
    text.push('\n');
    text.push_str(&beside(("LIVE OBJECT", live), ("REQUEST", request), false));
    text.push('\n');
    text.push_str(&beside(("PREDICTION", predicted), (&format!("RESPONSE {code}"), response), true));
    text
}

/// Two documents beside each other, with a mark between lines that differ if `marks` is set.
fn beside(left: (&str, &Json), right: (&str, &Json), marks: bool) -> String {
    let lines = |(title, json): (&str, &Json)| -> Vec<String> {
        let yaml = yaml(json);
        let body = yaml.lines().map(str::to_owned);
        [title.to_owned(), "─".repeat(title.chars().count())].into_iter().chain(body).collect()
    };
    let (left, right) = (lines(left), lines(right));
    let width = left.iter().map(|line| line.chars().count()).max().unwrap_or(0).min(WIDEST);
    let cut = |line: &str| -> String {
        if line.chars().count() <= WIDEST {
            return line.to_owned();
        }
        line.chars().take(WIDEST - 1).chain(['…']).collect()
    };
    let mut text = String::new();
    for (left, right) in aligned(&left, &right, marks) {
        let mark = if marks && left != right { '≠' } else { '│' };
        let _ = writeln!(text, "{:width$} {mark} {}", cut(left), cut(right));
    }
    text
}

/// Lines in pairs: equal ones beside each other where the documents are meant to be equal.
fn aligned<'t>(left: &'t [String], right: &'t [String], compared: bool) -> Vec<(&'t str, &'t str)> {
    let line = |lines: &'t [String], i: usize| lines.get(i).map_or("", String::as_str);
    if !compared {
        return (0..left.len().max(right.len())).map(|i| (line(left, i), line(right, i))).collect();
    }
    // The titles are never equal, but belong beside each other.
    let mut pairs = vec![(line(left, 0), line(right, 0)), (line(left, 1), line(right, 1))];
    let (left, right) = (left.get(2..).unwrap_or_default(), right.get(2..).unwrap_or_default());
    for operation in similar::capture_diff_slices(similar::Algorithm::Myers, left, right) {
        let (lefts, rights) = (operation.old_range(), operation.new_range());
        let count = lefts.len().max(rights.len());
        let within = |range: &std::ops::Range<usize>, i: usize| range.clone().nth(i);
        pairs.extend((0..count).map(|i| {
            let left = within(&lefts, i).map_or("", |i| line(left, i));
            (left, within(&rights, i).map_or("", |i| line(right, i)))
        }));
    }
    pairs
}

/// A document as YAML.
pub(super) fn yaml(json: &Json) -> String {
    baton_merge::yaml::to_string(json).unwrap_or_else(|_| json.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_differ_are_marked() {
        let (left, right): (Json, Json) =
            (r#"{"a":1,"b":2,"d":4}"#.parse().unwrap(), r#"{"a":1,"c":3,"d":4}"#.parse().unwrap());
        let shown = beside(("ONE", &left), ("OTHER", &right), true);
        assert_eq!(shown, "ONE  ≠ OTHER\n───  ≠ ─────\na: 1 │ a: 1\nb: 2 ≠ c: 3\nd: 4 │ d: 4\n");
    }
}
