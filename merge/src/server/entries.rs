//! `metadata.managedFields`: read, kept by manager, and written in the server's order.
//!
//! Follows `managedfields.go` of apimachinery's field manager.

use std::fmt;

use jiff::Timestamp;

use crate::{
    Arena, Release,
    fieldpath::{FieldSet, Trailing},
    release::Rules,
    typed::Context,
    updater::{Managers, VersionedSet},
    value::{Dialect, Value, go_json},
};

/// The operation of a manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// Server-side apply.
    Apply,
    /// Any other write.
    Update,
}

impl Operation {
    /// The text in an entry.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// The identity of a manager: the same name with another operation, another subresource or (for updates) another version is
/// another manager.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ManagerId<'a> {
    /// The manager's name.
    pub manager: &'a str,
    /// Its operation.
    pub operation: Operation,
    /// The version of the writes; empty for an applier, whose identity doesn't depend on it.
    pub api_version: &'a str,
    /// The subresource of the writes; empty for the object itself.
    pub subresource: &'a str,
}

impl<'a> ManagerId<'a> {
    /// The identity of the writer. A manager without a name is called `unknown`.
    pub(crate) fn of_writer(
        manager: &'a str,
        operation: Operation,
        api_version: &'a str,
        subresource: &'a str,
    ) -> Self {
        let manager = if manager.is_empty() { "unknown" } else { manager };
        Self::of_entry(manager, operation, api_version, subresource)
    }

    fn of_entry(manager: &'a str, operation: Operation, api_version: &'a str, subresource: &'a str) -> Self {
        let api_version = if operation == Operation::Apply { "" } else { api_version };
        Self { manager, operation, api_version, subresource }
    }

    /// The server's key of the identity: an entry without its fields, as JSON. Only its order matters here.
    pub(crate) fn key(&self) -> String {
        let mut key = String::from("{");
        for (name, value) in [
            ("manager", self.manager),
            ("operation", self.operation.as_str()),
            ("apiVersion", self.api_version),
            ("subresource", self.subresource),
        ] {
            if !value.is_empty() {
                if key.len() > 1 {
                    key.push(',');
                }
                key.push('"');
                key.push_str(name);
                key.push_str("\":");
                go_json(&mut key, &Value::String(value), Dialect::Standard);
            }
        }
        key.push('}');
        key
    }
}

/// Prints the manager as conflict messages do: `"kubectl" with subresource "scale" using apps/v1`.
impl fmt::Display for ManagerId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Value::String(self.manager))?;
        if !self.subresource.is_empty() {
            write!(f, " with subresource {}", Value::String(self.subresource))?;
        }
        if self.operation == Operation::Update {
            write!(f, " using {}", self.api_version)?;
        }
        Ok(())
    }
}

/// An entry of `managedFields`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// The manager's name. An applier's version is in [`api_version`](Self::api_version).
    pub manager: &'a str,
    /// Its operation.
    pub operation: Operation,
    /// The version of the fields.
    pub api_version: &'a str,
    /// The time of the entry's last change, to the second.
    pub time: Option<Timestamp>,
    /// The owned fields.
    pub fields: FieldSet<'a>,
    /// The subresource of the writes; empty for the object itself.
    pub subresource: &'a str,
}

/// An object's entries can't be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("metadata.managedFields[{position}]: {problem}")]
pub struct EntryError {
    /// The index of the entry.
    pub position: usize,
    /// The problem.
    pub problem: String,
}

/// The owners and their times, while a write is computed.
#[derive(Clone, Debug, Default)]
pub(super) struct Managed<'a> {
    pub(super) fields: Managers<'a, ManagerId<'a>>,
    /// Sorted by manager, without duplicates.
    times: Vec<(ManagerId<'a>, Option<Timestamp>)>,
}

/// An entry as it is in an object.
#[derive(Clone, Copy, Debug)]
struct RawEntry<'a> {
    manager: &'a str,
    operation: &'a str,
    api_version: &'a str,
    time: Option<Timestamp>,
    fields_type: &'a str,
    fields: Value<'a>,
    subresource: &'a str,
}

