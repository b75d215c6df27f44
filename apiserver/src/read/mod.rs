//! The verbs get, list and watch.

mod form;
mod token;
mod watch;

use std::sync::Arc;

use baton_merge::{Arena, value::Value};
use http::Method;
use serde_json::json;

pub(crate) use self::form::{listed, rendered};
use self::token::Token;
use crate::{
    http::{Request, Response},
    options::{self, ListOptions},
    registry::{Resource, Schema},
    selector::{FieldSelector, LabelSelector, SelectableFields},
    server::{RequestTarget, Server, media},
    status::Failure,
    store::{Key, Range, Record},
};

/// `GET` of an object or a subresource.
pub(crate) fn one(server: &Server, request: &Request, target: &RequestTarget) -> Result<Response, Failure> {
    media(request, target)?;
    if let Some(version) = request.query.get("resourceVersion") {
        check_not_newer(server, version_of(version)?)?;
    }
    let record = server.store.get(&target.resource.storage, &target.key());
    let record = record.ok_or_else(|| Failure::not_found(&target.resource, &target.name))?;
    target.resource.check_convertible(&record)?;
    rendered(server, request, target, &record, 200)
}

/// `GET` of a collection: a list or a watch.
pub(crate) fn collection(
    server: &Arc<Server>,
    request: &Request,
    target: &RequestTarget,
) -> Result<Response, Failure> {
    media(request, target)?;
    let options = ListOptions::read(&request.query)?;
    if options.watch {
        return watch::watch(server, request, target, &options);
    }
    let selected = selected(server, request, target)?;
    listed(server, request, target, &selected.objects, selected.metadata())
}

/// The objects of a list.
pub(crate) struct Selected {
    pub(crate) objects: Vec<(Key, Arc<Record>)>,
    version: u64,
    /// The continue token, and the count of remaining items.
    token: Option<String>,
    remaining: Option<usize>,
}

impl Selected {
    /// The metadata of the list.
    pub(crate) fn metadata(&self) -> serde_json::Value {
        let mut metadata = json!({"resourceVersion": self.version.to_string()});
        if let Some(token) = &self.token {
            metadata["continue"] = token.as_str().into();
            if let Some(remaining) = self.remaining {
                metadata["remainingItemCount"] = remaining.into();
            }
        }
        metadata
    }
}

/// The selectors of a request.
pub(crate) struct Selection {
    resource: Arc<Resource>,
    labels: LabelSelector,
    fields: FieldSelector,
}

impl Selection {
    pub(crate) fn read(target: &RequestTarget, options: &ListOptions) -> Result<Self, Failure> {
        let resource = target.resource.clone();
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
        Ok(Self { resource, labels, fields })
    }

    fn is_everything(&self) -> bool {
        self.labels.is_everything() && self.fields.is_everything()
    }

