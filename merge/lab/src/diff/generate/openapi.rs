//! Kinds from the OpenAPI documents of an API server and from a CRD, read just closely enough to make objects. The two
//! sides decide how they merge.

use std::{
    fs,
    sync::{Arc, OnceLock},
};

use baton_testbed::{Json, workspace};

use super::{
    definition,
    schema::{Atom, Field, List, Map, Scalar, Schema, TypeRef},
};

/// A kind of objects.
pub struct Kind {
    /// Its API group.
    pub group: String,
    /// Its version.
    pub version: String,
    /// Other served versions.
    pub others: Vec<String>,
    /// Its name.
    pub kind: String,
    /// The member of a request with the document: `openapi` or `crd`.
    pub source: &'static str,
    /// The document as a request has it: itself, or its path relative to the workspace.
    pub document: Json,
    /// Whether there is a status subresource.
    pub status: bool,
    /// Whether there is a scale subresource.
    pub scale: bool,
    /// The schema of its objects.
    pub schema: Schema,
}

impl Kind {
    /// `group/version`, or the version alone.
    pub fn api_version(&self, version: &str) -> String {
        if self.group.is_empty() { version.to_owned() } else { format!("{}/{version}", self.group) }
    }
}

/// The kinds, each with its document. Frequent kinds are repeated.
const BUILT_IN: [(&str, &str, &str, &str); 18] = [
    ("apps__v1", "apps", "v1", "Deployment"),
    ("apps__v1", "apps", "v1", "Deployment"),
    ("apps__v1", "apps", "v1", "Deployment"),
    ("apps__v1", "apps", "v1", "StatefulSet"),
    ("apps__v1", "apps", "v1", "DaemonSet"),
    ("apps__v1", "apps", "v1", "ControllerRevision"),
    ("v1", "", "v1", "Service"),
    ("v1", "", "v1", "Service"),
    ("v1", "", "v1", "ConfigMap"),
    ("v1", "", "v1", "Secret"),
    ("v1", "", "v1", "Pod"),
    ("autoscaling__v2", "autoscaling", "v2", "HorizontalPodAutoscaler"),
    ("batch__v1", "batch", "v1", "Job"),
    ("batch__v1", "batch", "v1", "CronJob"),
    ("discovery.k8s.io__v1", "discovery.k8s.io", "v1", "EndpointSlice"),
    ("networking.k8s.io__v1", "networking.k8s.io", "v1", "NetworkPolicy"),
    ("policy__v1", "policy", "v1", "PodDisruptionBudget"),
    ("rbac.authorization.k8s.io__v1", "rbac.authorization.k8s.io", "v1", "Role"),
];
/// The folder of the documents.
const DOCUMENTS: &str = "merge/tests/data/openapi";
/// A CRD with every extension.
const GADGET: &str = "merge/tests/corpus/data/gadget.crd.json";
/// A document with every construct of built-in kinds, and possible ones.
const CONSTRUCTS: &str = "merge/tests/corpus/data/constructs.openapi.json";

/// All kinds with a document.
pub fn kinds() -> &'static [Arc<Kind>] {
    static KINDS: OnceLock<Vec<Arc<Kind>>> = OnceLock::new();
    KINDS.get_or_init(|| {
        let mut kinds: Vec<_> = BUILT_IN.iter().filter_map(built_in).map(Arc::new).collect();
        let gadget = read(GADGET).and_then(|definition| custom(&definition, named(GADGET)));
        let construct = documented(CONSTRUCTS, "corpus.baton.rs", "v1", "Construct");
        for often in [gadget, construct].into_iter().flatten().map(Arc::new) {
            kinds.extend(std::iter::repeat_n(often, 4));
        }
        kinds
    })
}

/// A document as requests name it.
fn named(file: &str) -> Json {
    Json::object().with("file", file)
}

fn read(file: &str) -> Option<Json> {
    fs::read_to_string(workspace().join(file)).ok()?.parse().ok()
}

/// The kind of a CRD that is sent with each request.
pub fn defined(definition: &Json) -> Option<Kind> {
    custom(definition, Json::Text(definition.to_string().into()))
}

/// A schema in three versions, each with the members of a request that name its type.
pub type Versions = [(Schema, Json); 3];