impl RawEntry<'_> {
    /// Whether a JSON object is this entry and nothing else, each part as the server writes it.
    fn is_all_of(&self, object: &Value<'_>) -> bool {
        let texts = [self.manager, self.operation, self.api_version, self.fields_type, self.subresource];
        let expected = texts.iter().filter(|text| !text.is_empty()).count()
            + usize::from(self.time.is_some())
            + usize::from(!self.fields.is_null());
        let time = object.get("time").and_then(|time| time.as_str());
        let spelled = self.time.is_none_or(|own| time.is_some_and(|time| time == time_text(own)));
        spelled && object.as_map().is_some_and(|map| map.len() == expected)
    }

    /// Whether this is what the server writes for an entry, except for the time.
    fn is_written_for(&self, entry: &Entry<'_>) -> bool {
        self.manager == entry.manager
            && self.operation == entry.operation.as_str()
            && self.api_version == entry.api_version
            && self.subresource == entry.subresource
            && self.fields_type == "FieldsV1"
            && entry.fields.is_written_as(&self.fields)
    }

    fn is_empty(&self) -> bool {
        let texts = [self.manager, self.operation, self.api_version, self.fields_type, self.subresource];
        texts.iter().all(|text| text.is_empty()) && self.time.is_none() && self.fields.is_null()
    }
}

/// The `managedFields` in a request.
pub(super) enum Requested<'a> {
    /// Nothing.
    Absent,
    /// Resets all owners.
    Reset,
    /// These are the owners.
    Entries(Managed<'a>),
    /// Unreadable, which counts as absent.
    Unreadable,
}

/// The value of `metadata.managedFields`.
pub(super) fn managed_fields_of<'a>(object: &Value<'a>) -> Option<Value<'a>> {
    object.get("metadata")?.get("managedFields")
}

/// Whether the `managedFields` of an object fit their schema, at a glance: absent, null, or a list of entries without other
/// members.
pub(super) fn look_valid(object: &Value<'_>) -> bool {
    let entry_is_valid = |entry: &Value<'_>| {
        let Some(entry) = entry.as_map() else { return false };
        entry.members().iter().all(|(name, value)| match (*name, value) {
            (_, Value::Null) | ("fieldsV1", Value::Map(_)) => true,
            (name, Value::String(_)) => {
                ["manager", "operation", "apiVersion", "time", "fieldsType", "subresource"].contains(&name)
            }
            _ => false,
        })
    };
    match managed_fields_of(object) {
        None | Some(Value::Null) => true,
        Some(Value::List(entries)) => entries.iter().all(entry_is_valid),
        Some(_) => false,
    }
}

/// The entries of a list, as the server's decoder reads them; `None` if it isn't a list of entries.
fn raw_entries(list: Option<Value<'_>>) -> Option<Vec<RawEntry<'_>>> {
    list?.as_list()?.iter().map(raw_entry).collect()
}

fn raw_entry<'a>(entry: &Value<'a>) -> Option<RawEntry<'a>> {
    entry.as_map()?;
    let text = |name| match entry.get(name) {
        None | Some(Value::Null) => Some(""),
        Some(Value::String(text)) => Some(text),
        Some(_) => None,
    };
    let time = match entry.get("time") {
        None | Some(Value::Null) => None,
        Some(time) => Some(time.as_str()?.parse().ok()?),
    };
    Some(RawEntry {
        manager: text("manager")?,
        operation: text("operation")?,
        api_version: text("apiVersion")?,
        time,
        fields_type: text("fieldsType")?,
        fields: entry.get("fieldsV1").unwrap_or(Value::Null),
        subresource: text("subresource")?,
    })
}

impl<'a> Managed<'a> {
    /// Reads the entries of a live object.
    pub(super) fn of_live(context: Context<'a>, object: &Value<'a>) -> Result<Self, EntryError> {
        Self::decode(context, &raw_entries(managed_fields_of(object)).unwrap_or_default())
    }

    /// Reads the entries in a request.
    pub(super) fn of_request(context: Context<'a>, object: &Value<'a>) -> Requested<'a> {
        match raw_entries(managed_fields_of(object)).as_deref() {
            None | Some([]) => Requested::Absent,
            Some([only]) if only.is_empty() => Requested::Reset,
            Some(entries) => Self::decode(context, entries).map_or(Requested::Unreadable, Requested::Entries),
        }
    }

    /// Whether an intent has entries.
    pub(super) fn are_in(object: &Value<'a>) -> bool {
        raw_entries(managed_fields_of(object)).is_some()
    }

    fn decode(context: Context<'a>, entries: &[RawEntry<'a>]) -> Result<Self, EntryError> {
        let read = |(position, entry): (usize, &RawEntry<'a>)| {
            let (id, owned) = decode(context.arena, context.rules, entry)
                .map_err(|problem| EntryError { position, problem })?;
            Ok((id, owned, entry.time))
        };
        let all: Vec<_> = entries.iter().enumerate().map(read).collect::<Result<_, _>>()?;
        let fields: Managers<'a, _> = all.iter().map(|(id, owned, _)| (*id, *owned)).collect();
        let mut times: Vec<_> = all.into_iter().rev().map(|(id, _, time)| (id, time)).collect();
        // Stable: of two entries of one manager the last counts, which comes first here.
        times.sort_by_key(|(id, _)| *id);
        times.dedup_by_key(|(id, _)| *id);
        Ok(Self { fields, times })
    }

    /// The entries in the server's order.
    pub(super) fn encode(&self) -> Vec<Entry<'a>> {
        let mut entries: Vec<_> = self
            .fields
            .iter()
            .map(|(id, owned)| Entry {
                manager: id.manager,
                operation: if owned.applied { Operation::Apply } else { id.operation },
                api_version: owned.version,
                time: self.time(id),
                fields: owned.set,
                subresource: id.subresource,
            })
            .collect();
        entries.sort_by(|left, right| left.sort_key().cmp(&right.sort_key()));
        entries
    }

    pub(super) fn time(&self, id: &ManagerId<'a>) -> Option<Timestamp> {
        let at = self.times.binary_search_by(|(own, _)| own.cmp(id)).ok()?;
        self.times[at].1
    }

    pub(super) fn set_time(&mut self, id: ManagerId<'a>, time: Option<Timestamp>) {
        match self.times.binary_search_by(|(own, _)| own.cmp(&id)) {
            Ok(at) => self.times[at].1 = time,
            Err(at) => self.times.insert(at, (id, time)),
        }
    }
}

