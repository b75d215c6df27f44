//! A place in an object: its value and its path. Rules read values through it and say what is wrong with them.

use baton_merge::value::Value;

use crate::field::{FieldError, FieldPath};

/// What is wrong with an object, in the order in which it was found.
pub(crate) type Errors = Vec<FieldError>;

/// A rule for a text: what is wrong with it.
pub(super) type TextRule = fn(&str) -> Vec<String>;

/// A field of an object, which needn't be there.
#[derive(Clone, Debug)]
pub(super) struct Cursor<'a> {
    /// The value, where there is one.
    pub(super) value: Option<Value<'a>>,
    /// Where it is, as it is shown.
    pub(super) path: FieldPath,
}

impl<'a> Cursor<'a> {
    /// The object itself.
    pub(super) fn root(object: Value<'a>) -> Self {
        Self { value: Some(object), path: FieldPath::default() }
    }

    /// The field of this name.
    pub(super) fn child(&self, name: &str) -> Self {
        Self { value: self.get(name), path: self.path.child(name) }
    }

    /// The value of this key in a map.
    pub(super) fn at_key(&self, key: &str) -> Self {
        Self { value: self.get(key), path: self.path.key(key) }
    }

    /// The field at this path of names.
    pub(super) fn at(&self, names: &[&str]) -> Self {
        names.iter().fold(self.clone(), |node, name| node.child(name))
    }

    /// The same value, shown at another path.
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

    /// How many items or members there are.
    pub(super) fn len(&self) -> usize {
        match self.value {
            Some(Value::List(items)) => items.len(),
            Some(Value::Map(map)) => map.len(),
            _ => 0,
        }
    }

    /// The members of a map with their keys.
    pub(super) fn members(&self) -> impl Iterator<Item = (&'a str, Self)> + use<'a, '_> {
        let members = self.value.and_then(|value| value.as_map()).unwrap_or_default().members();
        members.iter().map(|(key, value)| (*key, Self { value: Some(*value), path: self.path.key(key) }))
    }

