//! Reads the text of a path.

use std::str::FromStr;

use baton_merge::{
    Arena,
    fieldpath::{FieldSet, PathElement},
    value::Value,
};

use super::{FieldQuery, PathError, Segment};

impl FromStr for FieldQuery {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, PathError> {
        let text = text.trim();
        let segments = if text.starts_with('{') { fields_v1(text) } else { segments(text) };
        match segments {
            Ok(segments) => Ok(Self { text: text.to_owned(), segments }),
            Err(problem) => Err(PathError::Syntax { path: text.to_owned(), problem }),
        }
    }
}

/// The segments of the only leaf in FieldsV1.
fn fields_v1(text: &str) -> Result<Vec<Segment>, String> {
    let arena = Arena::new();
    let set = FieldSet::from_fields_v1_text(&arena, text).map_err(|error| error.to_string())?;
    let leaves = set.leaves(&arena).paths(&arena);
    let [path] = leaves[..] else { return Err(format!("it has {} fields, not one", leaves.len())) };
    let segment = |element: &PathElement<'_>| match *element {
        PathElement::Field(name) => Ok(Segment::WholeName(name.to_owned())),
        PathElement::Key(keys) => {
            Ok(Segment::Keys(keys.iter().map(|(name, value)| ((*name).to_owned(), plain(*value))).collect()))
        }
        PathElement::Value(value) => Ok(Segment::Value(plain(value))),
        PathElement::Index(index) => {
            usize::try_from(index).map(Segment::Index).map_err(|_| "a negative index".to_owned())
        }
        PathElement::Keyless => Err("an element without a name".to_owned()),
    };
    path.elements().iter().map(segment).collect()
}

/// A value as it is written in a path: a text without quotes.
pub(super) fn plain(value: Value<'_>) -> String {
    match value {
        Value::String(text) => text.to_owned(),
        // Numbers are written as in a path: 80, also if they were read as 80.0.
        value => value.to_string(),
    }
}

fn segments(text: &str) -> Result<Vec<Segment>, String> {
    let mut segments = Vec::new();
    let mut rest = text.strip_prefix('$').unwrap_or(text);
    while !rest.is_empty() {
        rest = match rest.strip_prefix('[') {
            Some(inner) => {
                let end = end_of_brackets(inner).ok_or("a [ is never closed")?;
                segments.push(in_brackets(&inner[..end])?);
                &inner[end + 1..]
            }
            None => {
                let (segment, rest) = name(rest.strip_prefix('.').unwrap_or(rest))?;
                segments.push(segment);
                rest
            }
        };
    }
    if segments.is_empty() { Err("it is empty".to_owned()) } else { Ok(segments) }
}

/// A name up to the next dot or bracket. A backslash before a dot makes it part of the name.
fn name(text: &str) -> Result<(Segment, &str), String> {
    let (mut name, mut is_escaped, mut has_escapes) = (String::new(), false, false);
    let mut end = text.len();
    for (position, c) in text.char_indices() {
        match c {
            _ if is_escaped => {
                name.push(c);
                is_escaped = false;
            }
            '\\' => (is_escaped, has_escapes) = (true, true),
            '.' | '[' => {
                end = position;
                break;
            }
            c => name.push(c),
        }
    }
    if name.is_empty() {
        return Err("a name is empty".to_owned());
    }
    Ok((if has_escapes { Segment::WholeName(name) } else { Segment::Name(name) }, &text[end..]))
}

fn in_brackets(inner: &str) -> Result<Segment, String> {
    if let Some(name) = quoted(inner) {
        return Ok(Segment::WholeName(name));
    }
    if let Ok(index) = inner.parse() {
        return Ok(Segment::Index(index));
    }
    if let Some(value) = inner.strip_prefix('=') {
        return Ok(Segment::Value(unquoted(value)));
    }
    let inner = json_path(inner);
    let keys = split(&inner).into_iter().map(|pair| {
        let (name, value) = pair.split_once('=')?;
        Some((name.trim().to_owned(), unquoted(value.trim()))).filter(|(name, _)| !name.is_empty())
    });
    let keys: Option<Vec<_>> = keys.collect();
    keys.map(Segment::Keys)
        .ok_or_else(|| format!("[{inner}] is no item: write [name=web], [=value], [0] or [\"a.name\"]"))
}

