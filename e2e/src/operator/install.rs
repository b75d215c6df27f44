//! Installs what the operator needs in the cluster: the CRD and the permissions from `manifests/`, as users install them, and a
//! ServiceAccount of its own that is bound to those permissions.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex},
};

use baton_merge::yaml;
use baton_testbed::{Cluster, Error, crd, lock, workspace};
use kube::{
    Client, ResourceExt as _,
    api::{Patch, PatchParams},
};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::any_object::any_object;

/// The field manager of all that this crate applies.
const MANAGER: &str = "baton-e2e";
/// The `ClusterRole` of the manifests.
const ROLE: &str = "baton";

fn ours() -> PatchParams {
    PatchParams::apply(MANAGER).force()
}

/// Makes sure that the CRD and the role exist, and binds the ServiceAccount `name` in `namespace` to the role. Everything is
/// applied, so it may already exist.
pub(super) async fn install(cluster: &Cluster, namespace: &str, name: &str) -> Result<(), Error> {
    let client = cluster.admin().await?;
    install_manifests(cluster).await?;
    apply(
        &client,
        json!({
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": { "name": name, "namespace": namespace },
        }),
        &ours(),
    )
    .await?;
    apply(
        &client,
        json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRoleBinding",
            // Unique in the cluster.
            "metadata": { "name": format!("{MANAGER}:{namespace}:{name}") },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": ROLE },
            "subjects": [{ "kind": "ServiceAccount", "name": name, "namespace": namespace }],
        }),
        &ours(),
    )
    .await
}

/// Makes sure that the Workload's CRD and Baton's role are in the cluster, and that the CRD is served.
pub async fn install_manifests(cluster: &Cluster) -> Result<(), Error> {
    // Once for each cluster: the CRD is big, and a test binary may start an operator for every test.
    static INSTALLED: LazyLock<Mutex<HashMap<String, Arc<OnceCell<()>>>>> = LazyLock::new(Mutex::default);
    let installed = lock(&INSTALLED).entry(cluster.id()).or_default().clone();
    installed.get_or_try_init(async || apply_manifests(cluster).await).await.map(drop)
}

/// Like [`install_manifests`], also if they are installed already.
pub async fn apply_manifests(cluster: &Cluster) -> Result<(), Error> {
    let (client, params) = (&cluster.admin().await?, ours());
    for object in manifests()? {
        let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        match object["kind"].as_str() {
            Some("CustomResourceDefinition") => {
                apply(client, object, &params).await?;
                crd::established(client, &name).await?;
            }
            Some("ClusterRole") => apply(client, object, &params).await?,
            // The others bind the role to the ServiceAccount of an installation, which isn't ours.
            _ => {}
        }
    }
    Ok(())
}

/// The objects in `manifests/crd` and `manifests/rbac`, in the order of the files' names.
fn manifests() -> Result<Vec<Value>, Error> {
    let root = workspace().join("manifests");
    let mut objects = Vec::new();
    for folder in [root.join("crd"), root.join("rbac")] {
        for path in yaml_files(&folder)? {
            let text = fs::read_to_string(&path).map_err(Error::file("read", &path))?;
            let understood = |error| Error::parse(path.display().to_string())(error);
            for document in yaml::read_all(&text).map_err(understood)? {
                objects.push(document.to().map_err(understood)?);
            }
        }
    }
    Ok(objects)
}

fn yaml_files(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::file("read", folder))? {
        let path = entry.map_err(Error::file("read", folder))?.path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Applies an object of any kind with a regular plural.
pub async fn apply(client: &Client, object: Value, params: &PatchParams) -> Result<(), Error> {
    let (api, object) = any_object(client, object)?;
    let name = object.name_any();
    let applied = api.patch(&name, params, &Patch::Apply(&object)).await;
    let kind = object.types.map(|types| types.kind).unwrap_or_default();
    applied.map(|_| ()).map_err(Error::api(format!("apply the {kind} {name}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifests_have_the_crd_and_the_role() {
        let objects = manifests().unwrap();
        let has = |kind: &str, name: &str| {
            objects.iter().any(|object| object["kind"] == kind && object["metadata"]["name"] == name)
        };
        assert!(has("CustomResourceDefinition", "workloads.baton.rs"));
        assert!(has("ClusterRole", ROLE));
    }
}