    /// The value of a field.
    pub(super) fn get(&self, name: &str) -> Option<Value<'a>> {
        self.value?.get(name).filter(|value| !value.is_null())
    }

    /// Whether there is a value.
    pub(super) fn is_set(&self) -> bool {
        self.value.is_some()
    }

    /// Whether the field of this name is there.
    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The text, empty where there is none.
    pub(super) fn text(&self) -> &'a str {
        self.value.and_then(|value| value.as_str()).unwrap_or_default()
    }

    /// The text of a field, empty where there is none.
    pub(super) fn text_of(&self, name: &str) -> &'a str {
        self.get(name).and_then(|value| value.as_str()).unwrap_or_default()
    }

    /// The whole number, zero where there is none.
    pub(super) fn int(&self) -> i64 {
        match self.value {
            Some(Value::Int(int)) => int,
            _ => 0,
        }
    }

    /// The whole number of a field, zero where there is none.
    pub(super) fn int_of(&self, name: &str) -> i64 {
        match self.get(name) {
            Some(Value::Int(int)) => int,
            _ => 0,
        }
    }

    /// Whether it is `true`.
    pub(super) fn flag(&self) -> bool {
        matches!(self.value, Some(Value::Bool(true)))
    }

    /// Whether the field of this name is `true`.
    pub(super) fn flag_of(&self, name: &str) -> bool {
        matches!(self.get(name), Some(Value::Bool(true)))
    }

    /// The texts of a list.
    pub(super) fn texts(&self) -> impl Iterator<Item = &'a str> {
        self.value.and_then(|value| value.as_list()).unwrap_or_default().iter().filter_map(Value::as_str)
    }

    /// The field has to be there.
    pub(super) fn required(&self, detail: &str) -> FieldError {
        FieldError::required(&self.path, detail)
    }

    /// The field may not be there, or not change.
    pub(super) fn forbidden(&self, detail: &str) -> FieldError {
        FieldError::forbidden(&self.path, detail)
    }

    /// The value isn't allowed.
    pub(super) fn invalid(&self, detail: &str) -> FieldError {
        FieldError::invalid(&self.path, self.value.unwrap_or(Value::Null), detail)
    }

    /// The text isn't allowed; one that isn't there is shown empty.
    pub(super) fn invalid_text(&self, detail: &str) -> FieldError {
        FieldError::invalid_text(&self.path, self.text(), detail)
    }

    /// The whole number isn't allowed; one that isn't there is shown as zero.
    pub(super) fn invalid_int(&self, detail: &str) -> FieldError {
        FieldError::invalid(&self.path, Value::Int(self.int()), detail)
    }

    /// The text is none of the supported ones.
    pub(super) fn not_supported(&self, supported: &[&str]) -> FieldError {
        FieldError::not_supported(&self.path, Value::String(self.text()), supported)
    }

    /// The value is there already.
    pub(super) fn duplicate(&self) -> FieldError {
        FieldError::duplicate(&self.path, self.value.unwrap_or(Value::String("")))
    }

    /// What the text refers to isn't there.
    pub(super) fn not_found(&self) -> FieldError {
        FieldError::not_found(&self.path, Value::String(self.text()), "")
    }

    /// Checks the text with a rule.
    pub(super) fn check(&self, errors: &mut Errors, rule: TextRule) {
        errors.extend(rule(self.text()).iter().map(|problem| self.invalid_text(problem)));
    }

    /// The text has to be there, and to follow a rule.
    pub(super) fn check_required(&self, errors: &mut Errors, rule: TextRule) {
        if self.text().is_empty() {
            errors.push(self.required(""));
        } else {
            self.check(errors, rule);
        }
    }

    /// The text has to be there.
    pub(super) fn check_present(&self, errors: &mut Errors) {
        if self.text().is_empty() {
            errors.push(self.required(""));
        }
    }

    /// The whole number may not be negative.
    pub(super) fn check_non_negative(&self, errors: &mut Errors) {
        if self.int() < 0 {
            errors.push(self.invalid_int("must be greater than or equal to 0"));
        }
    }

    /// The fields of these names may not be negative.
    pub(super) fn check_none_negative(&self, errors: &mut Errors, names: &[&str]) {
        for name in names {
            self.child(name).check_non_negative(errors);
        }
    }

    /// The whole number, where there is one, lies between two others.
    pub(super) fn check_range(&self, errors: &mut Errors, low: i64, high: i64) {
        if self.is_set() && !(low..=high).contains(&self.int()) {
            errors.push(self.invalid_int(&format!("must be between {low} and {high}, inclusive")));
        }
    }

    /// The text, where there is one, is one of these.
    pub(super) fn check_one_of(&self, errors: &mut Errors, supported: &[&str]) {
        if self.is_set() && !supported.contains(&self.text()) {
            errors.push(self.not_supported(supported));
        }
    }

    /// The text has to be one of these; that it is missing is said apart.
    pub(super) fn check_choice(&self, errors: &mut Errors, supported: &[&str]) {
        if self.text().is_empty() {
            errors.push(self.required(""));
        } else {
            self.check_one_of(errors, supported);
        }
    }

    /// The value may not differ from an older one.
    pub(super) fn check_immutable(&self, errors: &mut Errors, old: &Cursor<'_>) {
        if !same(self.value, old.value) {
            errors.push(self.invalid(IMMUTABLE));
        }
    }
}

/// What is said of a value that may not change.
pub(super) const IMMUTABLE: &str = "field is immutable";

/// Whether two values are the same to the server: an empty list is as good as none.
pub(super) fn same(left: Option<Value<'_>>, right: Option<Value<'_>>) -> bool {
    let present = |value: Option<Value<'_>>| value.is_some_and(|value| !matches!(value, Value::List([])));
    match (present(left), present(right)) {
        (false, false) => true,
        (true, true) => left == right,
        _ => false,
    }
}
