//! The result of an apply without storing it: predicted without a request, and tried by the server in a dry run.
//!
//! ```text
//! cargo run -p baton-apply --example dry_run -- default web 5
//! ```

use std::{env, error::Error, time::Duration};

use baton_apply::{Applier, ApplyError, FieldPath, Guard, Options, Prediction, Request, SchemaCache, Target};
use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use kube::{Client, core::ApiResource};
use serde_json::json;

const MANAGER: &str = "example";

/// Predicts and tries an apply of a replica count to a Deployment. Returns a line for each.
pub async fn ask(
    client: Client,
    namespace: &str,
    name: &str,
    replicas: i32,
) -> Result<Vec<String>, Box<dyn Error>> {
    let (kind, limit) = (ApiResource::erase::<Deployment>(&()), Duration::from_secs(30));
    let schemas = SchemaCache::new(client.clone(), [kind.clone()], limit);
    let known = schemas.load().await?;
    let applier = Applier::new(client, Some(schemas), limit);
    let target = Target::new(kind.clone(), Some(namespace.to_owned()), name);
    let live = applier.read(&target).await?.ok_or("there is no such Deployment")?;
    let metadata = json!({"name": name, "namespace": namespace});
    let intent = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"replicas": replicas}});

    let request = Request::apply(target, intent.clone(), MANAGER, false, &Guard::Nothing);
    let mut lines = vec![match known.predict(&request, Some(&live), Timestamp::now())? {
        Prediction::NoOp => "predicted: nothing changes".to_owned(),
        Prediction::Stored(stored) => {
            let sets: Vec<&str> = stored.effects.sets.iter().map(FieldPath::as_str).collect();
            format!("predicted: sets {}", sets.join(", "))
        }
        Prediction::Conflicts(conflicts) => format!("predicted: {conflicts}"),
        Prediction::Refused(message) => format!("predicted: refused, {message}"),
        Prediction::Deleted => unreachable!("it is an apply"),
    }];

    let options = Options::unforced(MANAGER).dry_run();
    lines.push(match applier.apply_json(&kind, Some(&live), intent, options).await {
        Ok(tried) => format!("dry run: the response compares as {:?}", tried.comparison),
        Err(ApplyError::Conflict(error)) => format!("dry run: {error}"),
        Err(error) => return Err(error.into()),
    });
    Ok(lines)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [namespace, name, replicas] = &arguments[..] else {
        return Err("usage: NAMESPACE NAME REPLICAS".into());
    };
    for line in ask(Client::try_default().await?, namespace, name, replicas.parse()?).await? {
        println!("{line}");
    }
    Ok(())
}