/// The schemas of a random CRD's versions.
pub fn defined_versions(definition: &Json) -> Option<Versions> {
    let document = Json::Text(definition.to_string().into());
    let backwards: Vec<_> = definition::GROUP.rsplit('.').collect();
    let of = |version: &Json| {
        let name = format!("{}.{}.{}", backwards.join("."), version.get("name")?.as_str()?, definition::KIND);
        let root = whole(version.at(&["schema", "openAPIV3Schema"])?);
        let schema = Schema { types: vec![(name.clone(), root)] };
        Some((schema, Json::object().with("crd", document.clone()).with("type", name)))
    };
    let versions: Vec<_> = definition.at(&["spec", "versions"])?.items().iter().filter_map(of).collect();
    versions.try_into().ok()
}

/// The groups of constructs, each in three versions.
pub fn constructs() -> &'static [Versions] {
    static CONSTRUCTS_BY_GROUP: OnceLock<Vec<Versions>> = OnceLock::new();
    CONSTRUCTS_BY_GROUP.get_or_init(|| {
        let Some(json) = read(CONSTRUCTS) else { return Vec::new() };
        let types = definitions(&json);
        let version = |version: &str, group: &str| {
            let name = format!("rs.baton.corpus.{version}.{group}");
            let at = types.iter().position(|(known, _)| *known == name)?;
            let mut schema = Schema { types: types.clone() };
            schema.types.swap(0, at);
            Some((schema, Json::object().with("openapi", named(CONSTRUCTS)).with("type", name)))
        };
        let versions = |group: &&str| {
            let versions: Vec<_> =
                ["v1", "v2", "v3"].iter().filter_map(|name| version(name, group)).collect();
            versions.try_into().ok()
        };
        ["Lists", "References", "Formats", "Unknown"].iter().filter_map(versions).collect()
    })
}

/// All types of a document.
fn definitions(document: &Json) -> Vec<(String, Atom)> {
    let definitions = document.at(&["components", "schemas"]).map(Json::members).unwrap_or_default();
    definitions.iter().map(|(name, definition)| (name.clone(), reference(definition, "").inlined)).collect()
}

fn built_in(&(document, group, version, kind): &(&str, &str, &str, &str)) -> Option<Kind> {
    documented(&format!("{DOCUMENTS}/{document}.json"), group, version, kind)
}

/// A kind of a document.
fn documented(file: &str, group: &str, version: &str, kind: &str) -> Option<Kind> {
    let json = read(file)?;
    let definitions = json.at(&["components", "schemas"])?;
    let mut types = self::definitions(&json);
    let is_root = |definition: &Json| {
        let kinds = definition.get("x-kubernetes-group-version-kind").map(Json::items).unwrap_or_default();
        kinds.iter().any(|known| {
            known.get("kind").and_then(Json::as_str) == Some(kind)
                && known.get("group").and_then(Json::as_str).unwrap_or_default() == group
        })
    };
    let root = definitions.members().iter().position(|(_, definition)| is_root(definition))?;
    types.swap(0, root);
    for (name, atom) in &mut types {
        if name.ends_with(".ObjectMeta") {
            plain_metadata(atom);
        }
    }
    let mut schema = Schema { types };
    if let Some((_, root)) = schema.types.first_mut() {
        plain_root(root);
    }
    Some(Kind {
        group: group.to_owned(),
        version: version.to_owned(),
        others: Vec::new(),
        kind: kind.to_owned(),
        source: "openapi",
        document: named(file),
        status: !matches!(
            kind,
            "ConfigMap" | "Secret" | "ControllerRevision" | "EndpointSlice" | "NetworkPolicy" | "Role"
        ),
        scale: matches!(kind, "Deployment" | "StatefulSet"),
        schema,
    })
}

/// The kind of a CRD, in its first version.
fn custom(definition: &Json, document: Json) -> Option<Kind> {
    let spec = definition.get("spec")?;
    let names = |json: &Json| json.get("name").and_then(Json::as_str).map(str::to_owned);
    let mut versions = spec.get("versions")?.items().iter().filter_map(names);
    let first = spec.get("versions")?.items().first()?;
    let mut root = whole(first.at(&["schema", "openAPIV3Schema"])?);
    plain_root(&mut root);
    let subresource = |name| first.at(&["subresources", name]).is_some();
    let (status, scale) = (subresource("status"), subresource("scale"));
    Some(Kind {
        group: spec.get("group")?.as_str()?.to_owned(),
        version: versions.next()?,
        others: versions.collect(),
        kind: spec.at(&["names", "kind"])?.as_str()?.to_owned(),
        source: "crd",
        document,
        status,
        scale,
        schema: Schema { types: vec![("root".to_owned(), root)] },
    })
}