/// The entries after a write with their live times, if both differ in nothing else; and whether they are written exactly as
/// they are live.
pub(super) fn unchanged<'a>(live: &Value<'a>, after: &[Entry<'a>]) -> Option<(Vec<Entry<'a>>, bool)> {
    let Some(list) = managed_fields_of(live) else { return after.is_empty().then(|| (Vec::new(), true)) };
    let (raw, objects) = (raw_entries(Some(list))?, list.as_list()?);
    if objects.is_empty() || raw.len() != after.len() {
        return None;
    }
    let kept: Option<Vec<_>> = raw
        .iter()
        .zip(after)
        .map(|(live, after)| live.is_written_for(after).then_some(Entry { time: live.time, ..*after }))
        .collect();
    let as_they_stand = raw.iter().zip(objects).all(|(live, object)| live.is_all_of(object));
    Some((kept?, as_they_stand))
}

fn decode<'a>(
    arena: &'a Arena,
    rules: Rules,
    entry: &RawEntry<'a>,
) -> Result<(ManagerId<'a>, VersionedSet<'a>), String> {
    let operation = match entry.operation {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        other => return Err(format!("operation must be Apply or Update, found {other:?}")),
    };
    if entry.api_version.is_empty() {
        return Err("apiVersion must not be empty".to_owned());
    }
    if entry.fields_type != "FieldsV1" {
        return Err(format!("fieldsType must be FieldsV1, found {:?}", entry.fields_type));
    }
    let set = FieldSet::from_value_by(arena, entry.fields, Trailing::by(rules));
    let set = set.map_err(|error| error.to_string())?;
    let id = ManagerId::of_entry(entry.manager, operation, entry.api_version, entry.subresource);
    Ok((id, VersionedSet { set, version: entry.api_version, applied: operation == Operation::Apply }))
}

impl<'a> Entry<'a> {
    /// The entries of an object, in order, as a server of this release reads those of a live object.
    ///
    /// # Errors
    /// For the first unreadable one, which makes the server refuse each write.
    pub fn all_of(arena: &'a Arena, object: Value<'a>, release: Release) -> Result<Vec<Self>, EntryError> {
        let entries = managed_fields_of(&object).and_then(|entries| entries.as_list()).unwrap_or_default();
        let read = |(position, entry): (usize, &Value<'a>)| {
            let error = |problem| EntryError { position, problem };
            let raw = raw_entry(entry).ok_or_else(|| error("not an entry".to_owned()))?;
            let (id, owned) = decode(arena, release.rules(), &raw).map_err(error)?;
            Ok(Self {
                manager: id.manager,
                operation: id.operation,
                api_version: owned.version,
                time: raw.time,
                fields: owned.set,
                subresource: id.subresource,
            })
        };
        entries.iter().enumerate().map(read).collect()
    }

    /// The manager of the entry.
    pub fn id(&self) -> ManagerId<'a> {
        ManagerId::of_entry(self.manager, self.operation, self.api_version, self.subresource)
    }

    /// By operation, second, manager, version and subresource.
    fn sort_key(&self) -> (Operation, i64, &'a str, &'a str, &'a str) {
        let seconds = self.time.map_or(0, Timestamp::as_second);
        (self.operation, seconds, self.manager, self.api_version, self.subresource)
    }
}

/// The time as in an entry: UTC, to the second.
pub(super) fn time_text(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
