//! The API server as a transcript sees it: raw answers, in which the members of field sets keep their order.

use std::{collections::BTreeMap, fs, path::PathBuf, time::Duration};

use kube::{
    Client,
    api::{ListParams, Request},
    core::Status,
};

use super::{
    kinds::{Kind, Source},
    write::{Method, Write},
};
use crate::{
    ControlPlane, Error,
    merge_diff::{json::Json, workspace},
};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Controllers of the control plane that never touch what is written here: without the others nothing else writes.
const CONTROLLERS: &str =
    "--controllers=namespace-controller,serviceaccount-controller,node-lifecycle-controller";

/// A control plane where nobody else writes to the objects, and the schemas that it serves.
pub struct Server {
    control_plane: ControlPlane,
    client: Client,
    namespace: String,
    documents: BTreeMap<String, PathBuf>,
}

impl Server {
    /// Starts one and installs the custom resources.
    ///
    /// # Errors
    /// When it can't be started, or doesn't serve the custom resources.
    pub async fn start() -> Result<Self, Error> {
        let control_plane = ControlPlane::options().controller_manager_arg(CONTROLLERS).start().await?;
        let client = control_plane.admin().await?;
        let namespace = control_plane.namespace("transcripts").await?;
        let mut server = Self {
            client,
            namespace: namespace.name().to_owned(),
            documents: BTreeMap::new(),
            control_plane,
        };
        // It goes with the control plane.
        namespace.keep();
        for kind in Kind::all() {
            match kind.source {
                Source::OpenApi => server.fetch(kind).await?,
                Source::Crd(file) => server.install(file).await?,
            }
        }
        Ok(server)
    }

    /// Installs a CustomResourceDefinition, and waits until all its versions are served.
    async fn install(&self, file: &str) -> Result<(), Error> {
        let path = workspace().join(file);
        let file = path.display().to_string();
        let apply = ["apply", "--server-side", "--filename", &file];
        self.control_plane.kubectl(apply).await?.success()?;
        let wait = ["wait", "--for=condition=Established", "--timeout=60s", "--filename", &file];
        self.control_plane.kubectl(wait).await?.success()?;
        Ok(())
    }

    /// Keeps the OpenAPI document of a kind as a file.
    async fn fetch(&mut self, kind: &Kind) -> Result<(), Error> {
        let api_version = kind.api_version(kind.version);
        if self.documents.contains_key(&api_version) {
            return Ok(());
        }
        let root = if kind.group.is_empty() { "api" } else { "apis" };
        let path = format!("/openapi/v3/{root}/{api_version}");
        let text = self.get(&path).await?.map_err(|status| refused(&path, status))?;
        let file = self.control_plane.dir().join(format!("{}.json", api_version.replace('/', "__")));
        fs::write(&file, text).map_err(Error::file("write", &file))?;
        self.documents.insert(api_version, file);
        Ok(())
    }

    /// The file with the OpenAPI document that the server serves for a version of a kind.
    pub(super) fn document(&self, kind: &Kind) -> String {
        self.documents
            .get(&kind.api_version(kind.version))
            .map_or(String::new(), |path| path.display().to_string())
    }

    async fn get(&self, path: &str) -> Result<Answer, Error> {
        self.send("GET", path, "", String::new()).await
    }

    /// The object of a kind with a name, in a version.
    pub(super) async fn read(&self, kind: &Kind, version: &str, name: &str) -> Result<Option<Json>, Error> {
        let path = format!("{}/{name}", kind.path(version, &self.namespace));
        match self.get(&path).await? {
            Ok(text) => parse(&text).map(Some),
            Err(status) if status.code == 404 => Ok(None),
            Err(status) => Err(refused(&path, status)),
        }
    }

    /// Sends a write. The inner result is the server's answer.
    pub(super) async fn write(&self, kind: &Kind, name: &str, write: &Write) -> Result<Answer, Error> {
        let mut path = kind.path(write.version, &self.namespace);
        if write.method != Method::Create {
            path = format!("{path}/{name}");
        }
        if !write.subresource.is_empty() {
            path = format!("{path}/{}", write.subresource);
        }
        path = format!("{path}?fieldManager={}", write.manager);
        let (method, content_type) = match write.method {
            Method::Apply { force } => {
                path = format!("{path}&force={force}");
                ("PATCH", "application/apply-patch+yaml")
            }
            Method::Create => ("POST", "application/json"),
            Method::Replace => ("PUT", "application/json"),
            Method::MergePatch => ("PATCH", "application/merge-patch+json"),
            Method::StrategicPatch => ("PATCH", "application/strategic-merge-patch+json"),
            Method::JsonPatch => ("PATCH", "application/json-patch+json"),
        };
        self.send(method, &path, content_type, write.body.to_string()).await
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        content_type: &str,
        body: String,
    ) -> Result<Answer, Error> {
        let what = || format!("{method} {path}");
        // Any request will do: what it consists of is replaced.
        let mut request = Request::new("/").list(&ListParams::default()).map_err(Error::parse(what()))?;
        *request.method_mut() = method.parse().map_err(Error::parse(what()))?;
        *request.uri_mut() = path.parse().map_err(Error::parse(what()))?;
        *request.body_mut() = body.into_bytes();
        if !content_type.is_empty() {
            let value = content_type.parse().map_err(Error::parse(what()))?;
            request.headers_mut().insert("content-type", value);
        }
        let limit =
            || Error::Timeout { what: what(), limit: PATIENCE, state: "the server is silent".to_owned() };
        match tokio::time::timeout(PATIENCE, self.client.request_text(request)).await.map_err(|_| limit())? {
            Ok(text) => Ok(Ok(text)),
            Err(kube::Error::Api(status)) => Ok(Err(status)),
            Err(error) => Err(Error::api(what())(error)),
        }
    }
}

/// The text of an answer, or the refusal.
pub(super) type Answer = Result<String, Box<Status>>;

fn refused(path: &str, status: Box<Status>) -> Error {
    Error::api(format!("read {path}"))(kube::Error::Api(status))
}

fn parse(text: &str) -> Result<Json, Error> {
    text.parse().map_err(Error::parse("an object of the API server"))
}
