//! The examples of `baton-apply`: the operator of `docs/build-your-own.md` does and prints what its page says, the loop of the README
//! and the smaller ones do what they say.

scenarios! {
    the_operator_of_the_tutorial_prints_what_its_page_shows,
    the_loop_of_the_readme_creates_takes_back_and_rests,
    a_dry_run_shows_a_change_and_a_conflict,
    a_released_field_keeps_its_value,
    an_apply_can_use_an_object_from_a_list_and_never_changes_an_object_that_was_not_read,
    an_intent_that_is_spelled_as_the_server_does_rests,
    the_status_is_applied_through_its_subresource,
    what_can_not_be_written_is_refused_with_what_to_do,
}

#[allow(dead_code, unreachable_pub, reason = "a program of its own, of which only `ask` is called")]
#[path = "../../../apply/examples/dry_run.rs"]
mod dry_run;
#[allow(dead_code, unreachable_pub, reason = "a program of its own, of which only `run` is called")]
#[path = "../../../apply/examples/operator.rs"]
mod operator;
#[allow(dead_code, unreachable_pub, reason = "a program of its own, of which only the loop is called")]
#[path = "../../../apply/examples/reconcile.rs"]
mod reconcile;
#[allow(dead_code, unreachable_pub, reason = "a program of its own, of which only `release` is called")]
#[path = "../../../apply/examples/release.rs"]
mod release;

use std::{
    error::Error,
    fs,
    sync::{Arc, Mutex},
    time::Duration,
};

use baton_apiserver::{Actor, ApiServer};
use baton_apply::{
    Applier, ApplyError, ApplyOutcome, Comparison, LiveObject, Options, SchemaCache, Target,
    fieldpath::{Path, PathElement::Field},
    ownership::owners,
};
use baton_e2e::{
    guide::{self, Block},
    scenarios,
};
use baton_testbed::{Cluster, crd, eventually};
use k8s_openapi::{
    api::{apps::v1::Deployment, core::v1::ConfigMap},
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, CustomResourceExt,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams},
    core::{ApiResource, GroupVersionKind},
};
use operator::{Log, Site, SiteSpec, run};
use serde_json::{Value, json};

const REPLICAS: Path<'static> = Path::new(&[Field("spec"), Field("replicas")]);

const PAGE: &str = "docs/build-your-own.md";
/// The steps of the page below which commands are typed, by their headings.
const STEPS: [&str; 8] = [
    "A Site becomes a Deployment",
    "A write that changes nothing is skipped",
    "A takeover is logged",
    "The replica count is handed over",
    "The replica count is taken back",
    "A contested Deployment is paused",
    "Another Deployment is left as it is",
    "The Deployment goes with its Site",
];

/// The blocks of one kind in the page.
fn blocks(kind: &str) -> Vec<Block> {
    let mut blocks = guide::page(PAGE).unwrap();
    blocks.retain(|block| block.kind == kind);
    blocks
}

/// The lines in the blocks of one kind below a heading of the page, up to the next heading.
fn lines(kind: &str, heading: &str) -> Vec<String> {
    let mut blocks = blocks(kind);
    blocks.retain(|block| block.heading == heading);
    blocks.iter().flat_map(|block| block.text.lines()).map(str::to_owned).collect()
}

/// The lines that the operator has printed since the step before.
#[derive(Clone, Default)]
struct Terminal(Arc<Mutex<Vec<String>>>);

impl Terminal {
    fn log(&self) -> Log {
        let printed = self.0.clone();
        Log(Arc::new(move |line| printed.lock().unwrap().push(line)))
    }

    /// Waits until the operator has printed what the page shows below a heading. Lines that depend on when the
    /// Deployment's status changes may come between.
    async fn shows(&self, heading: &str, namespace: &str) {
        let shown = lines("text", heading);
        let shown: Vec<_> =
            shown.iter().map(|line| line.replace(" default/", &format!(" {namespace}/"))).collect();
        let depends = |line: &&String| line.contains(": skipped, ") || line.contains(": refused, ");
        let certain = |lines: &[String]| -> Vec<String> {
            lines.iter().filter(|line| !depends(line)).cloned().collect()
        };
        eventually(heading, async || {
            let mut printed = self.0.lock().unwrap();
            let is_shown =
                certain(&printed) == certain(&shown) && shown.iter().all(|line| printed.contains(line));
            if !is_shown {
                return Err(format!("{printed:#?}, not {shown:#?}"));
            }
            printed.clear();
            Ok(())
        })
        .await;
    }
}

