//! Manifests with the live objects that they are applied to.

use std::path::PathBuf;

use baton_apply::{FieldPath, Guard, LiveObject, Request, Target};
use baton_merge::{
    Arena,
    fieldpath::{FieldSet, Path},
    value::Value,
};
use clap::Args;
use serde_json::Value as Json;

use super::{
    edit::{remove, replace},
    writer::{KUBECTL, Writer, guard},
};
use crate::{
    cluster::{ClusterArgs, Connection, name_of},
    error::CommandError,
    manifest::{Manifest, ManifestArgs, ManifestError},
    model::{FieldQuery, Owners, check_droppable, resolve},
    offline::Offline,
    terminal::Terminal,
    text::quoted,
};

/// The flags of an apply: the manifests, the manager, and the objects.
#[derive(Debug, Args)]
pub(crate) struct IntentArgs {
    #[command(flatten)]
    pub(crate) manifests: ManifestArgs,
    /// The field manager that applies.
    #[arg(long, default_value = KUBECTL, value_name = "MANAGER")]
    pub(crate) field_manager: String,
    /// Predict for the objects saved in this file instead of those of a cluster: no request is sent. May be given several times.
    #[arg(long, value_name = "FILE")]
    pub(crate) live: Vec<PathBuf>,
    /// A file with a CustomResourceDefinition, for --live. May be given several times.
    #[arg(long, value_name = "FILE", requires = "live")]
    pub(crate) crd: Vec<PathBuf>,
}

/// A manifest with the live object.
#[derive(Clone, Debug)]
pub(crate) struct Intent {
    /// The object to apply.
    pub(crate) body: Json,
    /// The object that is written.
    pub(crate) target: Target,
    /// The live object, if there is one.
    pub(crate) live: Option<LiveObject>,
}

impl IntentArgs {
    /// Reads the manifests and their live objects.
    pub(crate) async fn read(
        &self,
        cluster: &ClusterArgs,
        terminal: &mut Terminal,
    ) -> Result<(Writer, Vec<Intent>), CommandError> {
        let manifests = self.manifests.read(&mut *terminal.input)?;
        if !self.live.is_empty() {
            let offline = Offline::read(&self.live, &self.crd)?;
            let intents = manifests.into_iter().map(|manifest| {
                let target = offline.target(&manifest, cluster.namespace.as_deref());
                let live = offline.find(&target).cloned();
                Intent::new(manifest, target, live, cluster)
            });
            let intents: Vec<_> = intents.collect::<Result<_, _>>()?;
            let schemas = offline.schemas(intents.iter().map(|intent| &intent.target))?;
            return Ok((Writer::new(schemas, None), intents));
        }
        let connection = Connection::new(cluster).await?;
        let kinds = connection.kinds().await?;
        let mut intents = Vec::new();
        for manifest in manifests {
            let target = kinds.of_manifest(&manifest, &connection.namespace)?;
            let live = connection.find(&target).await?;
            intents.push(Intent::new(manifest, target, live, cluster)?);
        }
        let resources: Vec<_> = intents.iter().map(|intent| intent.target.resource.clone()).collect();
        let schemas = connection.schemas(&resources).await?;
        Ok((Writer::new(schemas, Some(&connection)), intents))
    }

    /// A command line with these flags.
    pub(crate) fn command(&self, command: &str, cluster: &ClusterArgs) -> String {
        let mut line = format!("kubectl baton {command} {}{}", self.manifests.flags(), cluster.flags());
        if self.field_manager != KUBECTL {
            line = format!("{line} --field-manager {}", quoted(&self.field_manager));
        }
        line
    }
}

impl Intent {
    fn new(
        manifest: Manifest,
        target: Target,
        live: Option<LiveObject>,
        cluster: &ClusterArgs,
    ) -> Result<Self, ManifestError> {
        if let (Some(given), Some(own)) = (&cluster.namespace, &manifest.namespace)
            && target.namespace.is_some()
            && given != own
        {
            return Err(ManifestError::OtherNamespace {
                path: manifest.file,
                own: own.clone(),
                given: given.clone(),
            });
        }
        let mut body = manifest.object;
        if let Some(namespace) = &target.namespace
            && let Some(metadata) = body.get_mut("metadata").and_then(Json::as_object_mut)
        {
            metadata.insert("namespace".to_owned(), namespace.as_str().into());
        }
        Ok(Self { body, target, live })
    }

    /// Leaves a field out, which releases it.
    pub(crate) fn release(&mut self, query: &FieldQuery) -> Result<(), CommandError> {
        self.at(query, |path, _| Some(check_droppable(path)))??;
        let mut body = self.body.clone();
        self.at(query, |path, _| remove(&mut body, path.elements()))?;
        self.body = body;
        Ok(())
    }

    /// Takes the live value of a field, which shares it.
    pub(crate) fn share(&mut self, query: &FieldQuery) -> Result<(), CommandError> {
        let live = self.at(query, |path, live| Some(path.find(live).map(|value| value.to_json())))?;
        let live = live.ok_or_else(|| {
            CommandError::Input(format!("{} has no value of {query} to share", name_of(&self.target)))
        })?;
        let mut body = self.body.clone();
        self.at(query, |path, _| replace(&mut body, path.elements(), live))?;
        self.body = body;
        Ok(())
    }

    /// The path of a field in the live object, or else in the manifest.
    pub(crate) fn path(&self, query: &FieldQuery) -> Result<FieldPath, CommandError> {
        self.at(query, |path, _| Some(path.into()))
    }

    /// Calls `act` with the path of a field and the live object.
    fn at<T>(
        &self,
        query: &FieldQuery,
        act: impl FnOnce(Path<'_>, Value<'_>) -> Option<T>,
    ) -> Result<T, CommandError> {
        let arena = Arena::new();
        let body = self.body.to_string();
        let own = Value::from_text(&arena, &body).unwrap_or(Value::Null);
        let live = self.live.as_ref().map(|live| Owners::of(&arena, live));
        let in_live = live.as_ref().and_then(|live| live.path(query).ok());
        let path = match in_live {
            Some(path) => path,
            None => resolve(query, &arena, own, FieldSet::default())?,
        };
        let live = live.map_or(Value::Null, |live| live.object);
        act(path, live).ok_or_else(|| {
            CommandError::Input(format!(
                "neither the manifest of {} nor the object has {path}",
                name_of(&self.target)
            ))
        })
    }

    /// The apply of it: to the object that was read, or to none.
    pub(crate) fn request(&self, live: Option<&LiveObject>, manager: &str, force: bool) -> Request {
        let guard = match live {
            _ if self.is_guarded() => Guard::Nothing,
            Some(live) => match guard(live, manager) {
                Guard::Unchanged(revision) => Guard::SameObject(revision.uid),
                guard => guard,
            },
            None => Guard::Absent,
        };
        Request::apply(self.target.clone(), self.body.clone(), manager.to_owned(), force, &guard)
    }

    /// Whether the manifest names the object's version itself.
    fn is_guarded(&self) -> bool {
        let has = |name: &str| self.body["metadata"].get(name).is_some();
        has("uid") || has("resourceVersion")
    }
}
