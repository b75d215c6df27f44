//! Obstacles: fields of other managers that make an applied object invalid.
//!
//! An apply sets fields beside those of other managers. Each alone is valid, and both together may not be: a second handler of a probe,
//! `minAvailable` beside `maxUnavailable`, an item of which another manager still owns a part. The server's message names a field, and
//! not always the one in the way; and never its owner.

use std::collections::BTreeMap;

use baton_merge::{
    Arena,
    fieldpath::{FieldSet, Path, PathElement},
    value::Value,
};
use kube::core::response::StatusCause;

use crate::{
    ApiError, FieldPath, LiveObject, Prediction, PreparedWrite,
    ownership::name_of_item,
    spelled::{SpelledStep, steps},
};

/// How many are described, and how many of the managers of each.
const MOST: usize = 3;
/// How many of a refusal's causes are searched: each is compared with all that others own.
const MOST_CAUSES: usize = 8;

/// A field in the way of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// The field.
    pub path: FieldPath,
    /// Its owners; the writer is none of them.
    pub managers: Vec<String>,
}

impl Obstacle {
    /// The fields of other managers that are in the way of a write which the server refused. `live` is the object that it was sent
    /// for. None where the refusal has nothing to do with them, or doesn't name a field.
    pub fn of(error: &ApiError, write: &PreparedWrite, live: Option<&LiveObject>) -> Vec<Self> {
        let ApiError::Response(status) = error else { return Vec::new() };
        let object = match &write.prediction {
            Ok(Prediction::Stored(stored)) => Some(&stored.object),
            _ => live,
        };
        let (Some(object), Some(writer), Some(details)) = (object, write.request.manager(), &status.details)
        else {
            return Vec::new();
        };
        let arena = Arena::new();
        let Some(owners) = OwnersBeside::new(&arena, object, writer) else { return Vec::new() };
        let mut found: Vec<Self> = Vec::new();
        for (path, manager) in
            details.causes.iter().take(MOST_CAUSES).flat_map(|cause| owners.obstacles(cause))
        {
            let path = FieldPath::from(path);
            match found.iter_mut().find(|one| one.path == path) {
                Some(one) if one.managers.iter().any(|known| known == manager) => {}
                Some(one) => one.managers.push(manager.to_owned()),
                None => found.push(Self { path, managers: vec![manager.to_owned()] }),
            }
        }
        found
    }

    /// The message of a refusal, with the fields of other managers that are in the way.
    pub fn explain(
        message: String,
        error: &ApiError,
        write: &PreparedWrite,
        live: Option<&LiveObject>,
    ) -> String {
        match &*Self::of(error, write, live) {
            [] => message,
            obstacles => format!("{message}. {}", Self::describe(obstacles)),
        }
    }

    /// A sentence about these; empty if there are none.
    fn describe(obstacles: &[Self]) -> String {
        if obstacles.is_empty() {
            return String::new();
        }
        let text = |Self { path, managers }: &Self| {
            let names = managers[..managers.len().min(MOST)].join(" and ");
            match managers.len().saturating_sub(MOST) {
                0 => format!("{path}, owned by {names}"),
                more => format!("{path}, owned by {names} and {more} more"),
            }
        };
        let mut texts: Vec<String> = obstacles.iter().take(MOST).map(text).collect();
        if obstacles.len() > MOST {
            texts.push(format!("{} more", obstacles.len() - MOST));
        }
        format!("Fields of other managers are in the way: {}", texts.join("; "))
    }
}

/// A path and the manager that owns it.
type Owned<'a> = (Path<'a>, &'a str);

struct OwnersBeside<'a> {
    arena: &'a Arena,
    object: Value<'a>,
    /// The fields that the writer applies.
    own: FieldSet<'a>,
    /// The fields of others, by manager.
    others: Vec<(&'a str, FieldSet<'a>)>,
}

