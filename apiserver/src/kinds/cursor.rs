//! A field of an object with its path. Rules read values and report errors through it.

use baton_merge::value::Value;

use crate::field::{FieldError, FieldPath};

/// Errors, in the order of their discovery.
pub(crate) type Errors = Vec<FieldError>;

/// A rule for strings, which returns its violations.
pub(super) type TextRule = fn(&str) -> Vec<String>;

/// A field of an object, possibly absent.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    pub(super) value: Option<Value<'a>>,
    /// The path in messages.
    pub(super) path: FieldPath,
}

impl<'a> Cursor<'a> {
    pub(super) fn root(object: Value<'a>) -> Self {
        Self { value: Some(object), path: FieldPath::default() }
    }

    /// The member with this name.
    pub(super) fn child(&self, name: &str) -> Self {
        Self { value: self.get(name), path: self.path.child(name) }
    }

    /// The value of this key in a map.
    pub(super) fn at_key(&self, key: &str) -> Self {
        Self { value: self.get(key), path: self.path.key(key) }
    }

    /// The descendant at this path.
    pub(super) fn at(&self, names: &[&str]) -> Self {
        names.iter().fold(self.clone(), |node, name| node.child(name))
    }

    /// The same value with another path in messages.
    pub(super) fn shown_at(&self, path: FieldPath) -> Self {
        Self { value: self.value, path }
    }

    /// The items of a list.
    pub(super) fn items(&self) -> impl Iterator<Item = Self> + use<'a, '_> {
        let items = self.value.and_then(|value| value.as_list()).unwrap_or_default();
        items
            .iter()
            .enumerate()
            .map(|(position, item)| Self { value: Some(*item), path: self.path.index(position) })
    }

    /// The count of items or members.
    pub(super) fn len(&self) -> usize {
        match self.value {
            Some(Value::List(items)) => items.len(),
            Some(Value::Map(map)) => map.len(),
            _ => 0,
        }
    }

    /// The members of a map.
    pub(super) fn members(&self) -> impl Iterator<Item = (&'a str, Self)> + use<'a, '_> {
        let members = self.value.and_then(|value| value.as_map()).unwrap_or_default().members();
        members.iter().map(|(key, value)| (*key, Self { value: Some(*value), path: self.path.key(key) }))
    }

    /// The value of a member.
    pub(super) fn get(&self, name: &str) -> Option<Value<'a>> {
        self.value?.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn is_set(&self) -> bool {
        self.value.is_some()
    }