/// The text in the brackets of a filter in `JSONPath`, as kubectl has it: `?(@.name=="web")`.
fn json_path(inner: &str) -> String {
    let filter = inner.strip_prefix("?(").and_then(|inner| inner.strip_suffix(')'));
    filter.map_or_else(|| inner.to_owned(), |filter| filter.replace("@.", "").replace("==", "="))
}

/// The parts between commas that aren't quoted.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start) = (Vec::new(), 0);
    for (position, c) in outside_of_quotes(text) {
        if c == ',' {
            parts.push(&text[start..position]);
            start = position + 1;
        }
    }
    parts.push(&text[start..]);
    parts
}

fn end_of_brackets(text: &str) -> Option<usize> {
    outside_of_quotes(text).find(|(_, c)| *c == ']').map(|(position, _)| position)
}

fn outside_of_quotes(text: &str) -> impl Iterator<Item = (usize, char)> {
    let (mut quote, mut is_escaped) = (None, false);
    text.char_indices().filter(move |(_, c)| match (quote, *c) {
        _ if is_escaped => {
            is_escaped = false;
            false
        }
        (Some(_), '\\') => {
            is_escaped = true;
            false
        }
        (Some(open), c) => {
            quote = (c != open).then_some(open);
            false
        }
        (None, '"' | '\'') => {
            quote = Some(*c);
            false
        }
        (None, _) => true,
    })
}

/// The text between quotes, if it is quoted.
fn quoted(text: &str) -> Option<String> {
    if let Some(inner) = text.strip_prefix('\'').and_then(|text| text.strip_suffix('\'')) {
        return Some(inner.to_owned());
    }
    text.starts_with('"').then(|| serde_json::from_str(text).ok())?
}

fn unquoted(text: &str) -> String {
    quoted(text).unwrap_or_else(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<Segment> {
        text.parse::<FieldQuery>().unwrap().segments
    }

    fn name(name: &str) -> Segment {
        Segment::Name(name.to_owned())
    }

    fn keys<const N: usize>(keys: [(&str, &str); N]) -> Segment {
        Segment::Keys(keys.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec())
    }

    #[test]
    fn paths_are_read_as_people_write_them() {
        let image = || vec![name("containers"), keys([("name", "web")]), name("image")];
        for text in [
            ".containers[name=web].image",
            "containers[name=web].image",
            r#".containers[name="web"].image"#,
            "$.containers[name='web'].image",
            r#".containers[?(@.name=="web")].image"#,
        ] {
            assert_eq!(read(text), image(), "{text}");
        }
        assert_eq!(read("ports[0]"), [name("ports"), Segment::Index(0)]);
        assert_eq!(
            read("ports[containerPort=80,protocol=TCP]"),
            [name("ports"), keys([("containerPort", "80"), ("protocol", "TCP")])]
        );
        assert_eq!(read(r#"finalizers[="a/b"]"#), [name("finalizers"), Segment::Value("a/b".to_owned())]);
        assert_eq!(read(r#"x[k="a],b"]"#), [name("x"), keys([("k", "a],b")])]);
    }

    #[test]
    fn names_with_dots_are_quoted_or_escaped_or_left_to_the_object() {
        let whole = Segment::WholeName("a.b/c".to_owned());
        for text in [r#".labels["a.b/c"]"#, ".labels['a.b/c']", r".labels.a\.b/c"] {
            assert_eq!(read(text), [name("labels"), whole.clone()], "{text}");
        }
        assert_eq!(read(".labels.a.b/c"), [name("labels"), name("a"), name("b/c")]);
    }

    #[test]
    fn one_leaf_of_fields_v1_is_a_path() {
        assert_eq!(
            read(r#"{"f:spec":{"f:containers":{"k:{\"name\":\"web\"}":{"f:image":{}}}}}"#),
            [
                Segment::WholeName("spec".to_owned()),
                Segment::WholeName("containers".to_owned()),
                keys([("name", "web")]),
                Segment::WholeName("image".to_owned())
            ]
        );
    }

    #[test]
    fn what_is_no_path_is_refused_with_a_reason() {
        for (text, problem) in [
            ("", "it is empty"),
            (".a..b", "a name is empty"),
            (".a[name=web", "a [ is never closed"),
            (".a[web]", "[web] is no item: write [name=web], [=value], [0] or [\"a.name\"]"),
            (r#"{"f:a":{},"f:b":{}}"#, "it has 2 fields, not one"),
        ] {
            let error = text.parse::<FieldQuery>().unwrap_err();
            let PathError::Syntax { problem: found, .. } = error else { panic!("{text}") };
            assert_eq!(found, problem, "{text}");
        }
    }
}
