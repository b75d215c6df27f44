//! The reconcile loop of an operator with one child: read, apply, match, requeue.

use std::time::Duration;

use baton_apply::{Applier, ApplyError, Options, SchemaCache, Target};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Client, core::ApiResource, runtime::controller::Action};

/// Makes the ConfigMap as it should be. `intent` has all fields that the operator wants to own, and no others.
pub async fn reconcile(applier: &Applier, intent: &ConfigMap) -> Result<Action, ApplyError> {
    let live = applier.read(&Target::of(intent, &())).await?;
    match applier.apply(live.as_ref(), intent, Options::forced("settings.example.com")).await {
        Ok(outcome) => {
            for it in outcome.effects.takeovers {
                println!("took over {} from {}", it.path, it.manager);
            }
            Ok(Action::await_change())
        }
        // It was created, deleted or replaced since it was read: read it and decide again.
        Err(ApplyError::Stale(_)) => Ok(Action::requeue(Duration::ZERO)),
        // Refused until something changes: report it, such as in a status.
        Err(ApplyError::Rejected(error)) => {
            println!("rejected: {error}");
            Ok(Action::requeue(Duration::from_mins(5)))
        }
        // A lost request or a busy server: the error policy of the controller retries.
        Err(error) => Err(error),
    }
}

/// Once in a process: the schemas of the kinds that are applied, and what predicts, sends and compares.
pub async fn applier(client: Client) -> Applier {
    let (kinds, limit) = ([ApiResource::erase::<ConfigMap>(&())], Duration::from_secs(30));
    let schemas = SchemaCache::new(client.clone(), kinds, limit);
    tokio::spawn(schemas.clone().keep_current(Duration::from_mins(10)));
    let applier = Applier::new(client, Some(schemas), limit);
    applier.ready().await;
    applier
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let applier = applier(Client::try_default().await?).await;
    let metadata = serde_json::json!({"name": "settings", "namespace": "default"});
    let intent =
        serde_json::from_value(serde_json::json!({"metadata": metadata, "data": {"color": "green"}}))?;
    println!("{:?}", reconcile(&applier, &intent).await?);
    Ok(())
}
