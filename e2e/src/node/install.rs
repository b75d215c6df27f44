//! Baton on the node, installed as `docs/install.md` says: its image by the name that it has there, and `manifests/` by
//! kustomize.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use k8s_openapi::api::{coordination::v1::Lease, core::v1::Pod};
use kube::Api;

use super::{Image, Node};
use crate::Error;

/// The namespace that Baton is installed in.
pub const HOME: &str = "baton-system";
/// Who Baton is to the API server then.
pub const USER: &str = "system:serviceaccount:baton-system:baton";
/// How long its pods may take to be ready, for `kubectl rollout`.
const LIMIT: &str = "--timeout=120s";

impl Node {
    /// Installs Baton with this image, or goes over to it, and waits until its pods are ready.
    ///
    /// # Errors
    /// When kubectl fails, or the pods aren't ready in time.
    pub async fn install_baton(&self, image: &Image) -> Result<(), Error> {
        self.load(image).await?;
        let folder = self.overlay(image)?.display().to_string();
        let cluster = self.control_plane();
        cluster.kubectl(["apply", "--server-side", "-k", &folder]).await?.success()?;
        self.baton_is_ready().await
    }

    /// Waits until all of Baton's pods that are wanted are there and ready.
    ///
    /// # Errors
    /// When they aren't in time.
    pub async fn baton_is_ready(&self) -> Result<(), Error> {
        let args = ["rollout", "status", "deployment/baton", "--namespace", HOME, LIMIT];
        self.control_plane().kubectl(args).await?.success()?;
        Ok(())
    }

    /// The pod of Baton's that leads: the one that its lease names.
    ///
    /// # Errors
    /// When nobody leads, or its pod is gone.
    pub async fn baton_leader(&self) -> Result<Pod, Error> {
        let client = self.control_plane().admin().await?;
        let leases: Api<Lease> = Api::namespaced(client.clone(), HOME);
        let lease = leases.get("baton").await.map_err(Error::api("read Baton's lease"))?;
        let holder = lease.spec.and_then(|spec| spec.holder_identity).unwrap_or_default();
        let pods: Api<Pod> = Api::namespaced(client, HOME);
        pods.get(&holder)
            .await
            .map_err(Error::api(format!("read the pod {holder:?}, which Baton's lease names")))
    }

    /// A kustomization as an administrator keeps one beside the manifests, to name the image.
    fn overlay(&self, image: &Image) -> Result<PathBuf, Error> {
        let folder = self.dir().join("install");
        let manifests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../manifests");
        if !folder.exists() {
            fs::create_dir_all(&folder).map_err(Error::file("create", &folder))?;
            let failed = |source| Error::Spawn { program: "cp".to_owned(), source };
            Command::new("cp")
                .arg("-r")
                .args([&manifests, &folder])
                .stdin(Stdio::null())
                .status()
                .map_err(failed)?;
        }
        let (name, tag) = image.name().rsplit_once(':').unwrap_or((image.name(), "latest"));
        let text = format!(
            "apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [manifests]
images:
  - {{name: baton, newName: {name}, newTag: {tag}}}
"
        );
        let file = folder.join("kustomization.yaml");
        fs::write(&file, text).map_err(Error::file("write", &file))?;
        Ok(folder)
    }
}