impl<'a> OwnersBeside<'a> {
    fn new(arena: &'a Arena, object: &'a LiveObject, writer: &str) -> Option<Self> {
        let (mut own, mut others) = (Vec::new(), BTreeMap::<_, Vec<_>>::new());
        for entry in object.managed_fields() {
            let (Some(fields), manager) = (entry.fields(arena), entry.manager()) else { continue };
            if manager == writer && entry.is_apply() {
                own.push(fields);
            } else if !manager.is_empty() {
                others.entry(arena.copy_text(manager)).or_default().push(fields);
            }
        }
        let others = others.into_iter().map(|(manager, sets)| (manager, FieldSet::union_all(arena, sets)));
        Some(Self {
            arena,
            object: object.value(arena).ok()?,
            own: FieldSet::union_all(arena, own),
            others: others.collect(),
        })
    }

    /// The fields in the way of what a cause names: those in it; else those beside it that can't be there with it.
    fn obstacles(&self, cause: &StatusCause) -> Vec<Owned<'a>> {
        // Others are errors of no field; and no manager is in the way of what can't change.
        if !cause.reason.starts_with("FieldValue") || cause.message.contains("immutable") {
            return Vec::new();
        }
        let steps = steps(&cause.field);
        let named = self.named(&steps);
        let elements = named.elements();
        let is_required = cause.reason == "FieldValueRequired";
        match steps.len() - elements.len() {
            0 => {}
            // The field is missing in what is around it.
            1 if is_required => {}
            _ => return Vec::new(),
        }
        let mentioned = |owned: &Owned<'a>, above: usize| {
            owned.0.elements().get(above).is_some_and(|element| is_mentioned(element, &cause.message))
        };
        // A struct in which the writer owns fields too isn't there because of others alone.
        let is_of_others = elements.len() == steps.len() || !self.owns_in(elements);
        let within = if is_of_others { self.within(elements) } else { Vec::new() };
        let narrowed: Vec<Owned<'a>> =
            within.iter().filter(|owned| mentioned(owned, elements.len())).copied().collect();
        if !narrowed.is_empty() {
            return narrowed;
        }
        // A whole spec is no hint.
        if elements.len() < 2 {
            return Vec::new();
        }
        let Some((_, around)) = elements.split_last() else { return Vec::new() };
        let beside = self.within(around);
        let those = |at: &dyn Fn(&Owned<'a>) -> usize| -> Vec<Owned<'a>> {
            beside.iter().filter(|owned| mentioned(owned, at(owned))).copied().collect()
        };
        let nearest = those(&|_| around.len());
        // The cause names `requests`, and the message has the `cpu` of `limits`.
        let last = those(&|(path, _)| path.elements().len().saturating_sub(1).max(around.len()));
        if let Some(found) = [nearest, last, within].into_iter().find(|found| !found.is_empty()) {
            return found;
        }
        let excludes = |owned: &Owned<'a>| {
            let beside = &owned.0.elements()[..=around.len().min(owned.0.elements().len() - 1)];
            let is_struct = Path::new(beside).find(self.object).is_some_and(|value| value.as_map().is_some());
            match cause.reason.as_str() {
                "FieldValueForbidden" => is_struct,
                _ => is_required && !matches!(beside.last(), Some(PathElement::Field(_))),
            }
        };
        beside.into_iter().filter(excludes).collect()
    }

    /// Whether the writer applies something below these elements.
    fn owns_in(&self, elements: &[PathElement<'_>]) -> bool {
        !elements.iter().fold(self.own, |set, element| set.below(element)).is_empty()
    }

    /// The paths at these elements and below that others own and the writer doesn't; of a tree that is owned as a whole only the top.
    fn within(&self, elements: &[PathElement<'_>]) -> Vec<Owned<'a>> {
        let mut found = Vec::new();
        for (manager, fields) in &self.others {
            let mut tops: Vec<Path<'a>> = Vec::new();
            for path in fields.paths(self.arena) {
                let is_within = path.elements().starts_with(elements);
                let is_below = |top: &Path<'a>| path.elements().starts_with(top.elements());
                if is_within && !self.own.contains(&path) && !tops.last().is_some_and(is_below) {
                    tops.push(path);
                }
            }
            found.extend(tops.into_iter().map(|path| (path, *manager)));
        }
        found
    }

    /// The path of these steps, as far as the object has it or a manager owns it.
    fn named(&self, steps: &[SpelledStep<'_>]) -> Path<'a> {
        let (mut path, mut value) = (Path::new(&[]), Some(self.object));
        for step in steps {
            let element = match (*step, value) {
                (SpelledStep::Name(name), Some(Value::Map(map))) => {
                    // Some of the server's paths have the name as Go spells it.
                    let spelled = map.members().iter().map(|(own, _)| *own);
                    let own =
                        spelled.filter(|own| own.eq_ignore_ascii_case(name)).max_by_key(|own| **own == *name);
                    PathElement::Field(own.unwrap_or_else(|| self.arena.copy_text(name)))
                }
                (SpelledStep::InBrackets(index), Some(Value::List(items))) => {
                    let item = index.parse().ok().and_then(|index: usize| items.get(index));
                    let Some(element) = item.and_then(|item| self.name_of(path, *item)) else { break };
                    element
                }
                (SpelledStep::InBrackets(key), Some(Value::Map(_))) => {
                    PathElement::Field(self.arena.copy_text(key))
                }
                _ => break,
            };
            let next = path.join(self.arena, element);
            value = next.find(self.object);
            if value.is_none() && self.within(next.elements()).is_empty() {
                break;
            }
            path = next;
        }
        path
    }

    /// The element that names an item in the sets of its owners.
    fn name_of(&self, list: Path<'a>, item: Value<'a>) -> Option<PathElement<'a>> {
        let sets = self.others.iter().map(|(_, fields)| *fields).chain([self.own]);
        let below = sets.map(|fields| list.elements().iter().fold(fields, |set, element| set.below(element)));
        name_of_item(item, FieldSet::union_all(self.arena, below))
    }
}

/// Whether a message has the name of a field as a word.
fn is_mentioned(element: &PathElement<'_>, message: &str) -> bool {
    let PathElement::Field(name) = element else { return false };
    // A message may have the name as Go spells it.
    let (message, name) = (message.to_ascii_lowercase(), name.to_ascii_lowercase());
    let is_end = |next: Option<char>| next.is_none_or(|next| !next.is_ascii_alphanumeric());
    message.match_indices(&name).any(|(at, _)| {
        is_end(message[..at].chars().next_back()) && is_end(message[at + name.len()..].chars().next())
    })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use k8s_openapi::api::apps::v1::Deployment;
    use kube::core::{ApiResource, Status};
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::{Guard, Request, Schemas, Target};

    /// The obstacles of an apply to an object with these owners, for one cause of a refusal.
    fn obstacles(object: &Json, entries: &[(&str, Json)], [field, reason, message]: [&str; 3]) -> String {
        let entry = |(manager, fields): &(&str, Json)| json!({"manager": manager, "operation": "Apply", "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "fieldsV1": fields});
        let mut object = object.clone();
        object["metadata"] =
            json!({"name": "web", "managedFields": entries.iter().map(entry).collect::<Vec<_>>()});
        let live = LiveObject::from_json(object).unwrap();
        let target = Target::new(ApiResource::erase::<Deployment>(&()), Some("shop".to_owned()), "web");
        let request = Request::apply(target, json!({"metadata": {}}), "baton", true, &Guard::Nothing);
        // Without a schema nothing is predicted: the live object counts.
        let write = Schemas::default().prepare(request, Some(&live), Timestamp::UNIX_EPOCH);
        let details = json!({"causes": [{"field": field, "reason": reason, "message": message}]});
        let details = serde_json::from_value(details).unwrap();
        let status = Status::failure("no", "Invalid").with_code(422).with_details(details).boxed();
        Obstacle::describe(&Obstacle::of(&ApiError::Response(status), &write, Some(&live)))
    }

    fn in_the_way(what: &str) -> String {
        format!("Fields of other managers are in the way: {what}")
    }

    #[test]
    fn a_field_that_the_message_spells_as_go_does_is_found() {
        let object = json!({"spec": {"type": "NodePort", "loadBalancerSourceRanges": ["10.0.0.0/8"]}});
        let owners = [("netteam", json!({"f:spec": {"f:loadBalancerSourceRanges": {}}}))];
        let cause = [
            "spec.LoadBalancerSourceRanges",
            "FieldValueForbidden",
            "Forbidden: may only be used when `type` is 'LoadBalancer'",
        ];
        let expected = in_the_way(".spec.loadBalancerSourceRanges, owned by netteam");
        assert_eq!(obstacles(&object, &owners, cause), expected);
    }

    #[test]
    fn the_other_of_two_fields_that_exclude_each_other_is_named_by_the_message() {
        let budget = json!({"spec": {"minAvailable": 1, "maxUnavailable": 1, "selector": {}}});
        let entries = [
            ("baton", json!({"f:spec": {"f:minAvailable": {}}})),
            ("helm", json!({"f:spec": {"f:maxUnavailable": {}, "f:selector": {}}})),
        ];
        let message = "Invalid value: {…}: minAvailable and maxUnavailable cannot be both set";
        let cause = ["spec", "FieldValueInvalid", message];
        assert_eq!(obstacles(&budget, &entries, cause), in_the_way(".spec.maxUnavailable, owned by helm"));
        let other = ["spec", "FieldValueInvalid", "Invalid value: {…}: something else"];
        assert_eq!(obstacles(&budget, &entries, other), "");
    }

    #[test]
    fn the_second_handler_of_a_probe_is_in_the_way_whichever_the_server_names() {
        let probe = json!({"exec": {"command": ["a"]}, "httpGet": {"httpHeaders": []}, "periodSeconds": 3});
        let object =
            json!({"spec": {"containers": [{"name": "log"}, {"name": "app", "livenessProbe": probe}]}});
        let of_probe = |fields: Json| json!({"f:spec": {"f:containers": {r#"k:{"name":"app"}"#: {".": {}, "f:name": {}, "f:livenessProbe": fields}}}});
        let exec = json!({"f:exec": {"f:command": {}}});
        let get = json!({"f:httpGet": {"f:httpHeaders": {}}, "f:periodSeconds": {}});
        let at = "spec.containers[1].livenessProbe.httpGet";
        let forbidden = [at, "FieldValueForbidden", "Forbidden: may not specify more than 1 handler type"];
        let probe = r#".spec.containers[name="app"].livenessProbe"#;

        let entries = [("baton", of_probe(exec.clone())), ("kubectl-edit", of_probe(get.clone()))];
        let headers = in_the_way(&format!("{probe}.httpGet.httpHeaders, owned by kubectl-edit"));
        assert_eq!(obstacles(&object, &entries, forbidden), headers);
        let port = format!("{at}.port");
        assert_eq!(obstacles(&object, &entries, [&port, "FieldValueRequired", "Required value"]), headers);

        let entries = [("baton", of_probe(get)), ("kubectl-edit", of_probe(exec))];
        let command = in_the_way(&format!("{probe}.exec.command, owned by kubectl-edit"));
        assert_eq!(obstacles(&object, &entries, forbidden), command);
    }

    #[test]
    fn a_limit_below_what_is_requested_is_in_the_way_whichever_of_them_others_own() {
        let resources =
            json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "2", "memory": "1Mi"}});
        let object = json!({"spec": {"containers": [{"name": "app", "resources": resources}]}});
        let of_resources = |fields: Json| json!({"f:spec": {"f:containers": {r#"k:{"name":"app"}"#: {".": {}, "f:name": {}, "f:resources": fields}}}});
        let limits = json!({"f:limits": {"f:cpu": {}, "f:memory": {}}, "f:requests": {"f:memory": {}}});
        let requests = json!({"f:requests": {"f:cpu": {}}});
        let message = r#"Invalid value: "2": must be less than or equal to cpu limit of 1"#;
        let cause = ["spec.containers[0].resources.requests", "FieldValueInvalid", message];
        let at = r#".spec.containers[name="app"].resources"#;

        let entries = [("baton", of_resources(requests.clone())), ("vpa", of_resources(limits.clone()))];
        let expected = in_the_way(&format!("{at}.limits.cpu, owned by vpa"));
        assert_eq!(obstacles(&object, &entries, cause), expected);
        let entries = [("baton", of_resources(limits)), ("vpa", of_resources(requests))];
        let expected = in_the_way(&format!("{at}.requests.cpu, owned by vpa"));
        assert_eq!(obstacles(&object, &entries, cause), expected);
    }

    #[test]
    fn a_name_with_punctuation_is_found_in_a_message() {
        for name in ["ephemeral-storage", "nvidia.com/gpu", "hugepages-2Mi", "cpu"] {
            let message = format!("must be less than or equal to {name} limit of 1");
            assert!(is_mentioned(&PathElement::Field(name), &message), "{name}");
        }
        assert!(!is_mentioned(&PathElement::Field("storage2"), "the storage limit of 2"));
        assert!(!is_mentioned(&PathElement::Field("cpu"), "the cpus"));
    }

    #[test]
    fn an_item_that_another_manager_still_owns_is_named() {
        let object = json!({"spec": {"containers": [{"name": "app", "image": "app:1"}, {"name": "helper"}]}});
        let item = |name: &str, fields: Json| json!({"f:spec": {"f:containers": {format!(r#"k:{{"name":"{name}"}}"#): fields}}});
        let entries = [
            ("baton", item("app", json!({".": {}, "f:name": {}, "f:image": {}}))),
            ("legacy", item("helper", json!({".": {}, "f:name": {}}))),
            ("other", item("helper", json!({".": {}, "f:name": {}}))),
        ];
        let image = ["spec.containers[1].image", "FieldValueRequired", "Required value"];
        let helper = in_the_way(r#".spec.containers[name="helper"], owned by legacy and other"#);
        assert_eq!(obstacles(&object, &entries, image), helper);
        let own =
            ["spec.containers[0].image", "FieldValueInvalid", r#"Invalid value: " ": must not have spaces"#];
        assert_eq!(obstacles(&object, &entries, own), "");
    }

    #[test]
    fn a_container_that_is_null_because_another_manager_owns_it_is_named() {
        let object = json!({"spec": {"options": null, "size": 1}});
        let entries =
            [("baton", json!({"f:spec": {"f:size": {}}})), ("legacy", json!({"f:spec": {"f:options": {}}}))];
        let message = r#"Invalid value: "null": spec.options in body must be of type object: "null""#;
        let null = ["spec.options", "FieldValueTypeInvalid", message];
        assert_eq!(obstacles(&object, &entries, null), in_the_way(".spec.options, owned by legacy"));
    }

    #[test]
    fn no_manager_is_in_the_way_of_what_is_immutable_or_unnamed() {
        let object = json!({"spec": {"selector": {"matchLabels": {"app": "web"}}}});
        let entries = [("helm", json!({"f:spec": {"f:selector": {}}}))];
        let immutable = ["spec.selector", "FieldValueInvalid", "Invalid value: {…}: field is immutable"];
        assert_eq!(obstacles(&object, &entries, immutable), "");
        assert_eq!(obstacles(&object, &entries, ["", "", "denied by a webhook"]), "");
        let conflict = [".spec.selector", "FieldManagerConflict", r#"conflict with "helm""#];
        assert_eq!(obstacles(&object, &entries, conflict), "");
        let missing = ["spec.selector.matchLabels.x", "FieldValueInvalid", "Invalid value: null: is needed"];
        assert_eq!(obstacles(&object, &entries, missing), "");
    }
}
