//! Names as Kubernetes takes them, and label selectors, read from the command line so that a slip is told before anything runs.

use std::{fmt, str::FromStr};

use kube::core::{Expression, Selector};

/// The name of a namespace: an RFC 1123 label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamespaceName(pub String);

/// The name of most objects: an RFC 1123 subdomain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectName(pub String);

/// A label selector as `kubectl -l` takes it. It selects something: an empty one is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelSelector(pub Selector);

/// The name of a process in an election: any text that isn't empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity(pub String);

impl FromStr for NamespaceName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("it is empty; leave it out to watch all namespaces".to_owned());
        }
        if is_label(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err("a namespace's name has up to 63 of a-z, 0-9 and -, such as `team-a`".to_owned())
        }
    }
}

impl FromStr for ObjectName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.len() <= 253 && text.split('.').all(is_label) {
            Ok(Self(text.to_owned()))
        } else {
            Err("a name has up to 253 of a-z, 0-9, - and ., such as `baton`".to_owned())
        }
    }
}

impl FromStr for Identity {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim().is_empty() {
            return Err("it is empty; leave it out to have one made up".to_owned());
        }
        Ok(Self(text.to_owned()))
    }
}

impl FromStr for LabelSelector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        const EXAMPLE: &str = "write it like `team=a,tier in (web,api),!legacy`";
        if text.trim().is_empty() {
            return Err("it is empty; leave it out to take all Workloads".to_owned());
        }
        let expressions = requirements(text)
            .into_iter()
            .map(|part| expression(part).ok_or_else(|| format!("can't read `{}`; {EXAMPLE}", part.trim())));
        Ok(Self(expressions.collect::<Result<Selector, String>>()?))
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The parts between the commas that aren't in parentheses.
fn requirements(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    text.split(|character| {
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        character == ',' && depth == 0
    })
    .collect()
}

fn expression(part: &str) -> Option<Expression> {
    let part = part.trim();
    if let Some(key) = part.strip_prefix('!') {
        return Some(Expression::DoesNotExist(key_of(key)?));
    }
    for (operator, expression) in [
        ("!=", Expression::NotEqual as fn(String, String) -> Expression),
        ("==", Expression::Equal),
        ("=", Expression::Equal),
    ] {
        if let Some((key, value)) = part.split_once(operator) {
            return Some(expression(key_of(key)?, value_of(value)?));
        }
    }
    let Some((key, rest)) = part.split_once(char::is_whitespace) else {
        return Some(Expression::Exists(key_of(part)?));
    };
    let (operator, set) = rest.trim().split_once('(')?;
    let values = set.strip_suffix(')')?.split(',').map(value_of).collect::<Option<_>>()?;
    match operator.trim() {
        "in" => Some(Expression::In(key_of(key)?, values)),
        "notin" => Some(Expression::NotIn(key_of(key)?, values)),
        _ => None,
    }
}

/// A label's key: a name, with a DNS name before it or not.
fn key_of(text: &str) -> Option<String> {
    let text = text.trim();
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    let has_prefix = prefix.is_none_or(|prefix| prefix.len() <= 253 && prefix.split('.').all(is_label));
    (has_prefix && is_qualified(name)).then(|| text.to_owned())
}

/// A label's value, which may be empty.
fn value_of(text: &str) -> Option<String> {
    let text = text.trim();
    (text.is_empty() || is_qualified(text)).then(|| text.to_owned())
}

fn is_qualified(text: &str) -> bool {
    let ends = |character: char| character.is_ascii_alphanumeric();
    let within = |character: char| ends(character) || matches!(character, '-' | '_' | '.');
    text.len() <= 63 && text.chars().all(within) && text.starts_with(ends) && text.ends_with(ends)
}

fn is_label(text: &str) -> bool {
    let ends = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit();
    let within = |character: char| ends(character) || character == '-';
    text.len() <= 63 && text.chars().all(within) && text.starts_with(ends) && text.ends_with(ends)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selector(text: &str) -> Result<String, String> {
        text.parse::<LabelSelector>().map(|selector| selector.to_string())
    }

    #[test]
    fn selectors_are_read_as_kubectl_reads_them() {
        for (text, read) in [
            ("team=a", "team=a"),
            ("team==a, tier != db", "team=a,tier!=db"),
            ("baton.rs/ring in (one, two),!legacy", "baton.rs/ring in (one,two),!legacy"),
            ("tier notin (db)", "tier notin (db)"),
            ("canary", "canary"),
            ("team=", "team="),
        ] {
            assert_eq!(selector(text).as_deref(), Ok(read), "{text}");
        }
    }

    #[test]
    fn a_selector_with_a_slip_is_refused_with_an_example() {
        for text in ["team=a b", "=a", "team in a", "team in (a", "te am", "a,,b", "-x", "a/b/c", "team=a=b"]
        {
            let error = selector(text).unwrap_err();
            assert!(error.contains("team=a,tier in"), "{text}: {error}");
        }
        assert!(selector(" ").unwrap_err().contains("leave it out"));
    }

    #[test]
    fn names_are_those_that_the_api_server_takes() {
        for name in ["a", "team-a", "0"] {
            assert_eq!(name.parse(), Ok(NamespaceName(name.to_owned())));
        }
        for name in ["", "Team", "-a", "a.b", "a_b", &"a".repeat(64)] {
            assert!(name.parse::<NamespaceName>().is_err(), "{name}");
        }
        assert!("baton.shop".parse::<ObjectName>().is_ok());
        assert!("baton/shop".parse::<ObjectName>().is_err() && "".parse::<ObjectName>().is_err());
        assert!(" ".parse::<Identity>().is_err());
    }
}