/// The type of a CRD's objects, with the fields of every object.
fn whole(schema: &Json) -> Atom {
    let mut root = reference(schema, "").inlined;
    add_object_fields(&mut root);
    root
}

fn add_object_fields(atom: &mut Atom) {
    let Some(map) = &mut atom.map else { return };
    let mut metadata = Atom::map(Map { fields: Vec::new(), element: None, relationship: None });
    plain_metadata(&mut metadata);
    let words = || TypeRef::inlined(Atom::scalar(Scalar::String));
    for (name, of) in [("apiVersion", words()), ("kind", words()), ("metadata", TypeRef::inlined(metadata))] {
        map.fields.retain(|field| field.name != name);
        map.fields.push(Field { name: name.to_owned(), of, default: None, common: true });
    }
}

/// Removes the fields that scenarios set themselves.
fn plain_root(root: &mut Atom) {
    if let Some(map) = &mut root.map {
        map.fields.retain(|field| !matches!(field.name.as_str(), "apiVersion" | "kind"));
        for field in &mut map.fields {
            field.common = field.name != "status";
        }
    }
}

/// Metadata with the fields that people write.
fn plain_metadata(atom: &mut Atom) {
    let words = || TypeRef::inlined(Atom::scalar(Scalar::String));
    let map = |relationship| {
        TypeRef::inlined(Atom::map(Map { fields: Vec::new(), element: Some(words()), relationship }))
    };
    let owner = Map {
        fields: ["uid", "name", "kind", "apiVersion"]
            .map(|name| Field { name: name.to_owned(), of: words(), default: None, common: true })
            .to_vec(),
        element: None,
        relationship: Some("atomic"),
    };
    let owners = List {
        element: TypeRef::inlined(Atom::map(owner)),
        relationship: Some("associative"),
        keys: vec!["uid".to_owned()],
    };
    let finalizers = List { element: words(), relationship: Some("associative"), keys: Vec::new() };
    let field = |name: &str, of, common| Field { name: name.to_owned(), of, default: None, common };
    let fields = vec![
        field("labels", map(None), true),
        field("annotations", map(None), true),
        field("generateName", words(), false),
        field("finalizers", TypeRef::inlined(Atom::list(finalizers)), false),
        field("ownerReferences", TypeRef::inlined(Atom::list(owners)), false),
    ];
    *atom = Atom::map(Map { fields, element: None, relationship: None });
}

/// Fields that people set often.
const COMMON: &str = "spec metadata labels annotations replicas template selector matchLabels containers image name \
    ports containerPort protocol port targetPort env value resources limits requests strategy \
    rollingUpdate maxSurge maxUnavailable minReplicas maxReplicas metrics behavior type rules data \
    endpoints addresses conditions volumes volumeMounts mountPath args tolerations";

