//! The API server of transcripts: raw responses, in which the members of field sets keep their order.

use std::{collections::BTreeMap, path::PathBuf};

use anyhow::Result;
use baton_testbed::{
    ControlPlane, Json, crd,
    prediction::{Method, Resource, Schema, Write},
    raw::{self, Request, Responded, openapi_document},
    workspace,
    writes::Kind,
};
use kube::Client;

/// The only controller, without which no pod can be created. No others write to the objects.
const CONTROLLERS: &str = "--controllers=serviceaccount-controller";

/// A control plane where no other client writes to the objects, and its schemas.
pub struct Server {
    control_plane: ControlPlane,
    client: Client,
    namespace: String,
    documents: BTreeMap<String, PathBuf>,
}

impl Server {
    /// Starts one and installs the CRDs.
    pub async fn start() -> Result<Self> {
        let control_plane =
            ControlPlane::options().without_nodes().controller_manager_arg(CONTROLLERS).start().await?;
        let client = control_plane.admin().await?;
        let namespace = control_plane.namespace("transcripts").await?;
        let mut server = Self {
            client,
            namespace: namespace.name().to_owned(),
            documents: BTreeMap::new(),
            control_plane,
        };
        // It ends with the control plane.
        namespace.keep();
        for kind in Kind::all() {
            match &kind.crd {
                None => server.fetch(kind).await?,
                Some(file) => {
                    crd::install(&server.control_plane, &workspace().join(file)).await?;
                }
            }
        }
        Ok(server)
    }

    /// Keeps the OpenAPI document of a kind as a file.
    async fn fetch(&mut self, kind: &Kind) -> Result<()> {
        let api_version = kind.api_version(&kind.version);
        if self.documents.contains_key(&api_version) {
            return Ok(());
        }
        let file = openapi_document(&self.client, &api_version, self.control_plane.dir()).await?;
        self.documents.insert(api_version, file);
        Ok(())
    }

    /// A kind in a version, as this server serves it.
    pub(super) fn resource(&self, kind: &Kind, version: &str) -> Resource {
        let schema = match &kind.crd {
            None => {
                let file = self.documents.get(&kind.api_version(&kind.version));
                Schema::OpenApi(file.map_or(String::new(), |path| path.display().to_string()))
            }
            Some(file) => Schema::Crd(Json::object().with("file", file.as_str())),
        };
        Resource {
            group: kind.group.clone(),
            version: version.to_owned(),
            kind: kind.kind.clone(),
            plural: kind.plural.clone(),
            namespaced: !kind.cluster,
            schema,
            has_status: kind.has_status(version),
        }
    }

    /// The object of a name.
    pub(super) async fn read(&self, resource: &Resource, name: &str) -> Result<Option<Json>> {
        Ok(raw::read(&self.client, &format!("{}/{name}", resource.path(&self.namespace))).await?)
    }

    /// Sends a write. The inner result is the server's response.
    pub(super) async fn write(&self, resource: &Resource, name: &str, write: &Write) -> Result<Responded> {
        let (method, content_type) = write.method.on_the_wire();
        let mut uri = write.path(resource, &self.namespace, name);
        uri = format!("{uri}?fieldManager={}", write.manager);
        if let Method::Apply { force } = write.method {
            uri = format!("{uri}&force={force}");
        }
        let headers = vec![("content-type", content_type.to_owned())];
        let request = Request { method, uri, headers, body: write.body.to_string() };
        Ok(request.send(&self.client).await?.into_result())
    }
}
