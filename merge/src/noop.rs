//! Detects that an apply changes nothing, without predicting it.
//!
//! Most applies of an operator change nothing. Detecting that needs no merge and no field set: one walk over the live
//! object is enough, alongside the intent, the schema and the applier's own entry. Each field of the intent must be live,
//! in the same order, and owned; and nothing else may be owned. The rest of the live object must fit the schema, since a
//! server refuses every apply to an object that doesn't.
//!
//! True is certain for an object as a server returned it. False only means that a prediction is needed: this walk stops at
//! rare cases (nulls, entries of other versions, an unsorted map).

use crate::{
    fieldpath::PathElement,
    predict::Apply,
    schema::{Key, KeyDefault, List, Map, Schema, TypeId},
    server::{HIDDEN_WHEN_EMPTY, Resets, Resource},
    typed::{Duplicates, fits},
    value::{self, Value, escape_json, write_plain_json_string},
};

type Object<'a> = value::Map<'a>;

impl Resource<'_> {
    /// Whether an apply certainly changes nothing, for much less than [`predict`](Self::predict) costs. `false` means that
    /// it changes something, or that only a prediction can tell.
    ///
    /// The live object must be as the server returned it. It may have been stored before a change of its schema.
    pub fn is_noop(&self, live: Value<'_>, intent: Value<'_>, apply: Apply<'_>) -> bool {
        check(*self, live, intent, apply).is_some()
    }
}

fn check(resource: Resource<'_>, live: Value<'_>, intent: Value<'_>, apply: Apply<'_>) -> Option<()> {
    let kind_of = |object: Value<'_>| {
        let text = |name| object.get(name).and_then(|value| value.as_str());
        text("apiVersion") == Some(resource.api_version()) && text("kind") == Some(resource.kind())
    };
    let of_scale = apply.subresource == "scale";
    let resets = resource.resets(apply.subresource).filter(|_| !of_scale)?;
    // A manager doesn't own the fields that its write resets, which is left to the prediction.
    let says = |path: &[&str]| intent.at(path).is_some();
    let resets_nothing = match resets {
        Resets::Fields(fields) => !fields.iter().any(|path| says(path)),
        Resets::AllBut(_) => false,
    };
    // `kubectl` keeps its intent in an annotation, and an empty name is replaced.
    let is_special = matches!(apply.manager, "kubectl" | "");
    require(kind_of(live) && kind_of(intent) && resets_nothing && !is_special)?;
    require(resource.is_stored_as_written() && !resource.fills_in_labels())?;
    require(intent.get("metadata").is_none_or(|metadata| metadata.get("managedFields").is_none()))?;

    let walk =
        Walk { schema: resource.schema(), keys_may_be_omitted: apply.release.rules().keys_may_be_omitted };
    let entries = live.get("metadata")?.get("managedFields")?.as_list()?;
    require(!resource.is_custom() || shows_all_metadata(live, entries))?;
    let own = walk.own_entry(resource, entries, apply)?;
    let root = walk.schema.atom(resource.type_id())?.map.as_ref()?;
    walk.object(root, intent.as_map()?, live.as_map()?, own)
}

/// Whether all owned parts of metadata are present: an absent one may be stored empty, and the next write drops it.
fn shows_all_metadata(live: Value<'_>, entries: &[Value<'_>]) -> bool {
    HIDDEN_WHEN_EMPTY.iter().all(|path| {
        let Some(PathElement::Field(name)) = path.elements().last() else { return true };
        let is_shown = live.get("metadata").is_some_and(|metadata| metadata.get(name).is_some());
        let owned =
            |entry: &Value<'_>| entry.get("fieldsV1")?.get("f:metadata")?.get(&format!("f:{name}")).map(drop);
        is_shown || entries.iter().all(|entry| owned(entry).is_none())
    })
}

fn require(holds: bool) -> Option<()> {
    holds.then_some(())
}

#[derive(Clone, Copy)]
struct Walk<'a> {
    schema: &'a Schema,
    keys_may_be_omitted: bool,
}

