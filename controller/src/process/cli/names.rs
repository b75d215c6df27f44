//! Names that Kubernetes accepts, checked on the command line so that a typo is reported before anything runs.

use std::str::FromStr;

/// The name of a namespace: an RFC 1123 label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamespaceName(pub String);

/// The name of most objects: an RFC 1123 subdomain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectName(pub String);

/// The name of a shard: an RFC 1123 label, which is a label's value and part of names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardName(pub String);

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
            return Err("it is empty; leave it out for a generated one".to_owned());
        }
        Ok(Self(text.to_owned()))
    }
}

impl FromStr for ShardName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Err("it is empty; leave it out to reconcile the Workloads without a shard".to_owned());
        }
        if is_label(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err("a shard's name has up to 63 of a-z, 0-9 and -, such as `second`".to_owned())
        }
    }
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
    fn names_are_accepted_as_the_api_server_accepts_them() {
        for name in ["a", "team-a", "0"] {
            assert_eq!(name.parse(), Ok(NamespaceName(name.to_owned())));
        }
        for name in ["", "Team", "-a", "a.b", "a_b", &"a".repeat(64)] {
            assert!(name.parse::<NamespaceName>().is_err() && name.parse::<ShardName>().is_err(), "{name}");
        }
        assert!("baton.shop".parse::<ObjectName>().is_ok());
        assert!("baton/shop".parse::<ObjectName>().is_err() && "".parse::<ObjectName>().is_err());
        assert!(" ".parse::<Identity>().is_err());
    }
}
