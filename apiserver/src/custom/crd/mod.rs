//! The kind `CustomResourceDefinition` of apiextensions.k8s.io/v1: defaults, validation and the status that controllers
//! write.

mod costs;
mod declared;
mod defaults;
mod expressions;
mod lists;
mod parts;
mod rules;
mod schema;
mod spec;
mod status;
mod structural;

use serde_json::{Value as Json, json};

use super::formats;
use super::schema::Schema;

pub(crate) use spec::{validate, validate_status};
pub(crate) use status::{DeletionProgress, is_terminating, reconcile, set_terminating};

/// Sets the defaults.
pub(crate) fn default(crd: &mut Json) {
    let Some(spec) = crd["spec"].as_object_mut() else { return };
    if let Some(names) = spec.get_mut("names").and_then(Json::as_object_mut) {
        let is_empty = |name: Option<&Json>| name.and_then(Json::as_str).is_none_or(str::is_empty);
        let kind = names.get("kind").and_then(Json::as_str).unwrap_or_default().to_owned();
        for (name, made) in [("singular", kind.to_lowercase()), ("listKind", format!("{kind}List"))] {
            if is_empty(names.get(name)) && !kind.is_empty() {
                names.insert(name.to_owned(), made.into());
            }
        }
    }
    if spec.get("conversion").is_none_or(Json::is_null) {
        spec.insert("conversion".to_owned(), json!({"strategy": "None"}));
    }
    let is_empty = |list: &Json| list.as_array().is_none_or(Vec::is_empty);
    if is_empty(&crd["status"]["storedVersions"]) {
        let storage = Versions::of(crd).0.iter().find(|version| version["storage"] == true);
        let name = storage.map(|version| version["name"].clone());
        if let (Some(status), Some(name)) = (crd["status"].as_object_mut(), name) {
            status.insert("storedVersions".to_owned(), json!([name]));
        }
    }
    // An empty webhook is absent.
    let conversion = crd.pointer_mut("/spec/conversion").and_then(Json::as_object_mut);
    if let Some(conversion) = conversion
        && conversion.get("webhook").is_some_and(|webhook| {
            webhook["clientConfig"].is_null() && is_empty(&webhook["conversionReviewVersions"])
        })
    {
        conversion.remove("webhook");
    }
    let service =
        crd.pointer_mut("/spec/conversion/webhook/clientConfig/service").and_then(Json::as_object_mut);
    if let Some(service) = service {
        service.entry("port").or_insert_with(|| 443.into());
    }
}

/// Resets the fields that the write may not set, and counts `generation`.
pub(crate) fn prepare(crd: &mut Json, old: Option<&Json>, to_status: bool) {
    let Some(object) = crd.as_object_mut() else { return };
    match old {
        Some(old) if to_status => {
            object.insert("spec".to_owned(), old["spec"].clone());
            return;
        }
        Some(old) => {
            let changed = object.get("spec") != old.get("spec");
            object.insert("status".to_owned(), old["status"].clone());
            let before = old["metadata"]["generation"].as_i64().unwrap_or_default();
            crd["metadata"]["generation"] = (before + i64::from(changed)).into();
        }
        None => {
            let names = json!({"kind": "", "plural": ""});
            let status = json!({"acceptedNames": names, "conditions": null, "storedVersions": []});
            object.insert("status".to_owned(), status);
            crd["metadata"]["generation"] = 1.into();
        }
    }
    let versions = crd["spec"]["versions"].as_array().into_iter().flatten();
    let storage = versions.into_iter().find(|version| version["storage"] == true);
    let Some(name) = storage.map(|version| version["name"].clone()) else { return };
    if !crd["status"].is_object() {
        crd["status"] = json!({});
    }
    match crd["status"]["storedVersions"].as_array_mut() {
        Some(stored) if stored.contains(&name) => {}
        Some(stored) => stored.push(name),
        None => crd["status"]["storedVersions"] = json!([name]),
    }
}

/// Warnings about unknown formats.
pub(crate) fn warnings(crd: &Json, old: Option<&Json>) -> Vec<String> {
    let known = old.map(unknown_formats).unwrap_or_default();
    let unknown = unknown_formats(crd).into_iter().filter(|format| !known.contains(format));
    unknown.map(|format| format!("unrecognized format {format:?}")).collect()
}

fn unknown_formats(crd: &Json) -> Vec<String> {
    let versions = Versions::of(crd);
    let mut found = Vec::new();
    for (_, json) in versions.parts(|version| version["schema"].get("openAPIV3Schema")) {
        Schema::read(json).each(&mut |schema| {
            if !schema.format.is_empty() && !formats::is_known(&schema.type_name, &schema.format) {
                found.push(schema.format.clone());
            }
        });
    }
    found
}

/// The versions of a CRD. Parts that all versions share are stored once, which shows in the paths of errors.
#[derive(Clone, Copy)]
struct Versions<'c>(&'c [Json]);

impl<'c> Versions<'c> {
    fn of(crd: &'c Json) -> Self {
        Self(crd["spec"]["versions"].as_array().map(Vec::as_slice).unwrap_or_default())
    }

    /// Whether all versions share a part.
    fn is_shared(self, part: fn(&Json) -> Option<&Json>) -> bool {
        let first = self.0.first().and_then(part);
        self.0.iter().all(|version| part(version) == first)
    }

    /// A part of the versions: once if it is shared, otherwise with the position of each version that has it.
    fn parts(self, part: fn(&Json) -> Option<&Json>) -> Vec<(Option<usize>, &'c Json)> {
        let present = |version| part(version).filter(|json| !json.is_null());
        if self.is_shared(part) {
            return self.0.first().and_then(present).map(|json| (None, json)).into_iter().collect();
        }
        let all = self.0.iter().enumerate();
        all.filter_map(|(index, version)| Some((Some(index), present(version)?))).collect()
    }
}

#[cfg(test)]
mod tests;
