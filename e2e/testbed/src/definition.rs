//! CustomResourceDefinitions in a cluster, as far as being there goes. What they say is others' business.

use std::{path::Path, time::Duration};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{
    Api, Client,
    runtime::wait::{await_condition, conditions},
};

use crate::{ControlPlane, Error};

/// How long the API server may take to serve a new definition.
const ESTABLISHED: Duration = Duration::from_secs(30);

/// Installs the definition of a file, and waits until it is served.
pub async fn install(control_plane: &ControlPlane, file: &Path) -> Result<(), Error> {
    let file = file.display().to_string();
    let apply = ["apply", "--server-side", "--output=name", "--filename", &file];
    let applied = control_plane.kubectl(apply).await?.success()?;
    let name = applied.trim().rsplit('/').next().unwrap_or_default();
    established(&control_plane.admin().await?, name).await
}

/// Waits until a definition is served.
pub async fn established(client: &Client, name: &str) -> Result<(), Error> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let established = await_condition(definitions, name, conditions::is_crd_established());
    match tokio::time::timeout(ESTABLISHED, established).await {
        Ok(Ok(_)) => Ok(()),
        Ok(Err(error)) => Err(Error::parse(format!("the watch of the definition {name}"))(error)),
        Err(_) => Err(Error::Timeout {
            what: format!("the definition {name} being served"),
            limit: ESTABLISHED,
            state: "the API server hasn't accepted its names; see its log".to_owned(),
        }),
    }
}
