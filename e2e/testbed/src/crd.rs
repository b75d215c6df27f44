//! Waits until a CustomResourceDefinition is served.

use std::path::Path;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client,
    runtime::wait::{Condition as _, conditions},
};

use crate::{ControlPlane, Error, PATIENCE, wait_for};

/// Installs the CRD of a file, and waits until it is served.
pub async fn install(control_plane: &ControlPlane, file: &Path) -> Result<(), Error> {
    let file = file.display().to_string();
    let apply = ["apply", "--server-side", "--output=name", "--filename", &file];
    let applied = control_plane.kubectl(apply).await?.success()?;
    let name = applied.trim().rsplit('/').next().unwrap_or_default();
    established(&control_plane.admin().await?, name).await
}

/// Waits until a CRD is served.
pub async fn established(client: &Client, name: &str) -> Result<(), Error> {
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    wait_for(&format!("the CRD {name} being served"), PATIENCE, async || {
        let found = crds.get_opt(name).await;
        let found = found.map_err(Error::api(format!("read the CRD {name}")))?;
        let is_served = conditions::is_crd_established().matches_object(found.as_ref());
        Ok(if is_served { Ok(()) } else { Err(format!("{:?}", found.and_then(|found| found.status))) })
    })
    .await
}
