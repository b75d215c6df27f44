//! The OpenAPI v3 document of a group version of custom resources, after apiextensions-apiserver's builder.
//!
//! The parts that custom resources share with built-in ones (parameters, metadata, Scale) come from the document of
//! `apps/v1`: a Deployment has every verb and subresource that a custom resource can have.

mod schemas;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde_json::{Map, Value as Json, json};

const TEMPLATE: &str = "/apis/apps/v1/namespaces/{namespace}/deployments";
const DEPLOYMENT: &str = "io.k8s.api.apps.v1.Deployment";
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const SCALE: &str = "io.k8s.api.autoscaling.v1.Scale";
const REFERENCE: &str = "#/components/schemas/";

const TYPED: [&str; 2] = ["application/json", "application/yaml"];
const PATCHES: [&str; 3] =
    ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];

/// The document of one version of each CRD. `apps` is the document of `apps/v1`.
pub(crate) fn document(version: &str, definitions: &[&Json], apps: &Json) -> Json {
    let mut paths = Map::new();
    let mut schemas = Map::new();
    for crd in definitions {
        let Some(resource) = Resource::of(crd, version, apps) else { continue };
        resource.add_paths(&mut paths);
        resource.add_schemas(&mut schemas);
    }
    let mut document = json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"},
        "paths": paths,
        "components": {"schemas": schemas},
    });
    let referred = closure(&document, &apps["components"]["schemas"]);
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.extend(referred);
    }
    document
}

/// The schemas that a document refers to and lacks, with their own references.
fn closure(document: &Json, known: &Json) -> Map<String, Json> {
    let mut found = Map::new();
    let mut names = BTreeSet::new();
    references(document, &mut names);
    while let Some(name) = names.pop_first() {
        if let Some(schema) = known.get(&name).filter(|_| !found.contains_key(&name)) {
            references(schema, &mut names);
            found.insert(name, schema.clone());
        }
    }
    found
}

fn references(json: &Json, names: &mut BTreeSet<String>) {
    match json {
        Json::Array(items) => items.iter().for_each(|item| references(item, names)),
        Json::Object(members) => {
            for (name, value) in members {
                match value.as_str().and_then(|text| text.strip_prefix(REFERENCE)) {
                    Some(referred) if name == "$ref" => {
                        names.insert(referred.to_owned());
                    }
                    _ => references(value, names),
                }
            }
        }
        _ => {}
    }
}

/// A version of a custom resource.
struct Resource<'c> {
    group: &'c str,
    version: &'c str,
    kind: &'c str,
    list_kind: &'c str,
    plural: &'c str,
    namespaced: bool,
    /// The version in the CRD.
    declared: &'c Json,
    apps: &'c Json,
}

/// A verb at a path.
struct Operation<'o> {
    method: &'o str,
    action: &'o str,
    verb: &'o str,
    /// Empty for the object itself.
    subresource: &'o str,
    /// The type of the response.
    response: String,
    /// The media types and the type of the request body.
    body: Option<(&'o [&'o str], String)>,
}

impl<'c> Resource<'c> {
    fn of(crd: &'c Json, version: &'c str, apps: &'c Json) -> Option<Self> {
        let spec = &crd["spec"];
        let names = &spec["names"];
        let mut versions = spec["versions"].as_array().into_iter().flatten();
        Some(Self {
            group: spec["group"].as_str()?,
            version,
            kind: names["kind"].as_str()?,
            list_kind: names["listKind"].as_str()?,
            plural: names["plural"].as_str()?,
            namespaced: spec["scope"] == "Namespaced",
            declared: versions.find(|each| each["name"] == version)?,
            apps,
        })
    }

    /// The name of a type: the group's labels reversed, as in Java packages.
    fn type_name(&self, kind: &str) -> String {
        let backwards: Vec<_> = self.group.split('.').rev().collect();
        format!("{}.{}.{kind}", backwards.join("."), self.version)
    }

