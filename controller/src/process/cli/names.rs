//! Names as Kubernetes takes them, and label selectors, read from the command line so that a slip is told before anything runs.

use std::str::FromStr;

/// The name of a namespace: an RFC 1123 label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamespaceName(pub String);

/// The name of most objects: an RFC 1123 subdomain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectName(pub String);

/// A label selector as `kubectl -l` takes it. It selects something: an empty one is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelSelector(pub String);

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
        match parts(text).into_iter().map(str::trim).find(|part| !is_requirement(part)) {
            Some(part) => Err(format!("can't read `{part}`; {EXAMPLE}")),
            None => Ok(Self(text.to_owned())),
        }
    }
}

/// The parts between the commas that aren't in parentheses.
fn parts(text: &str) -> Vec<&str> {
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

fn is_requirement(part: &str) -> bool {
    if let Some(key) = part.strip_prefix('!') {
        return is_key(key);
    }
    if let Some((key, value)) = ["!=", "==", "="].iter().find_map(|operator| part.split_once(operator)) {
        return is_key(key) && is_value(value);
    }
    let Some((key, rest)) = part.split_once(char::is_whitespace) else { return is_key(part) };
    let Some((operator, set)) = rest.trim().split_once('(') else { return false };
    is_key(key)
        && ["in", "notin"].contains(&operator.trim())
        && set.strip_suffix(')').is_some_and(|set| set.split(',').all(is_value))
}

/// Whether it is a label's key: a name, with a DNS name before it or not.
fn is_key(text: &str) -> bool {
    let text = text.trim();
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    prefix.is_none_or(|prefix| prefix.len() <= 253 && prefix.split('.').all(is_label)) && is_qualified(name)
}

/// Whether it is a label's value, which may be empty.
fn is_value(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || is_qualified(text)
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

    #[test]
    fn selectors_are_those_that_kubectl_reads() {
        for text in [
            "team=a",
            "team==a, tier != db",
            "baton.rs/ring in (one, two),!legacy",
            "tier notin (db)",
            "canary",
            "team=",
        ] {
            assert_eq!(text.parse(), Ok(LabelSelector(text.to_owned())));
        }
    }

    #[test]
    fn a_selector_with_a_slip_is_refused_with_an_example() {
        for text in ["team=a b", "=a", "team in a", "team in (a", "te am", "a,,b", "-x", "a/b/c", "team=a=b"]
        {
            let error = text.parse::<LabelSelector>().unwrap_err();
            assert!(error.contains("team=a,tier in"), "{text}: {error}");
        }
        assert!(" ".parse::<LabelSelector>().unwrap_err().contains("leave it out"));
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
