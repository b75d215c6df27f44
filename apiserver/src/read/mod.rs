//! The verbs that change nothing: get, list and watch.

mod form;
mod token;
mod watch;

use std::sync::Arc;

use baton_merge::{Arena, value::Value};
use serde_json::json;

pub(crate) use self::form::{listed, rendered};
use self::token::Token;
use crate::{
    http::{Answer, Request},
    options::{ListOptions, VersionMatch},
    registry::{Resource, Schema},
    selector::{FieldSelector, LabelSelector, SelectableFields},
    server::{Place, Server},
    status::Failure,
    store::{Key, Range, Record, TooOld},
};
/// `GET` of an object or of a subresource.
pub(crate) fn one(server: &Server, request: &Request, place: &Place) -> Result<Answer, Failure> {
    if let Some(version) = request.query.get("resourceVersion") {
        let wanted = version_of(version)?;
        check_not_newer(server, wanted)?;
    }
    let record = server.store.get(&place.resource.storage, &place.key());
    let record = record.ok_or_else(|| Failure::not_found(&place.resource, &place.name))?;
    rendered(server, request, place, &record, 200)
}

/// `GET` of a collection, as a list or a watch.
pub(crate) fn collection(server: &Arc<Server>, request: &Request, place: &Place) -> Result<Answer, Failure> {
    let options = ListOptions::read(&request.query)?;
    if options.watch {
        return watch::watch(server, request, place, &options);
    }
    let selected = selected(server, request, place)?;
    let mut metadata = json!({"resourceVersion": selected.version.to_string()});
    if let Some(token) = selected.token {
        metadata["continue"] = token.into();
        if let Some(remaining) = selected.remaining {
            metadata["remainingItemCount"] = remaining.into();
        }
    }
    listed(server, request, place, &selected.objects, metadata)
}

/// The objects that a list shows.
pub(crate) struct Selected {
    pub(crate) objects: Vec<(Key, Arc<Record>)>,
    pub(crate) version: u64,
    /// Where the list goes on, if it does, and with how many.
    token: Option<String>,
    remaining: Option<usize>,
}

/// What picks objects out of a collection.
pub(crate) struct Selection {
    resource: Arc<Resource>,
    labels: LabelSelector,
    fields: FieldSelector,
    /// The only object that is meant, where the path names it.
    name: String,
}

impl Selection {
    pub(crate) fn read(place: &Place, options: &ListOptions) -> Result<Self, Failure> {
        let resource = place.resource.clone();
        let bad = |error: crate::selector::SelectorError| Failure::bad_request(error.to_string());
        let labels = LabelSelector::parse(&options.label_selector).map_err(bad)?;
        let selectable = match &resource.schema {
            Schema::BuiltIn { .. } => {
                SelectableFields::BuiltIn { group: &resource.gvk.group, kind: &resource.gvk.kind }
            }
            Schema::Custom(custom) => SelectableFields::Custom {
                is_namespaced: resource.namespaced,
                json_paths: &custom.selectable,
            },
        };
        let fields = FieldSelector::parse(&options.field_selector, selectable).map_err(bad)?;
        Ok(Self { labels, fields, name: place.name.clone(), resource })
    }

    fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything() && self.name.is_empty()
    }

    pub(crate) fn picks(&self, key: &Key, record: &Record) -> bool {
        if self.is_everything() {
            return true;
        }
        if !self.name.is_empty() && key.name != self.name {
            return false;
        }
        let arena = Arena::new();
        let Ok(object) = self.resource.value(&arena, record) else { return false };
        let labels = object.at(&["metadata", "labels"]).and_then(|labels: Value<'_>| labels.as_map());
        self.labels.matches(labels) && self.fields.matches(object)
    }
}

/// The objects that a request selects.
pub(crate) fn selected(server: &Server, request: &Request, place: &Place) -> Result<Selected, Failure> {
    let options = ListOptions::read(&request.query)?;
    let selection = Selection::read(place, &options)?;
    let namespace = (!place.namespace.is_empty()).then(|| place.namespace.clone());
    let mut range = Range { namespace, ..Range::default() };
    if options.continue_at.is_empty() {
        range.at = version_to_list(server, &options)?;
    } else {
        let token = Token::read(&options.continue_at)?;
        range.at = token.version;
        range.after = Some(token.after(place.resource.namespaced, &place.namespace));
    }
    let limit = options.limit.unwrap_or(usize::MAX);
    if selection.is_everything() {
        range.limit = options.limit;
    }
    let snapshot = server.store.list(&place.resource.storage, &range);
    let snapshot = snapshot.map_err(|old| too_old(&options, &range, &old))?;
    let version = snapshot.version;
    let picked = snapshot.objects.into_iter().filter(|(key, record)| selection.picks(key, record));
    let mut objects: Vec<_> = picked.take(limit.saturating_add(1)).collect();
    let is_cut = objects.len() > limit || snapshot.remaining > 0;
    objects.truncate(limit);
    let token = objects
        .last()
        .filter(|_| is_cut)
        .map(|(key, _)| Token::next(version, key, &place.namespace).written());
    let remaining = (is_cut && selection.is_everything()).then_some(snapshot.remaining);
    Ok(Selected { objects, version, token, remaining })
}

/// The version that a list is to show, where that isn't the latest.
fn version_to_list(server: &Server, options: &ListOptions) -> Result<Option<u64>, Failure> {
    let wanted = version_of(&options.resource_version)?;
    check_not_newer(server, wanted)?;
    let is_exact = match options.version_match {
        Some(VersionMatch::Exact) => true,
        Some(VersionMatch::NotOlderThan) => false,
        None => options.limit.is_some(),
    };
    Ok((is_exact && wanted > 0).then_some(wanted))
}

/// A resource version that a client names; 0 for none.
pub(crate) fn version_of(text: &str) -> Result<u64, Failure> {
    if text.is_empty() {
        return Ok(0);
    }
    text.parse().map_err(|_| {
        let path = crate::field::FieldPath::new("resourceVersion");
        let detail = format!("strconv.ParseUint: parsing {text:?}: invalid syntax");
        let error = crate::field::FieldError::invalid_text(&path, text, &detail);
        Failure::bad_request(format!("invalid resource version {text:?}: {error}"))
    })
}

/// Refuses a version that isn't there yet.
fn check_not_newer(server: &Server, wanted: u64) -> Result<(), Failure> {
    let current = server.store.version();
    if wanted <= current {
        return Ok(());
    }
    let message = format!("Too large resource version: {wanted}, current: {current}");
    let mut failure = Failure::new(504, "Timeout", format!("Timeout: {message}"));
    failure.details = Some(Box::new(json!({
        "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
        "retryAfterSeconds": 1,
    })));
    failure.retry_after = Some(1);
    Err(failure)
}

fn too_old(options: &ListOptions, range: &Range, old: &TooOld) -> Failure {
    if options.continue_at.is_empty() {
        return Failure::expired(format!(
            "The resourceVersion for the provided list is too old: the oldest is {}.",
            old.oldest
        ));
    }
    let mut failure = Failure::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list without \
         the continue parameter, or use the continue token in this response to retrieve the remainder of the results. \
         Continuing with the provided token results in an inconsistent list - objects that were created, modified, or \
         deleted between the time the first chunk was returned and now may show up in the list.",
    );
    let token = range
        .after
        .as_ref()
        .map(|key| Token::next(0, key, range.namespace.as_deref().unwrap_or_default()).written());
    failure.continue_at = token;
    failure
}