impl Walk<'_> {
    /// The fields of the applier's entry, if all entries stay as they are.
    fn own_entry<'e>(
        self,
        resource: Resource<'_>,
        entries: &'e [Value<'e>],
        apply: Apply<'_>,
    ) -> Option<Object<'e>> {
        let mut own = None;
        let mut seen: Vec<Entry<'_>> = Vec::with_capacity(entries.len());
        for entry in entries {
            let entry = Entry::read(entry)?;
            // As the server writes entries: sorted, times as text, and one for each manager.
            require(seen.last().is_none_or(|last| last.key() < entry.key()))?;
            require(entry.api_version == resource.api_version())?;
            let is_own = entry.manager == apply.manager
                && entry.operation == "Apply"
                && entry.subresource == apply.subresource;
            // An empty entry would be removed, and one in another format rewritten.
            require(!entry.fields.is_empty())?;
            if is_own {
                own = Some(entry.fields);
            } else {
                require(!entry.fields.contains("."))?;
                self.stays(resource.type_id(), entry.fields, false)?;
            }
            seen.push(entry);
        }
        seen.sort_unstable_by_key(Entry::identity);
        require(seen.windows(2).all(|pair| pair[0].identity() != pair[1].identity()))?;
        own
    }

    /// Whether a set is unchanged by reconciliation: no manager owns a path below an atomic value.
    fn stays(self, type_id: TypeId, fields: Object<'_>, is_leaf: bool) -> Option<()> {
        let atom = self.schema.atom(type_id)?;
        match (&atom.map, atom.scalar, &atom.list) {
            (Some(map), _, _) if map.is_untyped => Some(()),
            (Some(map), _, _) => {
                require(!map.is_atomic || is_leaf || fields.is_empty())?;
                members(fields).try_for_each(|(name, below)| {
                    require(is_element(name))?;
                    let type_id = name.strip_prefix("f:").map_or(map.element, |name| map.member(name));
                    if type_id == TypeId::EMPTY { Some(()) } else { self.stays_below(type_id, below) }
                })
            }
            (None, Some(_), _) => Some(()),
            (None, None, Some(list)) => {
                require(!list.is_atomic() || is_leaf)?;
                members(fields).try_for_each(|(name, below)| {
                    require(is_element(name))?;
                    self.stays_below(list.element, below)
                })
            }
            (None, None, None) => None,
        }
    }

    fn stays_below(self, type_id: TypeId, below: Value<'_>) -> Option<()> {
        let below = below.as_map()?;
        require(below.len() != 1 || !below.contains("."))?;
        self.stays(type_id, below, below.is_empty())
    }

    /// The object itself, whose identity isn't owned.
    fn object(self, map: &Map, intent: Object<'_>, live: Object<'_>, owned: Object<'_>) -> Option<()> {
        let mut owned = Owned::new(owned, false)?;
        for (name, intent, live) in Object::zip(intent, live) {
            let live = live?;
            match name {
                "apiVersion" | "kind" => self.fits(map.member(name), live, Duplicates::Allowed)?,
                "metadata" => {
                    let metadata = self.schema.atom(map.named_field("metadata")?)?.map.as_ref()?;
                    self.metadata(metadata, intent, live.as_map()?, &mut owned)?;
                }
                _ => self.member(map, name, intent, live, &mut owned)?,
            }
        }
        owned.exhausted()
    }

    fn metadata(
        self,
        map: &Map,
        intent: Option<Value<'_>>,
        live: Object<'_>,
        owned: &mut Owned<'_>,
    ) -> Option<()> {
        // An empty one would be owned itself, if it wasn't stripped.
        require(intent.is_none_or(|intent| intent.as_map().is_some_and(|intent| !intent.is_empty())))?;
        let intent = intent.and_then(|intent| intent.as_map()).unwrap_or_default();
        let is_owned = intent.members().iter().any(|(name, _)| !is_stripped(name));
        let mut owned = if is_owned { Owned::new(owned.take("metadata")?, false)? } else { Owned::none() };
        for (name, intent, live) in Object::zip(intent, live) {
            let live = live?;
            match intent {
                // Its entries are checked, and aren't merged.
                None if name == "managedFields" => {}
                Some(intent) if is_stripped(name) => {
                    require(intent.is_identical(&live))?;
                    self.fits(map.member(name), live, Duplicates::Forbidden)?;
                }
                intent => self.member(map, name, intent, live, &mut owned)?,
            }
        }
        owned.exhausted()
    }

    /// A live member, also in the intent or not.
    fn member(
        self,
        map: &Map,
        name: &str,
        intent: Option<Value<'_>>,
        live: Value<'_>,
        owned: &mut Owned<'_>,
    ) -> Option<()> {
        let Some(intent) = intent else { return self.fits(map.member(name), live, Duplicates::Allowed) };
        let named = map.named_field(name);
        let is_empty = intent.as_map().is_some_and(|map| map.is_empty());
        let owns_itself = named.is_none() || is_empty;
        // A field with an empty list isn't owned.
        if !owns_itself && intent.as_list().is_some_and(<[_]>::is_empty) {
            let list = self.schema.atom(named?)?.list.as_ref()?;
            require(!list.is_atomic() && live.as_list().is_some())?;
            return self.fits(named?, live, Duplicates::Allowed);
        }
        self.value(named.unwrap_or(map.element), intent, live, owned.take(name)?, owns_itself)
    }

    /// A value and its owned fields: itself for a leaf, otherwise those below it.
    fn value(
        self,
        type_id: TypeId,
        intent: Value<'_>,
        live: Value<'_>,
        owned: Object<'_>,
        owns_itself: bool,
    ) -> Option<()> {
        let atom = self.schema.atom(type_id)?;
        match (intent, live) {
            (Value::Map(intent), Value::Map(below)) => {
                let map = atom.map.as_ref()?;
                if map.is_atomic {
                    require(Value::Map(intent).is_identical(&live) && owned.is_empty())?;
                    return self.fits(type_id, live, Duplicates::Forbidden);
                }
                // Pruning may remove a map that was applied empty, with all its later content.
                let holds_nothing = || below.members().iter().any(|(_, value)| value.any(&holds_nothing));
                require(!intent.is_empty() || !holds_nothing())?;
                let mut owned = Owned::new(owned, owns_itself)?;
                for (name, intent, live) in Object::zip(intent, below) {
                    self.member(map, name, intent, live?, &mut owned)?;
                }
                owned.exhausted()
            }
            (Value::List(intent), Value::List(items)) => {
                let list = atom.list.as_ref()?;
                if list.is_atomic() {
                    require(Value::List(intent).is_identical(&live) && owned.is_empty())?;
                    return self.fits(type_id, live, Duplicates::Forbidden);
                }
                require(list.is_associative())?;
                self.items(list, intent, items, owned, owns_itself)
            }
            (Value::Null | Value::Map(_) | Value::List(_), _) => None,
            (intent, live) => {
                require(fits(atom.scalar?, &live) && intent.is_identical(&live) && owned.is_empty())
            }
        }
    }

    /// The items of an associative list: each is live once, in the order of the intent, and owned by its name.
    fn items(
        self,
        list: &List,
        intent: &[Value<'_>],
        live: &[Value<'_>],
        owned: Object<'_>,
        owns_itself: bool,
    ) -> Option<()> {
        let marks = usize::from(owned.contains("."));
        require(marks == usize::from(owns_itself && !intent.is_empty()))?;
        require(owned.len() == intent.len() + marks)?;
        let element = self.schema.atom(list.element)?.map.as_ref();
        let is_atomic = element.is_some_and(|map| map.is_atomic);
        let mut name = String::new();
        let mut rest = live.iter();
        for intent in intent {
            let live = loop {
                let live = rest.next()?;
                if Self::same_name(list, intent, live) {
                    break live;
                }
                self.fits_in(list, *live, Duplicates::Allowed)?;
            };
            name.clear();
            self.write_name(list, intent, &mut name)?;
            let owned = owned.get(&name)?.as_map()?;
            // Pruning treats items specially of which only the item itself is owned.
            require(list.keys.is_empty() || !owned.is_empty() || is_atomic)?;
            self.value(list.element, *intent, *live, owned, true)?;
        }
        rest.try_for_each(|live| self.fits_in(list, *live, Duplicates::Allowed))?;
        self.are_unique(list, live)
    }

    /// Whether a value fits its type, without error messages.
    fn fits(self, type_id: TypeId, value: Value<'_>, duplicates: Duplicates) -> Option<()> {
        let atom = self.schema.atom(type_id)?;
        match value {
            Value::Null => require(atom.map.is_some() || atom.scalar.is_some() || atom.list.is_some()),
            Value::Map(members) => {
                let map = atom.map.as_ref()?;
                let mut members = members.members().iter();
                members.try_for_each(|(name, value)| self.fits(map.member(name), *value, duplicates))
            }
            Value::List(items) => {
                let list = atom.list.as_ref()?;
                items.iter().try_for_each(|item| self.fits_in(list, *item, duplicates))?;
                let may_repeat = duplicates == Duplicates::Allowed || !list.is_associative();
                if may_repeat { Some(()) } else { self.are_unique(list, items) }
            }
            scalar => require(fits(atom.scalar?, &scalar)),
        }
    }

    /// Whether a value can be an item of a list: in an associative one it needs a name.
    fn fits_in(self, list: &List, item: Value<'_>, duplicates: Duplicates) -> Option<()> {
        if list.is_associative() {
            let is_set = list.keys.is_empty();
            let has = |key| Self::key(key, &item).is_some();
            let has_keys = || {
                list.keys.iter().all(|key| has(key) || self.keys_may_be_omitted) && list.keys.iter().any(has)
            };
            require(if is_set { is_scalar(&item) } else { item.as_map().is_some() && has_keys() })?;
        }
        self.fits(list.element, item, duplicates)
    }

    fn same_name(list: &List, intent: &Value<'_>, live: &Value<'_>) -> bool {
        if list.keys.is_empty() {
            return intent.is_identical(live);
        }
        list.keys.iter().all(|key| match (Self::key(key, intent), Self::key(key, live)) {
            (Some(intent), Some(live)) => intent.is_identical(&live),
            (intent, live) => intent.is_none() && live.is_none(),
        })
    }

    /// The value of an item's key, or its default.
    fn key<'v>(key: &'v Key, item: &Value<'v>) -> Option<Value<'v>> {
        item.get(&key.name).or_else(|| match &key.default {
            KeyDefault::Value(default) => Value::of_scalar(default),
            _ => None,
        })
    }

    /// Writes the item's name as in field sets.
    fn write_name(self, list: &List, item: &Value<'_>, out: &mut String) -> Option<()> {
        if list.keys.is_empty() {
            out.push_str("v:");
            return write_scalar(*item, out);
        }
        out.push_str("k:{");
        for key in &list.sorted_keys {
            let key = &list.keys[*key];
            let Some(value) = Self::key(key, item) else {
                require(self.keys_may_be_omitted)?;
                continue;
            };
            if !out.ends_with('{') {
                out.push(',');
            }
            write_plain_json_string(out, &key.name);
            out.push(':');
            write_scalar(value, out)?;
        }
        out.push('}');
        Some(())
    }

    /// Whether no two live items share a name. Duplicates are legal there, and are merged differently.
    fn are_unique(self, list: &List, live: &[Value<'_>]) -> Option<()> {
        const FEW: usize = 16;
        if live.len() <= FEW {
            let mut rest = live;
            while let Some((first, others)) = rest.split_first() {
                require(!others.iter().any(|other| Self::same_name(list, first, other)))?;
                rest = others;
            }
            return Some(());
        }
        let mut names = live
            .iter()
            .map(|item| {
                let mut name = String::new();
                self.write_name(list, item, &mut name).map(|()| name)
            })
            .collect::<Option<Vec<_>>>()?;
        names.sort_unstable();
        require(names.windows(2).all(|pair| pair[0] != pair[1]))
    }
}

fn is_scalar(value: &Value<'_>) -> bool {
    !matches!(value, Value::Null | Value::List(_) | Value::Map(_))
}

fn holds_nothing(value: &Value<'_>) -> bool {
    match value {
        Value::Null => true,
        Value::List(items) => items.is_empty(),
        Value::Map(members) => members.is_empty(),
        _ => false,
    }
}

/// Writes a scalar as in the name of an item, if it is plain.
fn write_scalar(value: Value<'_>, out: &mut String) -> Option<()> {
    match value {
        Value::String(text) => {
            // HTML escapes are left to the prediction.
            require(!text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']))?;
            out.push('"');
            escape_json(out, text);
            out.push('"');
        }
        Value::Int(number) => {
            // A set that is read again has floats, and a large float equals several integers.
            require(number.unsigned_abs() < 1 << f64::MANTISSA_DIGITS)?;
            out.push_str(&number.to_string());
        }
        Value::Bool(value) => out.push_str(if value { "true" } else { "false" }),
        _ => return None,
    }
    Some(())
}

fn is_stripped(name: &str) -> bool {
    matches!(
        name,
        "name"
            | "namespace"
            | "creationTimestamp"
            | "selfLink"
            | "uid"
            | "clusterName"
            | "generation"
            | "managedFields"
            | "resourceVersion"
    )
}

/// The members of a level, without the mark of the level itself.
fn members(fields: Object<'_>) -> impl Iterator<Item = value::Member<'_>> {
    fields.members().iter().copied().filter(|(name, _)| *name != ".")
}

/// An entry of `managedFields` in an object.
struct Entry<'e> {
    manager: &'e str,
    operation: &'e str,
    api_version: &'e str,
    subresource: &'e str,
    time: &'e str,
    fields: Object<'e>,
}

impl<'e> Entry<'e> {
    /// Reads an entry that has all required members, nothing empty and nothing else.
    fn read(entry: &Value<'e>) -> Option<Self> {
        const TIME: usize = "2026-01-02T03:04:05Z".len();
        let (mut manager, mut operation, mut api_version, mut subresource, mut time) = ("", "", "", "", "");
        let (mut fields, mut fields_type) = (None, "");
        for (name, value) in entry.as_map()?.members() {
            if *name == "fieldsV1" {
                fields = value.as_map();
                continue;
            }
            let text = value.as_str().filter(|text| !text.is_empty())?;
            match *name {
                "manager" => manager = text,
                "operation" => operation = text,
                "apiVersion" => api_version = text,
                "subresource" => subresource = text,
                "time" => time = Some(text).filter(|text| text.len() == TIME)?,
                "fieldsType" => fields_type = text,
                _ => return None,
            }
        }
        require(fields_type == "FieldsV1" && matches!(operation, "Apply" | "Update"))?;
        Some(Self { manager, operation, api_version, subresource, time, fields: fields? })
    }

    /// The sort key of entries; the version is the same for all.
    fn key(&self) -> (&str, &str, &str, &str) {
        (self.operation, self.time, self.manager, self.subresource)
    }

    /// The identity of a manager; the version is the same for all.
    fn identity(&self) -> (&'e str, &'e str, &'e str) {
        (self.manager, self.operation, self.subresource)
    }
}

/// Whether the name of a member is that of a path element, and is written as it was read: a large number loses digits.
fn is_element(name: &str) -> bool {
    let is_short = |digits: &[u8]| digits.len() < f64::DIGITS as usize;
    match name.as_bytes() {
        [b'f' | b'i', b':', ..] => true,
        [b'k' | b'v', b':', item @ ..] => item.split(|byte| !byte.is_ascii_digit()).all(is_short),
        _ => false,
    }
}

/// The owned members of a map, in order.
struct Owned<'a> {
    members: Option<std::slice::Iter<'a, value::Member<'a>>>,
}

impl<'a> Owned<'a> {
    /// The members of a level, with its mark or without.
    fn new(fields: Object<'a>, is_marked: bool) -> Option<Self> {
        let mut members = fields.members().iter();
        if fields.is_empty() {
            // A level without members is marked by its presence.
            require(is_marked)?;
        } else if is_marked {
            require(members.next()?.0 == ".")?;
        }
        Some(Self { members: Some(members) })
    }

    fn none() -> Self {
        Self { members: None }
    }

    /// The owned fields below the next member, which must be this one.
    fn take(&mut self, name: &str) -> Option<Object<'a>> {
        let (own, below) = self.members.as_mut()?.next()?;
        require(own.strip_prefix("f:") == Some(name))?;
        below.as_map()
    }

    fn exhausted(self) -> Option<()> {
        require(self.members.is_none_or(|mut members| members.next().is_none()))
    }
}
