//! Predictions without a cluster: objects in files, and the schemas of built-in kinds.

use std::{path::PathBuf, sync::Arc};

use baton_apply::{LiveObject, Schemas, Target, openapi::document_path, spelling::Types};
use baton_merge::{Release, schema::SchemaError, server::Resources};
use kube::{ResourceExt as _, core::ApiResource};
use serde_json::{Value as Json, json};

use crate::manifest::{self, Manifest, ManifestError};

/// The error of a prediction without a cluster.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OfflineError {
    /// A file can't be read.
    #[error(transparent)]
    File(#[from] ManifestError),
    /// A CustomResourceDefinition can't be used.
    #[error("{path}: not a CustomResourceDefinition")]
    Definition { path: String, source: SchemaError },
    /// The schemas in this program can't be read: a bug.
    #[error("can't read the schemas in this program")]
    Schemas(#[source] serde_json::Error),
    /// The schemas in this program can't be compiled: a bug.
    #[error("can't compile the schemas in this program")]
    Compiled(#[source] SchemaError),
}

/// The release as which this program predicts with the documents that it carries.
const RELEASE: Release = Release::new(baton_openapi::MINOR, u16::MAX);

/// Objects that were saved, and the schemas of their kinds.
pub(crate) struct Offline {
    objects: Vec<LiveObject>,
    custom: Vec<(String, Arc<Resources>)>,
    types: Types,
}

impl Offline {
    pub(crate) fn read(live: &[PathBuf], crds: &[PathBuf]) -> Result<Self, OfflineError> {
        let mut objects = Vec::new();
        for file in live {
            for manifest in manifest::of_file(file)? {
                objects.push(manifest.saved()?);
            }
        }
        let (mut custom, mut types) = (Vec::new(), Types::default());
        for file in crds {
            for definition in manifest::of_file(file)? {
                types.add(types_of(&definition.object));
                let resources = Resources::from_crd(&definition.object);
                let resources =
                    resources.map_err(|source| OfflineError::Definition { path: definition.file, source })?;
                let resources = Arc::new(resources);
                let group = definition.object["spec"]["group"].as_str().unwrap_or_default();
                let versions = definition.object["spec"]["versions"].as_array();
                let versions = versions.into_iter().flatten().filter_map(|version| version["name"].as_str());
                custom.extend(versions.map(|version| (format!("apis/{group}/{version}"), resources.clone())));
            }
        }
        Ok(Self { objects, custom, types })
    }

    /// The object of a manifest. Without a cluster, the manifest and the saved objects show whether it is in a namespace.
    pub(crate) fn target(&self, manifest: &Manifest, namespace: Option<&str>) -> Target {
        let resource = resource(&manifest.api_version, &manifest.kind);
        let named = manifest.namespace.as_deref().or(namespace);
        let is_it = |live: &&LiveObject| {
            let own = live.namespace();
            is_of_kind(live, &resource)
                && live.name_any() == manifest.name
                && (own.is_none() || named.is_none() || own.as_deref() == named)
        };
        let namespace = match self.objects.iter().find(is_it) {
            Some(live) => live.namespace(),
            None => named.map(str::to_owned),
        };
        Target::new(resource, namespace, &manifest.name)
    }

    pub(crate) fn find(&self, target: &Target) -> Option<&LiveObject> {
        self.objects.iter().find(|live| {
            is_of_kind(live, &target.resource)
                && live.name_any() == target.name
                && live.namespace() == target.namespace
        })
    }

    /// The schemas of these kinds, as far as they are known.
    pub(crate) fn schemas<'t>(
        &self,
        targets: impl Iterator<Item = &'t Target>,
    ) -> Result<Arc<Schemas>, OfflineError> {
        let (mut documents, mut types) = (self.custom.clone(), self.types.clone());
        for path in targets.map(|target| document_path(&target.resource)) {
            if documents.iter().all(|(known, _)| *known != path)
                && let Some(document) = baton_openapi::document(&path)
            {
                let document: Json = serde_json::from_str(&document.text()).map_err(OfflineError::Schemas)?;
                let resources = Resources::from_openapi(&document).map_err(OfflineError::Compiled)?;
                documents.push((path, Arc::new(resources)));
                types.add(Types::from_document(&document));
            }
        }
        Ok(Arc::new(Schemas::new(RELEASE, documents).with_types([Arc::new(types)])))
    }
}

/// The types of a custom resource's versions, from its CRD.
fn types_of(definition: &Json) -> Types {
    let spec = &definition["spec"];
    let (group, kind) = (&spec["group"], &spec["names"]["kind"]);
    let versions = spec["versions"].as_array().into_iter().flatten();
    let schemas = versions.filter_map(|version| {
        let mut schema = version["schema"]["openAPIV3Schema"].as_object()?.clone();
        let gvk = json!([{"group": group, "version": version["name"], "kind": kind}]);
        schema.insert("x-kubernetes-group-version-kind".to_owned(), gvk);
        Some((format!("{group}/{}/{kind}", version["name"]), schema))
    });
    let schemas: Vec<_> = schemas.collect();
    Types::from_openapi(schemas.iter().map(|(name, schema)| (name, schema)))
}

/// A kind without its plural, which only a cluster knows.
fn resource(api_version: &str, kind: &str) -> ApiResource {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        plural: String::new(),
    }
}

fn is_of_kind(live: &LiveObject, resource: &ApiResource) -> bool {
    let text = |name: &str| live.get(&[name]).and_then(Json::as_str);
    (text("apiVersion"), text("kind")) == (Some(&resource.api_version), Some(&resource.kind))
}
