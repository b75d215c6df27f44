//! The example of `baton-runtime` behaves as its page shows.

#[allow(dead_code, unreachable_pub, reason = "a program of its own, of which only `run` is called")]
#[path = "../../../runtime/examples/leader.rs"]
mod leader;

use baton_apiserver::ApiServer;
use baton_runtime::{cluster::Cluster, signals::Signals};
use baton_testbed::{eventually, net};
use k8s_openapi::api::{coordination::v1::Lease, core::v1::ConfigMap};
use kube::{Api, ResourceExt as _, api::PostParams};
use serde_json::{from_value, json};
use tokio::{net::TcpListener, task::spawn_blocking};

/// The Lease is renewed on a thread of its own, so time isn't paused.
#[tokio::test]
async fn the_example_leads_reconciles_serves_and_releases_its_lease() {
    let server = ApiServer::builder().start().unwrap();
    let (control, signals) = Signals::controlled();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let run = async { leader::run(Cluster::of(server.client()), signals, listener).await.unwrap() };

    let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
    let leases: Api<Lease> = Api::default_namespaced(server.client());
    let holder = async || leases.get("example").await.unwrap().spec.unwrap().holder_identity;
    let watch = async {
        let map = json!({"metadata": {"name": "web", "labels": {"watched": ""}}});
        maps.create(&PostParams::default(), &from_value(map).unwrap()).await.unwrap();
        eventually("the label", async || {
            let map = maps.get("web").await.unwrap();
            if map.labels().contains_key("seen") { Ok(()) } else { Err(map) }
        })
        .await;
        let get = async |path| spawn_blocking(move || net::http_get(address, path).unwrap()).await.unwrap();
        assert_eq!(get("/readyz").await, "ok\n");
        let metrics = get("/metrics").await;
        let requests = r#"example_api_requests_total{verb="apply",resource="configmaps",code="200"}"#;
        assert!(metrics.contains(requests) && metrics.contains("example_leader 1"), "{metrics}");
        assert!(holder().await.is_some_and(|holder| !holder.is_empty()));
        control.stop();
    };
    tokio::join!(run, watch);
    assert_eq!(holder().await.unwrap_or_default(), "", "the next leader needn't wait");
}
