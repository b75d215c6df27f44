//! Releases `spec.replicas` of a Deployment without a change of its value: another manager, such as an autoscaler, sets it from now on.
//!
//! An apply that leaves a field out removes it if no other manager owns it. So a temporary manager owns it first.

use std::{env, error::Error, time::Duration};

use baton_apply::{
    Applier, Options, SchemaCache, Target,
    fieldpath::{Path, PathElement::Field},
    ownership::{hand_over, owners},
};
use k8s_openapi::api::apps::v1::Deployment;
use kube::{Client, core::ApiResource};
use serde_json::Value;

const REPLICAS: Path<'static> = Path::new(&[Field("spec"), Field("replicas")]);

/// Releases the field for a manager that has applied it. `intent` is what the manager applies, with the field or without.
pub async fn release(
    client: Client,
    manager: &str,
    mut intent: Value,
) -> Result<Vec<String>, Box<dyn Error>> {
    let (kind, limit) = (ApiResource::erase::<Deployment>(&()), Duration::from_secs(30));
    let schemas = SchemaCache::new(client.clone(), [kind.clone()], limit);
    schemas.load().await?;
    let applier = Applier::new(client, Some(schemas), limit);
    let metadata = &intent["metadata"];
    let namespace = metadata["namespace"].as_str().map(str::to_owned);
    let target = Target::new(kind.clone(), namespace, metadata["name"].as_str().unwrap_or_default());

    let mut live = applier.read(&target).await?.ok_or("there is no such Deployment")?;
    if owners(&live, REPLICAS).iter().all(|owner| owner.manager == manager) {
        let temporary = format!("{manager}-handover");
        let request = hand_over(target, &live, REPLICAS, temporary).ok_or("it has no replica count")?;
        live = applier.write(request, &live).await?.object;
    }
    if let Some(spec) = intent["spec"].as_object_mut() {
        spec.remove("replicas");
    }
    // Guarded: the value stays only while another manager owns it.
    let options = Options::forced(manager).guarded();
    let released = applier.apply_json(&kind, Some(&live), intent, options).await?.object;
    Ok(owners(&released, REPLICAS).into_iter().map(|owner| owner.manager).collect())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let manager = env::args().nth(1).ok_or("usage: MANAGER < INTENT.json")?;
    let intent = serde_json::from_reader(std::io::stdin())?;
    println!("owned by {:?}", release(Client::try_default().await?, &manager, intent).await?);
    Ok(())
}
