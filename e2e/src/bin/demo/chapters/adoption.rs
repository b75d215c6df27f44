//! A Workload adopts a Deployment that existed before.

use std::collections::BTreeSet;

use baton_apply::ownership::LAST_APPLIED;
use baton_controller::decide::{child::ChildKind, replicas::Replicas};
use baton_e2e::client_side_apply::{self, CLIENT_SIDE};
use baton_merge::yaml;
use k8s_openapi::api::core::v1::Pod;
use kube::{Api, ResourceExt, api::ListParams};

use crate::{
    claims::Claims,
    demo::Demo,
    manifests::{ADOPTING, BEFORE},
    ownership, print,
    recorder::changes,
    replicas::ready,
};

/// The name of the Deployment, and so of the Workload that adopts it.
const SHOP: &str = "shop";

pub(crate) async fn show(demo: &Demo, claims: &mut Claims) -> anyhow::Result<()> {
    print::heading(8, "A Workload adopts an existing Deployment");
    print::text("A team has created this Deployment with client-side apply, and with its own selector:");
    print::code(&format!("$ kubectl apply -f -\n{BEFORE}"));
    client_side_apply::create(&demo.client, demo.namespace.name(), &yaml::from_str(BEFORE)?).await?;
    let deployments = demo.children(ChildKind::Deployment);
    let mut recorder = demo.record(SHOP).await?;
    recorder.until("two pods to be ready", |live| ready(live) == 2).await?;
    let before = pods(demo).await?;
    print::table(&format!("Deployment {SHOP}"), &ownership::table(&deployments.get(SHOP).await?));

    print::text(
        "Baton never overwrites an object that it doesn't own. But this Workload asks it to adopt the Deployment. Its spec has no \
         replica count and no progress deadline:",
    );
    print::code(ADOPTING);
    demo.apply_workload(ADOPTING).await?;
    demo.ready(SHOP, 2).await?;
    recorder.until("the Deployment to have an owner", |live| !live.owner_references().is_empty()).await?;
    let seen = recorder.writes().await?;
    let adopted = deployments.get(SHOP).await?;
    print::table(&format!("Deployment {SHOP}"), &ownership::table(&adopted));
    print::text(
        "No one specifies a replica count any more. The temporary manager handover-to-hpa owns the live count, so it isn't reset.",
    );

    print::gap();
    claims.equal("its pods are the same two as before", &pods(demo).await?, &before)?;
    let numbers: Vec<i32> = changes(seen, |live| Replicas::of(live).count).into_iter().collect();
    claims.equal("the replica count was two all the time", &numbers, &[2])?;
    let leftovers = [
        adopted.managers().iter().any(|manager| manager == CLIENT_SIDE),
        adopted.annotations().contains_key(LAST_APPLIED),
    ];
    claims.equal(
        "client-side apply has left neither an entry nor its annotation",
        &leftovers,
        &[false, false],
    )?;
    claims.equal(
        "the deadline that only kubectl had set is back at its default",
        &adopted.number(&["spec", "progressDeadlineSeconds"]),
        &Some(600),
    )?;
    Ok(())
}

/// The Deployment's pods, by their uids.
async fn pods(demo: &Demo) -> anyhow::Result<BTreeSet<String>> {
    let pods: Api<Pod> = Api::namespaced(demo.client.clone(), demo.namespace.name());
    let pods = pods.list(&ListParams::default().labels("app=shop")).await?;
    Ok(pods.iter().filter_map(ResourceExt::uid).collect())
}