#[test]
fn the_blocks_of_the_tutorial_are_the_whole_example_in_its_order() {
    let blocks = blocks("rust");
    let (tutorial, tests): (Vec<_>, Vec<_>) = blocks.iter().partition(|block| block.heading != "Test it");
    let mut left = include_str!("../../../apply/examples/operator.rs");
    for Block { text, .. } in tutorial {
        let next = left.trim_start_matches('\n');
        left =
            next.strip_prefix(&**text).unwrap_or_else(|| panic!("the page has\n{text}\nthe example\n{next}"));
    }
    assert_eq!(left.trim_start_matches('\n'), "", "the page leaves this out");
    assert!(!tests.is_empty());
    for Block { text, .. } in tests {
        assert!(include_str!("engine.rs").contains(&**text), "no test of this file:\n{text}");
    }
}

#[test]
fn the_block_of_the_readme_is_its_example() {
    let readme = include_str!("../../../apply/README.md");
    let (_, block) = readme.split_once("```rust\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    let example = include_str!("../../../apply/examples/reconcile.rs");
    assert!(example.contains(block), "the README has\n{block}\nthe example\n{example}");
}

#[tokio::test(start_paused = true)]
async fn a_site_gets_a_deployment_that_is_written_once() -> Result<(), Box<dyn Error>> {
    let server = ApiServer::builder().crd::<Site>().actors(Actor::all()).start()?;
    tokio::spawn(run(server.client(), Log(Arc::new(|line| println!("{line}")))));

    let sites: Api<Site> = Api::default_namespaced(server.client());
    let spec = SiteSpec { image: "nginx:1.29".to_owned(), replicas: Some(3) };
    sites.create(&PostParams::default(), &Site::new("web", spec)).await?;

    // The clock jumps when nothing is left to do, so this takes milliseconds.
    tokio::time::sleep(Duration::from_mins(10)).await;
    let web = Api::<Deployment>::default_namespaced(server.client()).get("web").await?;
    assert_eq!(web.status.and_then(|status| status.ready_replicas), Some(3));
    assert_eq!(web.metadata.generation, Some(1), "no second write of the spec");
    Ok(())
}

#[tokio::test]
#[ignore = "by kubectl"]
async fn each_command_of_the_tutorial_does_what_its_page_shows() {
    let server = ApiServer::builder().crd::<Site>().actors(Actor::all()).start().unwrap();
    let serving = server.serve("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    fs::write(&kubeconfig, serving.kubeconfig()).unwrap();
    let terminal = Terminal::default();
    let running = tokio::spawn(run(server.client(), terminal.log()));

    for step in STEPS {
        let mut typed = String::new();
        for commands in guide::commands(PAGE, step).unwrap() {
            typed += &guide::run(&kubeconfig, &commands).await.unwrap();
        }
        terminal.shows(step, "default").await;
        for line in lines("console", step) {
            assert!(typed.lines().any(|typed| typed.trim_end() == line), "{line}\n\nkubectl:\n{typed}");
        }
    }
    running.abort();
}

async fn the_operator_of_the_tutorial_prints_what_its_page_shows(cluster: Cluster) {
    let client = cluster.admin().await.unwrap();
    let namespace = cluster.namespace("site").await.unwrap();
    let namespace = namespace.name();
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    crds.create(&PostParams::default(), &Site::crd()).await.unwrap();
    crd::established(&client, Site::crd_name()).await.unwrap();
    let terminal = Terminal::default();
    let running = tokio::spawn(run(client.clone(), terminal.log()));

    let sites: Api<Site> = Api::namespaced(client.clone(), namespace);
    let deployments = ApiResource::erase::<Deployment>(&());
    let deployments: Api<LiveObject> = Api::namespaced_with(client.clone(), namespace, &deployments);
    let create = async |name: &str, replicas: Option<i32>| {
        let spec = SiteSpec { image: "nginx:1.29".to_owned(), replicas };
        sites.create(&PostParams::default(), &Site::new(name, spec)).await.unwrap();
    };
    let edit = async |change: Value| {
        sites.patch("web", &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
    };
    let as_manager =
        |manager: &str| PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
    let set_image = async || {
        let change =
            json!({"spec": {"template": {"spec": {"containers": [{"name": "site", "image": "nginx:1.0"}]}}}});
        deployments.patch("web", &as_manager("kubectl-set"), &Patch::Strategic(change)).await.unwrap();
        eventually("the image", async || {
            let live = deployments.get("web").await.unwrap();
            let containers = live.get(&["spec", "template", "spec", "containers"]).unwrap();
            if containers[0]["image"] == "nginx:1.29" { Ok(()) } else { Err(containers.clone()) }
        })
        .await;
    };
    let owned = async |replicas: i32, owner: &str| {
        let live = deployments.get("web").await.unwrap();
        let owners: Vec<String> = owners(&live, REPLICAS).into_iter().map(|owner| owner.manager).collect();
        assert_eq!((live.number(&["spec", "replicas"]), owners), (Some(replicas), vec![owner.to_owned()]));
    };

    create("web", Some(3)).await;
    terminal.shows(STEPS[0], namespace).await;
    owned(3, "sites.example.com").await;

    edit(json!({"metadata": {"annotations": {"note": "hello"}}})).await;
    terminal.shows(STEPS[1], namespace).await;

    set_image().await;
    terminal.shows(STEPS[2], namespace).await;

    edit(json!({"spec": {"replicas": null}})).await;
    terminal.shows(STEPS[3], namespace).await;
    owned(3, "sites.example.com-handover").await;

    let scale = Patch::Merge(json!({"spec": {"replicas": 5}}));
    deployments.patch_scale("web", &as_manager("kubectl"), &scale).await.unwrap();
    owned(5, "kubectl").await;
    edit(json!({"spec": {"replicas": 2}})).await;
    terminal.shows(STEPS[4], namespace).await;
    owned(2, "sites.example.com").await;

    for _ in 0..3 {
        set_image().await;
    }
    terminal.shows(STEPS[5], namespace).await;

    let theirs = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop"}, "spec": {
        "selector": {"matchLabels": {"app": "shop"}},
        "template": {"metadata": {"labels": {"app": "shop"}}, "spec": {"containers": [{"name": "nginx", "image": "nginx"}]}},
    }});
    deployments.patch("shop", &PatchParams::apply("kubectl-create"), &Patch::Apply(theirs)).await.unwrap();
    create("shop", None).await;
    terminal.shows(STEPS[6], namespace).await;

    sites.delete("web", &DeleteParams::background()).await.unwrap();
    eventually("the Deployment to be gone", async || match deployments.get_opt("web").await.unwrap() {
        None => Ok(()),
        Some(live) => Err(live),
    })
    .await;
    terminal.shows(STEPS[7], namespace).await;
    running.abort();
}