    fn add_paths(&self, paths: &mut Map<String, Json>) {
        let (own, list) = (self.type_name(self.kind), self.type_name(self.list_kind));
        let status = format!("{META}.Status");
        let all = format!("/apis/{}/{}/{}", self.group, self.version, self.plural);
        let root = if self.namespaced {
            let path = [self.operation(("get", "list", "list"), "", &list, None, "ForAllNamespaces")];
            paths.insert(all, self.path(path.into(), &[]));
            format!("/apis/{}/{}/namespaces/{{namespace}}/{}", self.group, self.version, self.plural)
        } else {
            all
        };
        let typed = |name: &str| Some((&TYPED[..], name.to_owned()));
        let patch = || Some((&PATCHES[..], format!("{META}.Patch")));
        let place: &[&str] = if self.namespaced { &["namespace"] } else { &[] };
        let collection = vec![
            self.operation(("get", "list", "list"), "", &list, None, ""),
            self.operation(("post", "post", "create"), "", &own, typed(&own), ""),
            self.operation(("delete", "deletecollection", "deletecollection"), "", &status, None, ""),
        ];
        paths.insert(root.clone(), self.path(collection, place));
        let place: Vec<_> = std::iter::once("name").chain(place.iter().copied()).collect();
        let object = |subresource: &str, name: &str| {
            vec![
                self.operation(("get", "get", "read"), subresource, name, None, ""),
                self.operation(("put", "put", "replace"), subresource, name, typed(name), ""),
                self.operation(("patch", "patch", "patch"), subresource, name, patch(), ""),
            ]
        };
        let mut operations = object("", &own);
        let options = typed(&format!("{META}.DeleteOptions"));
        operations.push(self.operation(("delete", "delete", "delete"), "", &status, options, ""));
        let root = format!("{root}/{{name}}");
        paths.insert(root.clone(), self.path(operations, &place));
        for (subresource, type_name) in [("status", own.as_str()), ("scale", SCALE)] {
            if self.declared["subresources"][subresource].is_object() {
                paths.insert(
                    format!("{root}/{subresource}"),
                    self.path(object(subresource, type_name), &place),
                );
            }
        }
    }

    fn path(&self, operations: Vec<(String, Json)>, place: &[&str]) -> Json {
        let mut shared: Vec<Json> = place.iter().map(|name| self.place_parameter(name)).collect();
        shared.push(self.parameter("post", "pretty"));
        let mut path: Map<String, Json> = operations.into_iter().collect();
        // Parameters that all verbs of a path share are listed once.
        if path.len() == 1 {
            for operation in path.values_mut() {
                if let Some(Json::Array(own)) =
                    operation.as_object_mut().and_then(|each| each.remove("parameters"))
                {
                    shared.extend(own);
                }
            }
        }
        shared.sort_by(|left, right| left["name"].as_str().cmp(&right["name"].as_str()));
        path.insert("parameters".to_owned(), shared.into());
        path.into()
    }

    fn place_parameter(&self, name: &str) -> Json {
        let description = match name {
            "name" => format!("name of the {}", self.kind),
            _ => "object name and auth scope, such as for teams and projects".to_owned(),
        };
        let schema = json!({"type": "string", "uniqueItems": true});
        json!({"name": name, "in": "path", "description": description, "required": true, "schema": schema})
    }

    /// The parameters of a verb, as a Deployment has them.
    fn parameters(&self, action: &str) -> Vec<Json> {
        let (path, method) = match action {
            "list" | "deletecollection" | "get" => (TEMPLATE.to_owned(), "get"),
            "post" => (TEMPLATE.to_owned(), "post"),
            other => (format!("{TEMPLATE}/{{name}}"), other),
        };
        let all = self.apps["paths"][path][method]["parameters"].as_array().into_iter().flatten();
        all.filter(|each| action != "get" || each["name"] == "resourceVersion").cloned().collect()
    }

    fn parameter(&self, method: &str, name: &str) -> Json {
        let path = &self.apps["paths"][TEMPLATE];
        let all = [&path["parameters"], &path[method]["parameters"]];
        let mut all = all.into_iter().filter_map(Json::as_array).flatten();
        all.find(|parameter| parameter["name"] == name).cloned().unwrap_or_default()
    }

