//! Unknown and duplicate fields: refused, warned of or ignored, by `fieldValidation`.

use std::{borrow::Cow, cell::RefCell, collections::HashSet, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeSeed, MapAccess, SeqAccess, Visitor},
};

use baton_merge::{Arena, value::Value, yaml};

use super::body::Text;
use crate::{options::FieldValidation, status::Failure};

/// The unknown and duplicate fields of a write, and how they are treated.
pub(super) struct Strictness {
    validation: FieldValidation,
    found: RefCell<Vec<String>>,
    duplicate_owners: RefCell<Option<String>>,
}

impl Strictness {
    pub(super) fn new(validation: FieldValidation) -> Self {
        Self { validation, found: RefCell::default(), duplicate_owners: RefCell::default() }
    }

    /// Finds duplicate fields in a body, and adds the unknown ones.
    pub(super) fn check(&self, body: Text<'_>, unknown: &[String]) -> Result<(), Failure> {
        if self.validation == FieldValidation::Ignore {
            return Ok(());
        }
        let mut duplicates = Vec::new();
        // JSON is YAML, too: only a body with duplicates is searched for their lines.
        let json = ValueAt { path: ValuePath::Root, duplicates: &mut duplicates }
            .deserialize(&mut serde_json::Deserializer::from_str(body.text));
        if body.is_yaml && (json.is_err() || !duplicates.is_empty()) {
            self.add_lines(yaml::read(body.text).map(|document| document.duplicates).unwrap_or_default());
        } else {
            self.add(duplicates.iter().map(|path| format!("duplicate field {path:?}")));
        }
        self.note(unknown)
    }

    /// Adds duplicate keys of YAML: one warning each, and one error for all.
    fn add_lines(&self, mut lines: Vec<String>) {
        if self.validation == FieldValidation::Strict && !lines.is_empty() {
            lines.insert(0, "yaml: unmarshal errors:".to_owned());
            self.add([lines.join("\n  ")].into_iter());
        } else {
            self.add(lines.into_iter());
        }
    }

    /// Adds unknown fields.
    pub(super) fn note(&self, unknown: &[String]) -> Result<(), Failure> {
        if self.validation == FieldValidation::Ignore {
            return Ok(());
        }
        self.add(unknown.iter().map(|path| format!("unknown field {path:?}")));
        let found = self.found.borrow();
        if self.validation == FieldValidation::Strict && !found.is_empty() {
            return Err(Failure::bad_request(format!("strict decoding error: {}", found.join(", "))));
        }
        Ok(())
    }

    /// Adds other findings.
    pub(super) fn add(&self, texts: impl Iterator<Item = String>) {
        let mut found = self.found.borrow_mut();
        for text in texts {
            if !found.contains(&text) {
                found.push(text);
            }
        }
    }

    /// Drops duplicate owner references. Those of a patch are reported after admission.
    pub(super) fn deduped<'a>(&self, arena: &'a Arena, object: Value<'a>, is_patch: bool) -> Value<'a> {
        let path = ["metadata", "ownerReferences"];
        let owners = object.at(&path).and_then(|owners| owners.as_list()).unwrap_or_default();
        let is_repeated = |place: usize| owners[..place].contains(&owners[place]);
        let (repeated, kept): (Vec<_>, Vec<_>) = (0..owners.len()).partition(|place| is_repeated(*place));
        if repeated.is_empty() {
            return object;
        }
        let uid = |place: &usize| owners[*place].get("uid").and_then(|uid| uid.as_str()).unwrap_or_default();
        let uids: Vec<_> = repeated.iter().map(uid).collect();
        let when = if is_patch { " after mutating admission happens" } else { "" };
        self.duplicate_owners.replace(Some(format!(
            ".metadata.ownerReferences contains duplicate entries{when}; API server dedups owner references in 1.20+, and may \
             reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            uids.join(", ")
        )));
        let kept = arena.list(kept.into_iter().map(|place| owners[place]));
        object.with(arena, &path, Some(Value::List(kept)))
    }

    /// The warnings for the client, unless fields are refused.
    pub(super) fn into_warnings(self) -> Vec<String> {
        let fields =
            if self.validation == FieldValidation::Strict { Vec::new() } else { self.found.into_inner() };
        fields.into_iter().chain(self.duplicate_owners.into_inner()).collect()
    }
}

/// The path to a value.
enum ValuePath<'w> {
    Root,
    Member(&'w ValuePath<'w>, &'w str),
    Item(&'w ValuePath<'w>, usize),
}

impl fmt::Display for ValuePath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Member(Self::Root, name) => f.write_str(name),
            Self::Member(before, name) => write!(f, "{before}.{name}"),
            Self::Item(before, position) => write!(f, "{before}[{position}]"),
        }
    }
}

/// The name of a member, not copied unless it has escapes.
#[derive(Deserialize)]
struct Name<'n>(#[serde(borrow)] Cow<'n, str>);

/// A value that is searched for duplicates.
struct ValueAt<'l> {
    path: ValuePath<'l>,
    duplicates: &'l mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for ValueAt<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueAt<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut position = 0;
        let duplicates = self.duplicates;
        while items
            .next_element_seed(ValueAt {
                path: ValuePath::Item(&self.path, position),
                duplicates: &mut *duplicates,
            })?
            .is_some()
        {
            position += 1;
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut seen = HashSet::new();
        let duplicates = self.duplicates;
        while let Some(Name(name)) = members.next_key()? {
            let path = ValuePath::Member(&self.path, &name);
            if seen.contains(&name) {
                let path = path.to_string();
                if !duplicates.contains(&path) {
                    duplicates.push(path);
                }
            }
            members.next_value_seed(ValueAt { path, duplicates: &mut *duplicates })?;
            seen.insert(name);
        }
        Ok(())
    }
}