async fn the_loop_of_the_readme_creates_takes_back_and_rests(cluster: Cluster) {
    let client = cluster.admin().await.unwrap();
    let namespace = cluster.namespace("readme").await.unwrap();
    let applier = reconcile::applier(client.clone()).await;
    let metadata = json!({"name": "settings", "namespace": namespace.name()});
    let intent: ConfigMap =
        serde_json::from_value(json!({"metadata": metadata, "data": {"color": "green"}})).unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client, namespace.name());
    let color = |map: &ConfigMap| map.data.as_ref().unwrap()["color"].clone();

    reconcile::reconcile(&applier, &intent).await.unwrap();
    let made = maps.get("settings").await.unwrap();
    assert_eq!(color(&made), "green");
    reconcile::reconcile(&applier, &intent).await.unwrap();
    assert_eq!(maps.get("settings").await.unwrap().metadata.resource_version, made.metadata.resource_version);

    let red = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"color": "red"}});
    let params = PatchParams::apply("someone").force();
    assert_eq!(color(&maps.patch("settings", &params, &Patch::Apply(red)).await.unwrap()), "red");
    reconcile::reconcile(&applier, &intent).await.unwrap();
    assert_eq!(color(&maps.get("settings").await.unwrap()), "green");
}

/// A paused Deployment `web` as `me` applies it, with this replica count.
fn paused(namespace: &str, replicas: Option<i32>) -> Value {
    let pod = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}});
    let mut spec = json!({"paused": true, "selector": {"matchLabels": {"app": "web"}}, "template": pod});
    if let Some(replicas) = replicas {
        spec["replicas"] = replicas.into();
    }
    let metadata = json!({"name": "web", "namespace": namespace});
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})
}

