//! The operator on the front page of `baton-apply`, on a real API server: it does what its page says.

scenarios! {
    the_operator_on_the_front_page_skips_no_ops_reports_takeovers_and_hands_a_field_over,
    an_object_from_a_list_is_as_good_as_one_that_was_read_and_one_that_was_not_seen_is_left_as_it_is,
}

#[allow(dead_code, unreachable_pub, reason = "a program of its own, of which only `run` is called")]
#[path = "../../../apply/examples/operator.rs"]
mod operator;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use baton_apply::{
    Applier, Effect, LiveObject, Observer, Options, Outcome, PreparedWrite, SchemaCache, Verdict,
    fieldpath::{Path, PathElement::Field},
    ownership::holders,
};
use baton_e2e::scenarios;
use baton_testbed::{Cluster, definition, eventually};
use k8s_openapi::{
    api::{apps::v1::Deployment, core::v1::ConfigMap},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, CustomResourceExt,
    api::{ListParams, Patch, PatchParams, PostParams},
    core::ApiResource,
};
use operator::{Site, SiteSpec};
use serde_json::json;

const REPLICAS: Path<'static> = Path::new(&[Field("spec"), Field("replicas")]);

/// Remembers how each write ended, in a word and with what was taken.
#[derive(Clone, Default)]
struct Noted(Arc<Mutex<Vec<String>>>);

impl Observer for Noted {
    fn ended(&self, _: &PreparedWrite, _: Effect, outcome: &Outcome) {
        let line = match outcome {
            Outcome::Skipped => "skipped".to_owned(),
            Outcome::Stored { effects, .. } => {
                let takes = effects.takes.iter().map(|take| format!(" {} from {}", take.path, take.manager));
                format!("stored{}", takes.collect::<String>())
            }
            other => format!("{other:?}"),
        };
        self.0.lock().unwrap().push(line);
    }
}

impl Noted {
    fn has(&self, what: &str) -> Result<(), String> {
        let lines = self.0.lock().unwrap();
        if lines.iter().any(|line| line.contains(what)) { Ok(()) } else { Err(format!("{lines:#?}")) }
    }
}

async fn the_operator_on_the_front_page_skips_no_ops_reports_takeovers_and_hands_a_field_over(
    cluster: Cluster,
) {
    let cluster = cluster.clone();
    let client = cluster.admin().await.unwrap();
    let namespace = cluster.namespace("site").await.unwrap();
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    definitions.create(&PostParams::default(), &Site::crd()).await.unwrap();
    definition::established(&client, Site::crd_name()).await.unwrap();
    let noted = Noted::default();
    let running = tokio::spawn(operator::run(client.clone(), noted.clone()));

    let sites: Api<Site> = Api::namespaced(client.clone(), namespace.name());
    let deployments = ApiResource::erase::<Deployment>(&());
    let deployments: Api<LiveObject> = Api::namespaced_with(client.clone(), namespace.name(), &deployments);
    let site = Site::new("web", SiteSpec { image: "site:1".to_owned(), replicas: Some(3) });
    sites.create(&PostParams::default(), &site).await.unwrap();
    let is = async |replicas: i32, image: &str, owners: &[&str]| {
        let live = deployments.get_opt("web").await.unwrap().ok_or("there is no Deployment")?;
        let container = &live.get(&["spec", "template", "spec", "containers"]).unwrap()[0];
        let seen: Vec<String> = holders(&live, REPLICAS).into_iter().map(|holder| holder.manager).collect();
        let is_so = live.number(&["spec", "replicas"]) == Some(replicas)
            && container["image"] == image
            && seen == owners;
        if is_so {
            Ok(())
        } else {
            Err(format!("{:?}, {container}, {seen:?}", live.number(&["spec", "replicas"])))
        }
    };
    eventually("the Deployment", async || is(3, "site:1", &["sites.example.com"]).await).await;

    let touch = Patch::Merge(json!({"metadata": {"annotations": {"touched": "yes"}}}));
    sites.patch("web", &PatchParams::default(), &touch).await.unwrap();
    eventually("a no-op that isn't sent", async || noted.has("skipped")).await;

    let theirs = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {"template": {"spec": {"containers": [{"name": "site", "image": "evil:1"}]}}},
    });
    let forced = PatchParams::apply("rogue").force();
    deployments.patch("web", &forced, &Patch::Apply(&theirs)).await.unwrap();
    let taken = r#".spec.template.spec.containers[name="site"].image from rogue"#;
    eventually("the takeover", async || noted.has(taken)).await;
    eventually("the image", async || is(3, "site:1", &["sites.example.com"]).await).await;

    let without = Patch::Merge(json!({"spec": {"replicas": null}}));
    sites.patch("web", &PatchParams::default(), &without).await.unwrap();
    eventually("the handover", async || is(3, "site:1", &["sites.example.com-handover"]).await).await;
    let scale = Patch::Merge(json!({"spec": {"replicas": 5}}));
    let autoscaler = PatchParams { field_manager: Some("autoscaler".to_owned()), ..PatchParams::default() };
    deployments.patch_scale("web", &autoscaler, &scale).await.unwrap();
    eventually("the autoscaler to own the replica count", async || is(5, "site:1", &["autoscaler"]).await)
        .await;
    running.abort();
}

async fn an_object_from_a_list_is_as_good_as_one_that_was_read_and_one_that_was_not_seen_is_left_as_it_is(
    cluster: Cluster,
) {
    let cluster = cluster.clone();
    let client = cluster.admin().await.unwrap();
    let namespace = cluster.namespace("unread").await.unwrap();
    let config_maps = ApiResource::erase::<ConfigMap>(&());
    let limit = Duration::from_secs(30);
    let schemas = SchemaCache::new(client.clone(), [config_maps.clone()], limit);
    let refreshing = tokio::spawn(schemas.clone().keep_current(Duration::from_mins(10)));
    let applier = Applier::new(client.clone(), Some(schemas), limit);
    applier.ready().await;
    let apply = async |live: Option<&LiveObject>, manager: &str, value: &str| {
        let intent = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": namespace.name()},
            "data": {"host": value},
        });
        applier.apply(&config_maps, live, intent, Options::forced(manager)).await
    };

    let made = apply(None, "one", "a").await;
    assert!(matches!(made, Outcome::Stored { verdict: Some(Verdict::Match), .. }), "{made:?}");
    let api: Api<LiveObject> = Api::namespaced_with(client, namespace.name(), &config_maps);
    let listed = api.list(&ListParams::default().fields("metadata.name=web")).await.unwrap().items;
    assert_eq!(listed[0].get(&["kind"]), None, "the server leaves it out in a list");
    let again = apply(Some(&listed[0]), "one", "a").await;
    assert!(matches!(again, Outcome::Skipped), "{again:?}");

    let refused = apply(None, "another", "b").await;
    assert!(matches!(refused, Outcome::Stale { expected: false, .. }), "{refused:?}");
    let kept = api.get("web").await.unwrap();
    assert_eq!(kept.get(&["data", "host"]), Some(&json!("a")));
    refreshing.abort();
}