    /// Whether there is a member with this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The string, or an empty one.
    pub(super) fn text(&self) -> &'a str {
        self.value.and_then(|value| value.as_str()).unwrap_or_default()
    }

    /// The string of a member, or an empty one.
    pub(super) fn text_of(&self, name: &str) -> &'a str {
        self.get(name).and_then(|value| value.as_str()).unwrap_or_default()
    }

    /// The integer, or zero.
    pub(super) fn int(&self) -> i64 {
        match self.value {
            Some(Value::Int(int)) => int,
            _ => 0,
        }
    }

    /// The integer of a member, or zero.
    pub(super) fn int_of(&self, name: &str) -> i64 {
        match self.get(name) {
            Some(Value::Int(int)) => int,
            _ => 0,
        }
    }

    pub(super) fn flag(&self) -> bool {
        matches!(self.value, Some(Value::Bool(true)))
    }

    /// Whether the member is `true`.
    pub(super) fn flag_of(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Value::Bool(true)))
    }

    /// The strings of a list.
    pub(super) fn texts(&self) -> impl Iterator<Item = &'a str> {
        self.value.and_then(|value| value.as_list()).unwrap_or_default().iter().filter_map(Value::as_str)
    }

    /// Reports a missing field.
    pub(super) fn required(&self, detail: &str) -> FieldError {
        FieldError::required(&self.path, detail)
    }

    /// Reports a field that may not be set or changed.
    pub(super) fn forbidden(&self, detail: &str) -> FieldError {
        FieldError::forbidden(&self.path, detail)
    }

    /// Reports an invalid value.
    pub(super) fn invalid(&self, detail: &str) -> FieldError {
        FieldError::invalid(&self.path, self.value.unwrap_or(Value::Null), detail)
    }

    /// Reports an invalid string; an absent one is shown empty.
    pub(super) fn invalid_text(&self, detail: &str) -> FieldError {
        FieldError::invalid_text(&self.path, self.text(), detail)
    }

    /// Reports an invalid integer; an absent one is shown as zero.
    pub(super) fn invalid_int(&self, detail: &str) -> FieldError {
        FieldError::invalid(&self.path, Value::Int(self.int()), detail)
    }

    /// Reports a string that isn't supported.
    pub(super) fn not_supported(&self, supported: &[&str]) -> FieldError {
        FieldError::not_supported(&self.path, Value::String(self.text()), supported)
    }

    /// Reports a duplicate.
    pub(super) fn duplicate(&self) -> FieldError {
        FieldError::duplicate(&self.path, self.value.unwrap_or(Value::String("")))
    }

    /// Reports a reference to a missing object.
    pub(super) fn not_found(&self) -> FieldError {
        FieldError::not_found(&self.path, Value::String(self.text()), "")
    }

    /// Applies a rule to the string.
    pub(super) fn check(&self, errors: &mut Errors, rule: TextRule) {
        errors.extend(rule(self.text()).iter().map(|problem| self.invalid_text(problem)));
    }

    /// Applies a rule to the string, if it is set.
    pub(super) fn check_if_set(&self, errors: &mut Errors, rule: TextRule) {
        if self.is_set() {
            self.check(errors, rule);
        }
    }

    /// Applies a rule to the string, unless it is empty.
    pub(super) fn check_unless_empty(&self, errors: &mut Errors, rule: TextRule) {
        if !self.text().is_empty() {
            self.check(errors, rule);
        }
    }

    /// The value isn't set.
    pub(super) fn check_unset(&self, errors: &mut Errors, detail: &str) {
        if self.is_set() {
            errors.push(self.forbidden(detail));
        }
    }

    /// The value is set.
    pub(super) fn check_set(&self, errors: &mut Errors, detail: &str) {
        if !self.is_set() {
            errors.push(self.required(detail));
        }
    }

    /// Requires the string, and applies a rule to it.
    pub(super) fn check_required(&self, errors: &mut Errors, rule: TextRule) {
        if self.text().is_empty() {
            errors.push(self.required(""));
        } else {
            self.check(errors, rule);
        }
    }

    /// Requires the string.
    pub(super) fn check_present(&self, errors: &mut Errors) {
        if self.text().is_empty() {
            errors.push(self.required(""));
        }
    }

    /// The integer is at least zero.
    pub(super) fn check_non_negative(&self, errors: &mut Errors) {
        if self.int() < 0 {
            errors.push(self.invalid_int("must be greater than or equal to 0"));
        }
    }

    /// These members are at least zero.
    pub(super) fn check_none_negative(&self, errors: &mut Errors, names: &[&str]) {
        for name in names {
            self.child(name).check_non_negative(errors);
        }
    }

    /// The integer, if set, is in this range.
    pub(super) fn check_range(&self, errors: &mut Errors, low: i64, high: i64) {
        if self.is_set() && !(low..=high).contains(&self.int()) {
            errors.push(self.invalid_int(&format!("must be between {low} and {high}, inclusive")));
        }
    }

    /// The string, if set, is one of these.
    pub(super) fn check_one_of(&self, errors: &mut Errors, supported: &[&str]) {
        if self.is_set() && !supported.contains(&self.text()) {
            errors.push(self.not_supported(supported));
        }
    }

    /// Requires the string, which is one of these.
    pub(super) fn check_choice(&self, errors: &mut Errors, supported: &[&str]) {
        if self.text().is_empty() {
            errors.push(self.required(""));
        } else {
            self.check_one_of(errors, supported);
        }
    }

    /// The value equals the old one.
    pub(super) fn check_immutable(&self, errors: &mut Errors, old: &Cursor<'_>) {
        if !same(self.value, old.value) {
            errors.push(self.invalid(IMMUTABLE));
        }
    }
}

/// The message for an immutable field.
pub(super) const IMMUTABLE: &str = "field is immutable";

/// Whether two values are equal to the server, for which an empty list is absent.
pub(super) fn same(left: Option<Value<'_>>, right: Option<Value<'_>>) -> bool {
    let present = |value: Option<Value<'_>>| value.is_some_and(|value| !matches!(value, Value::List([])));
    match (present(left), present(right)) {
        (false, false) => true,
        (true, true) => left == right,
        _ => false,
    }
}