async fn a_dry_run_shows_a_change_and_a_conflict(cluster: Cluster) {
    let client = cluster.admin().await.unwrap();
    let namespace = cluster.namespace("dry-run").await.unwrap();
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace.name());
    let apply = async |replicas: Option<i32>| {
        let intent = Patch::Apply(paused(namespace.name(), replicas));
        deployments.patch("web", &PatchParams::apply("me"), &intent).await.unwrap();
    };
    let ask = async || {
        // Its controller writes the status, and then the dry run isn't about the object that was read.
        eventually("two lines", async || dry_run::ask(client.clone(), namespace.name(), "web", 5).await).await
    };
    apply(None).await;
    let lines = ask().await;
    assert_eq!(lines[0], "predicted: sets .spec.replicas");
    assert!(lines[1].starts_with("dry run: the response compares as Some("), "{lines:?}");
    assert!(!lines[1].contains("Mismatch"), "{lines:?}");

    apply(Some(3)).await;
    let conflict = "Apply failed with 1 conflict: conflict with \"me\": .spec.replicas";
    assert_eq!(ask().await, [format!("predicted: {conflict}"), format!("dry run: {conflict}")]);
    assert_eq!(deployments.get("web").await.unwrap().spec.unwrap().replicas, Some(3));
}

async fn a_released_field_keeps_its_value(cluster: Cluster) {
    let client = cluster.admin().await.unwrap();
    let namespace = cluster.namespace("release").await.unwrap();
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), namespace.name());
    let intent = paused(namespace.name(), Some(3));
    deployments.patch("web", &PatchParams::apply("me"), &Patch::Apply(&intent)).await.unwrap();
    let owners = eventually("its release", async || {
        // Its controller may write at the same time.
        release::release(client.clone(), "me", intent.clone()).await
    })
    .await;
    assert_eq!(owners, ["me-handover"]);
    assert_eq!(deployments.get("web").await.unwrap().spec.unwrap().replicas, Some(3));
}

async fn an_apply_can_use_an_object_from_a_list_and_never_changes_an_object_that_was_not_read(
    cluster: Cluster,
) {
    let cluster = cluster.clone();
    let client = cluster.admin().await.unwrap();
    let namespace = cluster.namespace("unread").await.unwrap();
    let config_maps = ApiResource::erase::<ConfigMap>(&());
    let applier = applier(&cluster, std::slice::from_ref(&config_maps)).await;
    let apply = async |live: Option<&LiveObject>, manager: &str, value: &str| {
        let intent = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web", "namespace": namespace.name()},
            "data": {"host": value},
        });
        applier.apply_json(&config_maps, live, intent, Options::forced(manager)).await
    };

    let made = apply(None, "one", "a").await.unwrap();
    assert_eq!(made.comparison, Some(Comparison::Match));
    let api: Api<LiveObject> = Api::namespaced_with(client, namespace.name(), &config_maps);
    let listed = api.list(&ListParams::default().fields("metadata.name=web")).await.unwrap().items;
    assert_eq!(listed[0].get(&["kind"]), None, "the server leaves it out in a list");
    assert!(!apply(Some(&listed[0]), "one", "a").await.unwrap().sent);

    let refused = apply(None, "another", "b").await;
    assert!(matches!(refused, Err(ApplyError::Stale(_))), "{refused:?}");
    let kept = api.get("web").await.unwrap();
    assert_eq!(kept.get(&["data", "host"]), Some(&json!("a")));
}

/// Intents whose lists the server fills in and merges as a whole.
fn filled_in() -> [Value; 7] {
    let labels = json!({"app": "db"});
    let pod = json!({"containers": [{"name": "db", "image": "db:1"}]});
    let claim = json!({"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1024Mi"}}}});
    let template = json!({"metadata": {"labels": labels}, "spec": pod});
    let failure = json!({"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]});
    let job_pod = json!({"spec": {"restartPolicy": "Never", "containers": pod["containers"]}});
    let user = json!([{"kind": "User", "name": "jane"}, {"kind": "ServiceAccount", "name": "db", "namespace": "default"}]);
    [
        json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "spec": {
            "serviceName": "db", "selector": {"matchLabels": labels}, "template": template, "volumeClaimTemplates": [claim]}}),
        json!({"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": job_pod, "podFailurePolicy": failure, "suspend": true}}),
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "spec": {"podSelector": {}, "ingress": [{"ports": [{"port": 80}]}]}}),
        json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "roleRef": {"kind": "Role", "name": "db"}, "subjects": user}),
        json!({"apiVersion": "v1", "kind": "LimitRange", "spec": {"limits": [{"type": "Container", "max": {"cpu": "2000m"}}]}}),
        json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": claim["spec"]}),
        json!({"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
            "endpoints": [{"addresses": ["10.1.2.3"]}], "ports": [{"port": 80}]}),
    ]
}

/// An applier that knows these kinds.
async fn applier(cluster: &Cluster, kinds: &[ApiResource]) -> Applier {
    let (client, limit) = (cluster.admin().await.unwrap(), Duration::from_secs(30));
    let schemas = SchemaCache::new(client.clone(), kinds.iter().cloned(), limit);
    schemas.load().await.unwrap();
    Applier::new(client, Some(schemas), limit)
}