    fn operation(
        &self,
        (method, action, verb): (&str, &str, &str),
        subresource: &str,
        response: &str,
        body: Option<(&[&str], String)>,
        suffix: &str,
    ) -> (String, Json) {
        let operation = Operation { method, action, verb, subresource, response: response.to_owned(), body };
        (method.to_owned(), self.render(&operation, suffix))
    }

    fn render(&self, operation: &Operation<'_>, suffix: &str) -> Json {
        let Operation { action, verb, subresource, .. } = *operation;
        let content = |types: &[&str], name: &str| -> Json {
            let schema = json!({"schema": {"$ref": format!("{REFERENCE}{name}")}});
            types.iter().map(|each| ((*each).to_owned(), schema.clone())).collect::<Map<_, _>>().into()
        };
        let mut responses = Map::new();
        let codes: &[(&str, &str)] = match action {
            "post" => &[("200", "OK"), ("201", "Created"), ("202", "Accepted")],
            "put" => &[("200", "OK"), ("201", "Created")],
            "delete" => &[("200", "OK"), ("202", "Accepted")],
            _ => &[("200", "OK")],
        };
        for (code, description) in codes {
            let content = content(&TYPED, &operation.response);
            responses.insert((*code).to_owned(), json!({"description": description, "content": content}));
        }
        responses.insert("401".to_owned(), json!({"description": "Unauthorized"}));
        let mut rendered = json!({
            "tags": [format!("{}_{}", camel(self.group, false), self.version)],
            "description": self.description(verb, subresource),
            "operationId": self.operation_id(verb, subresource, suffix),
            "responses": responses,
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": self.group_version_kind(self.kind),
        });
        let parameters = self.parameters(action);
        if !parameters.is_empty() {
            rendered["parameters"] = parameters.into();
        }
        if let Some((types, name)) = &operation.body {
            rendered["requestBody"] = json!({"content": content(types, name)});
            if operation.method != "delete" {
                rendered["requestBody"]["required"] = true.into();
            }
        }
        rendered
    }

    fn description(&self, verb: &str, subresource: &str) -> String {
        let kind = self.kind;
        let below = if subresource.is_empty() { String::new() } else { format!(" {subresource} of") };
        let is_plural = kind.ends_with('s') && !kind.ends_with("ss");
        let article = match kind.chars().next() {
            _ if is_plural => "",
            Some('a' | 'e' | 'i' | 'o' | 'u' | 'A' | 'E' | 'I' | 'O' | 'U') => "an ",
            _ => "a ",
        };
        match verb {
            "list" => format!("list objects of kind {kind}"),
            "patch" => format!("partially update{below} the specified {kind}"),
            "deletecollection" => format!("delete collection of {kind}"),
            "create" | "delete" => format!("{verb} {article}{kind}"),
            _ => format!("{verb}{below} the specified {kind}"),
        }
    }

    fn operation_id(&self, verb: &str, subresource: &str, suffix: &str) -> String {
        let (verb, collection) =
            if verb == "deletecollection" { ("delete", "Collection") } else { (verb, "") };
        let namespaced = if self.namespaced && suffix.is_empty() { "Namespaced" } else { "" };
        let group = camel(self.group, true);
        let version = camel(self.version, true);
        let subresource = camel(subresource, true);
        format!("{verb}{group}{version}{collection}{namespaced}{}{subresource}{suffix}", self.kind)
    }

    fn group_version_kind(&self, kind: &str) -> Json {
        json!({"group": self.group, "version": self.version, "kind": kind})
    }
}

/// A text as part of an identifier: `example.com` as `exampleCom`.
fn camel(text: &str, capital: bool) -> String {
    let mut capital = capital;
    let mut result = String::new();
    for (index, each) in text.trim_end_matches(".k8s.io").chars().enumerate() {
        if each.is_alphabetic() || each == '_' || (index != 0 && each.is_numeric()) {
            if capital {
                result.extend(each.to_uppercase());
            } else {
                result.push(each);
            }
            capital = false;
        } else {
            capital = true;
        }
    }
    result
}
