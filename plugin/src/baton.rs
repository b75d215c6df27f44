//! Baton's own objects, read as they are: nothing else needs Baton to be installed.

use baton_apply::{ApiError, LiveObject, Target, bounded};
use kube::{Api, api::ListParams};
use serde::{Deserialize, Serialize};

use crate::{
    cluster::{ClusterError, Connection, Reference},
    failure::Failure,
};

pub(crate) const GROUP: &str = "baton.rs";
pub(crate) const KIND: &str = "Workload";

/// What Baton would do with a child of a Workload.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PlannedChild {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) action: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) writes: Option<i32>,
    #[serde(default, skip_serializing)]
    pub(crate) sets: Vec<String>,
    #[serde(default, skip_serializing)]
    pub(crate) takes: Vec<PlannedTakeover>,
    #[serde(default, skip_serializing)]
    pub(crate) releases: Vec<String>,
    #[serde(default, skip_serializing)]
    pub(crate) removes: Vec<String>,
    #[serde(default)]
    pub(crate) dry_run: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) message: Option<String>,
}

/// A field that Baton would take from another manager.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(crate) struct PlannedTakeover {
    pub(crate) path: String,
    pub(crate) manager: String,
}

/// An object as a person means it here: other groups have kinds called Workload, too.
pub(crate) fn reference(named: &Reference) -> Reference {
    match named.kind.as_str() {
        "workload" | "workloads" => {
            Reference { kind: format!("workloads.{GROUP}"), name: named.name.clone() }
        }
        _ => named.clone(),
    }
}

/// The plan in a Workload's status.
pub(crate) fn plan(workload: &LiveObject) -> Vec<PlannedChild> {
    #[derive(Default, Deserialize)]
    struct Status {
        #[serde(default)]
        plan: Vec<PlannedChild>,
    }
    workload.status::<Status>().unwrap_or_default().plan
}

/// The Workloads of a namespace, or of all.
pub(crate) async fn list(
    connection: &Connection,
    namespace: Option<&str>,
) -> Result<Vec<LiveObject>, Failure> {
    let any = Reference { kind: format!("workloads.{GROUP}"), name: "any".to_owned() };
    let target = match connection.kinds().await?.target(&any, &connection.namespace) {
        Err(ClusterError::NoSuchKind { .. }) => {
            return Err(Failure::Input(format!(
                "Baton isn't installed: the server has no workloads.{GROUP}"
            )));
        }
        target => target?,
    };
    let api = api(connection, &target, namespace);
    let list = bounded(connection.limit(), api.list(&ListParams::default())).await;
    Ok(list.map_err(|error: ApiError| connection.failed("list the Workloads", error))?.items)
}

fn api(connection: &Connection, target: &Target, namespace: Option<&str>) -> Api<LiveObject> {
    match namespace {
        Some(namespace) => Api::namespaced_with(connection.client.clone(), namespace, &target.resource),
        None => Api::all_with(connection.client.clone(), &target.resource),
    }
}