async fn an_intent_that_is_spelled_as_the_server_does_rests(cluster: Cluster) {
    let cluster = cluster.clone();
    let namespace = cluster.namespace("rests").await.unwrap();
    let intents = filled_in().map(|mut intent| {
        intent["metadata"] = json!({"name": "db", "namespace": namespace.name()});
        intent
    });
    let kind_of = |intent: &Value| {
        let types = serde_json::from_value(intent.clone()).unwrap();
        ApiResource::from_gvk(&GroupVersionKind::try_from(&types).unwrap())
    };
    let kinds: Vec<ApiResource> = intents.iter().map(|intent: &Value| kind_of(intent)).collect();
    let applier = applier(&cluster, &kinds).await;
    for (intent, kind) in intents.into_iter().zip(&kinds) {
        let target = Target::new(kind.clone(), Some(namespace.name().to_owned()), "db");
        let intent = applier.schemas().minimal(kind, intent);
        let made = applier.apply_json(kind, None, intent.clone(), Options::forced("me")).await;
        assert!(made.unwrap().changed, "{target}");
        let live = applier.read(&target).await.unwrap();
        let again = applier.apply_json(kind, live.as_ref(), intent, Options::forced("me")).await;
        assert!(!again.unwrap().sent, "{target}");
    }
}

async fn the_status_is_applied_through_its_subresource(cluster: Cluster) {
    let cluster = cluster.clone();
    let namespace = cluster.namespace("status").await.unwrap();
    let deployments = ApiResource::erase::<Deployment>(&());
    let applier = applier(&cluster, std::slice::from_ref(&deployments)).await;
    let target = Target::new(deployments.clone(), Some(namespace.name().to_owned()), "web");
    let apply = async |live: Option<&LiveObject>, of: &str, value: Value, options: Options<'static>| {
        let metadata = json!({"name": "web", "namespace": namespace.name()});
        let mut intent = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata});
        intent[of] = value;
        applier.apply_json(&deployments, live, intent, options).await
    };
    let pod = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "image": "app:1"}]}});
    let spec =
        json!({"replicas": 0, "paused": true, "selector": {"matchLabels": {"app": "web"}}, "template": pod});
    apply(None, "spec", spec, Options::forced("me")).await.unwrap();

    let status = Options::forced("reporter").subresource("status");
    let condition = json!({"conditions": [{"type": "Happy", "status": "True"}]});
    let stored = async |live: Option<LiveObject>, always_send: bool| {
        apply(live.as_ref(), "status", condition.clone(), status.always_send(always_send)).await
    };
    // A controller may write at the same time.
    assert!(stored(applier.read(&target).await.unwrap(), false).await.unwrap().changed);
    eventually("a write that changes nothing", async || {
        match stored(applier.read(&target).await.unwrap(), true).await {
            Ok(ApplyOutcome { changed: false, .. }) => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
}

async fn what_can_not_be_written_is_refused_with_what_to_do(cluster: Cluster) {
    let cluster = cluster.clone();
    let namespace = cluster.namespace("misuse").await.unwrap();
    let config_maps = ApiResource::erase::<ConfigMap>(&());
    let applier = applier(&cluster, std::slice::from_ref(&config_maps)).await;
    let apply = async |live: Option<&LiveObject>, metadata: Value| {
        let intent =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1"}});
        applier.apply_json(&config_maps, live, intent, Options::forced("me")).await
    };
    let refusal = |outcome: Result<ApplyOutcome, ApplyError>| outcome.unwrap_err().to_string();
    let nameless = refusal(apply(None, json!({"namespace": namespace.name()})).await);
    assert_eq!(nameless, "the intent of a ConfigMap has no metadata.name");
    let outside = refusal(apply(None, json!({"name": "a"})).await);
    assert!(
        outside.ends_with("if its objects are in namespaces, the intent needs metadata.namespace"),
        "{outside}"
    );

    let metadata = |name: &str| json!({"name": name, "namespace": namespace.name()});
    let other = apply(None, metadata("other")).await.unwrap().object;
    let wrong = refusal(apply(Some(&other), metadata("a")).await);
    let name = namespace.name();
    assert_eq!(
        wrong,
        format!(
            "the live object is {name}/other, and ConfigMap {name}/a is written: read the object that is written"
        )
    );
    let unread = refusal(apply(None, metadata("other")).await);
    assert!(unread.starts_with("it exists, though none was read: "), "{unread}");
}