/// A type in a document; `name` is that of the field.
fn reference(json: &Json, name: &str) -> TypeRef {
    let only = json.get("allOf").and_then(|all| all.items().first());
    let target = json.get("$ref").or_else(|| only.and_then(|only| only.get("$ref")));
    if let Some(target) = target.and_then(Json::as_str) {
        return TypeRef::named(target.rsplit('/').next().unwrap_or(target));
    }
    let text = |name| json.get(name).and_then(Json::as_str);
    let flag = |name| json.get(name) == Some(&Json::Bool(true));
    let relationship = |name| match text(name) {
        Some("atomic") => Some("atomic"),
        Some("map" | "set") => Some("associative"),
        _ => None,
    };
    if flag("x-kubernetes-int-or-string") || text("format") == Some("int-or-string") {
        return TypeRef::inlined(Atom {
            scalar: Some(Scalar::Untyped),
            samples: vec![Json::from(80), Json::from("http"), Json::from("25%"), Json::from(1)],
            ..Atom::default()
        });
    }
    let atom = match text("type") {
        Some("string") => strings(name, text("format")),
        Some("integer" | "number") => Atom::scalar(Scalar::Numeric),
        Some("boolean") => Atom::scalar(Scalar::Boolean),
        Some("array") => {
            let keys = json.get("x-kubernetes-list-map-keys").map(Json::items).unwrap_or_default();
            // The patch strategy of lists without a list type.
            let strategy =
                text("x-kubernetes-patch-strategy").filter(|_| text("x-kubernetes-list-type").is_none());
            let by_strategy = strategy.filter(|name| name.starts_with("merge")).map(|_| "associative");
            let merge_key = by_strategy.and_then(|_| json.get("x-kubernetes-patch-merge-key"));
            Atom::list(List {
                element: json.get("items").map(|items| reference(items, name)).unwrap_or_default(),
                relationship: relationship("x-kubernetes-list-type").or(by_strategy).or(Some("atomic")),
                keys: keys.iter().chain(merge_key).filter_map(Json::as_str).map(str::to_owned).collect(),
            })
        }
        Some("object") => {
            let properties = json.get("properties").map(Json::members).unwrap_or_default();
            let fields = properties.iter().map(|(name, property)| Field {
                name: name.clone(),
                of: reference(property, name),
                default: property
                    .get("default")
                    .filter(|default| !matches!(default, Json::Object(_)))
                    .cloned(),
                common: COMMON.split(' ').any(|common| common == name),
            });
            let element = match json.get("additionalProperties") {
                Some(Json::Bool(allowed)) => allowed.then(anything),
                Some(element) => Some(reference(element, name)),
                // Without named fields, any field is valid.
                None if flag("x-kubernetes-preserve-unknown-fields") || properties.is_empty() => {
                    Some(anything())
                }
                None => None,
            };
            let mut object = Atom::map(Map {
                fields: fields.collect(),
                element,
                relationship: relationship("x-kubernetes-map-type"),
            });
            if flag("x-kubernetes-embedded-resource") {
                add_object_fields(&mut object);
            }
            object
        }
        _ if json.is_empty() || flag("x-kubernetes-preserve-unknown-fields") => anything().inlined,
        // Quantities.
        _ => quantities(),
    };
    TypeRef::inlined(atom)
}

/// Quantities, which may be numbers as well.
fn quantities() -> Atom {
    let mut samples = ["100m", "1", "1Gi", "0.5"].map(Json::from).to_vec();
    samples.push(Json::from(1));
    Atom { scalar: Some(Scalar::Untyped), samples, ..Atom::default() }
}

/// An untyped value, one level deep.
fn anything() -> TypeRef {
    let scalar = || TypeRef::inlined(Atom::scalar(Scalar::Untyped));
    TypeRef::inlined(Atom {
        scalar: Some(Scalar::Untyped),
        map: Some(Box::new(Map { element: Some(scalar()), ..Map::default() })),
        list: Some(Box::new(List { element: scalar(), relationship: Some("atomic"), keys: Vec::new() })),
        samples: Vec::new(),
    })
}

/// A string; the name of the field suggests likely values.
fn strings(name: &str, format: Option<&str>) -> Atom {
    let samples: &[&str] = match (name, format) {
        (_, Some("date-time")) => &["2026-01-02T03:04:05Z", "2026-01-02T03:04:06Z"],
        (_, Some("byte")) => &["YQ==", "Yg=="],
        ("protocol", _) => &["TCP", "UDP", "SCTP"],
        ("image", _) => &["nginx:1.29", "nginx:1.30", "busybox"],
        ("type", _) => &["ClusterIP", "NodePort", "Recreate", "RollingUpdate", "Resource", "Ready"],
        ("mountPath", _) => &["/a", "/b"],
        _ => &[],
    };
    Atom {
        scalar: Some(Scalar::String),
        samples: samples.iter().map(|sample| Json::from(*sample)).collect(),
        ..Atom::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff::generate::value::{Taste, Values};
    use baton_testbed::Random;

    #[test]
    fn objects_of_every_kind_have_the_fields_that_people_set() {
        assert!(kinds().len() > 4, "the documents are missing");
        let mut random = Random::new(1, 1);
        for kind in kinds() {
            let values = Values { schema: &kind.schema, taste: Taste::VALID, density: 60, depth: 9 };
            let objects: Vec<_> = (0..50).map(|_| values.root(&mut random)).collect();
            for member in [
                "metadata",
                if matches!(kind.kind.as_str(), "ConfigMap" | "Secret") { "data" } else { "spec" },
            ] {
                if matches!(kind.kind.as_str(), "Role" | "EndpointSlice" | "ControllerRevision" | "Construct")
                    && member == "spec"
                {
                    continue;
                }
                assert!(objects.iter().any(|object| object.get(member).is_some()), "{}: {member}", kind.kind);
            }
            let labels = objects.iter().filter(|object| object.at(&["metadata", "labels"]).is_some());
            assert!(labels.count() > 3, "{}", kind.kind);
        }
    }
}