    pub(crate) fn picks(&self, record: &Record) -> bool {
        if self.is_everything() {
            return true;
        }
        let arena = Arena::new();
        let Ok(object) = self.resource.value(&arena, record) else { return false };
        let labels = object.at(&["metadata", "labels"]).and_then(|labels: Value<'_>| labels.as_map());
        self.labels.matches(labels) && self.fields.matches(object)
    }
}

/// The objects that a request selects.
pub(crate) fn selected(
    server: &Server,
    request: &Request,
    target: &RequestTarget,
) -> Result<Selected, Failure> {
    let options = ListOptions::read(&request.query)?;
    let selection = Selection::read(target, &options)?;
    let namespace = (!target.namespace.is_empty()).then(|| target.namespace.clone());
    let mut range = Range { namespace, ..Range::default() };
    let is_from_cache = options.resource_version == "0";
    if options.continue_at.is_empty() {
        range.at = version_to_list(server, &options)?;
    } else {
        let token = Token::read(&options.continue_at)?;
        if !is_from_cache && !options.resource_version.is_empty() {
            return Err(Failure::bad_request(
                "specifying resource version is not allowed when using continue",
            ));
        }
        check_not_newer(server, token.version.unwrap_or_default())?;
        range.at = token.version;
        range.from = Some(token.from(target.resource.namespaced, &target.namespace));
    }
    // A list from the cache ignores the limit.
    let limit = options.limit.filter(|_| !is_from_cache);
    if selection.is_everything() {
        range.limit = limit;
    }
    // A page without a selector doesn't need the cache. `deletecollection` reads pages, too.
    let is_paged = options.limit.is_some() || request.method == Method::DELETE;
    let needs_cache = range.at.is_none() && !(is_paged && selection.is_everything());
    if needs_cache {
        check_cached(server, &target.resource)?;
    }
    let snapshot = server.store.list(&target.resource.storage, &range);
    let snapshot = snapshot.map_err(|_| too_old(&options, &range))?;
    let version = snapshot.version;
    if !needs_cache {
        snapshot.objects.iter().try_for_each(|(_, record)| target.resource.check_convertible(record))?;
    }
    // A single object by name is read alone.
    let is_one_place = !target.resource.namespaced || !target.namespace.is_empty();
    let only = selection.fields.only_name().filter(|_| is_one_place && options.continue_at.is_empty());
    let mut rest = snapshot.objects.into_iter().filter(|(key, _)| only.is_none_or(|name| key.name == name));
    let picked = rest.by_ref().filter(|(_, record)| selection.picks(record));
    let objects: Vec<_> = picked.take(limit.unwrap_or(usize::MAX)).collect();
    // Whether the remaining objects match is left to the next page.
    let is_cut = snapshot.remaining > 0 || rest.next().is_some();
    let token = objects
        .last()
        .filter(|_| is_cut)
        .map(|(key, _)| Token::next(version, key, &target.namespace).written());
    let remaining = (is_cut && selection.is_everything()).then_some(snapshot.remaining);
    Ok(Selected { objects, version, token, remaining })
}

/// The version of a list; none for the latest.
fn version_to_list(server: &Server, options: &ListOptions) -> Result<Option<u64>, Failure> {
    let wanted = options::resource_version(&options.resource_version)
        .map_err(|error| Failure::bad_request(format!("invalid resource version: {error}")))?;
    check_not_newer(server, wanted)?;
    Ok((wanted > 0 && options.is_exact()).then_some(wanted))
}

/// The version of a get or a watch; 0 for none.
fn version_of(text: &str) -> Result<u64, Failure> {
    options::resource_version(text).map_err(|error| Failure::without_reason(error.to_string()))
}

/// Refuses a read from the cache, which the real server can't fill if an object can't be converted.
pub(crate) fn check_cached(server: &Server, resource: &Resource) -> Result<(), Failure> {
    if !resource.is_custom() || !resource.may_differ_from_stored() {
        return Ok(());
    }
    // Only lists at an older version can fail.
    let all = server.store.list(&resource.storage, &Range::default()).map(|all| all.objects);
    let all = all.unwrap_or_default();
    let Some(failure) = all.iter().find_map(|(_, record)| resource.check_convertible(record).err()) else {
        return Ok(());
    };
    let message = format!("storage is (re)initializing: failed to list {}: {failure}", resource.gvk);
    Err(Failure { retry_after: Some(1), ..Failure::new(429, "TooManyRequests", message) })
}

/// Refuses a future version.
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

fn too_old(options: &ListOptions, range: &Range) -> Failure {
    if options.continue_at.is_empty() {
        return Failure::expired("The resourceVersion for the provided list is too old.");
    }
    let mut failure = Failure::expired(
        "The provided continue parameter is too old to display a consistent list result. You can start a new list without \
         the continue parameter, or use the continue token in this response to retrieve the remainder of the results. \
         Continuing with the provided token results in an inconsistent list - objects that were created, modified, or \
         deleted between the time the first chunk was returned and now may show up in the list.",
    );
    let token = |key: &Key| Token::at_latest(key, range.namespace.as_deref().unwrap_or_default()).written();
    failure.continue_at = range.from.as_ref().map(token);
    failure
}
