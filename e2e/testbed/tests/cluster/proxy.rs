//! The proxy in front of a real API server: a client is served through it as without it, until a rule says
//! otherwise.

use std::time::{Duration, Instant};

use baton_testbed::{
    Action, Cluster, Crash, CrashPoint, Namespace, PATIENCE, Proxy, RequestInfo, Side, eventually,
};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt as _,
    api::{
        DeleteParams, GetParams, ListParams, Patch, PatchParams, PostParams, Request, WatchEvent, WatchParams,
    },
};
use serde_json::{Value, json};

/// A namespace, a client that reaches it by way of a proxy with these rules, and the administrator's, that doesn't.
struct Scene {
    namespace: Namespace,
    proxied: Client,
    direct: Client,
    proxy: Proxy,
}

impl Scene {
    async fn start(name: &str, rules: impl Fn(&RequestInfo) -> Action + Send + Sync + 'static) -> Self {
        let cluster = Cluster::shared().await;
        let namespace = cluster.namespace(name).await.unwrap();
        let account = format!("--serviceaccount={namespace}:editor");
        for line in [
            &["create", "serviceaccount", "editor"][..],
            &["create", "rolebinding", "editor", "--clusterrole=edit", &account],
        ] {
            let args = line.iter().copied().chain(["--namespace", namespace.name()]);
            cluster.real().kubectl(args).await.unwrap().success().unwrap();
        }
        let proxy = Proxy::start(&cluster, rules).await.unwrap();
        let proxied = cluster.client_by_way_of(&proxy.route(), namespace.name(), "editor").await.unwrap();
        let direct = cluster.admin().await.unwrap();
        let scene = Self { namespace, proxied, direct, proxy };
        scene.until_allowed().await;
        scene
    }

    /// A role binding counts a moment after it was made.
    async fn until_allowed(&self) {
        let maps = self.maps(&self.proxied);
        eventually("the role binding to count", async || maps.list(&ListParams::default()).await).await;
    }

    fn maps(&self, client: &Client) -> Api<ConfigMap> {
        Api::namespaced(client.clone(), self.namespace.name())
    }

    /// Applies a `ConfigMap` through the proxy.
    async fn apply(&self, name: &str) -> kube::Result<ConfigMap> {
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "1"}});
        self.maps(&self.proxied).patch(name, &PatchParams::apply("test"), &Patch::Apply(map)).await
    }

    /// Whether there is such a `ConfigMap`, without the proxy.
    async fn stored(&self, name: &str) -> bool {
        self.maps(&self.direct).get_opt(name).await.unwrap().is_some()
    }

    async fn get(&self, path: &str) -> kube::Result<Value> {
        let request = Request::new("").get(path.trim_start_matches('/'), &GetParams::default()).unwrap();
        self.proxied.request(request).await
    }
}

fn map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()
}

#[tokio::test]
#[ignore = "on a real control plane"]
async fn a_client_reads_and_writes_through_the_proxy_as_itself() {
    let scene = Scene::start("through", |_| Action::Forward).await;
    let audit = Cluster::shared().await.audit().unwrap();
    let maps = scene.maps(&scene.proxied);
    maps.create(&PostParams::default(), &map("created")).await.unwrap();
    let names: Vec<_> =
        maps.list(&ListParams::default()).await.unwrap().iter().map(ConfigMap::name_any).collect();
    assert!(names.contains(&"created".to_owned()), "{names:?}");

    let user = format!("system:serviceaccount:{}:editor", scene.namespace);
    let created = async || audit.wait_for(PATIENCE, |log| log.verb("create").name("created").by(&user)).await;
    assert_eq!(created().await.unwrap()[0].code, Some(201));
    let refused = maps.get("missing").await.unwrap_err().to_string();
    assert!(refused.contains("not found"), "a failure is passed on too: {refused}");
}

#[tokio::test]
#[ignore = "on a real control plane"]
async fn the_events_of_a_watch_flow_while_it_is_open() {
    let scene = Scene::start("watch", |_| Action::Forward).await;
    let params = WatchParams::default().disable_bookmarks().fields("metadata.name!=kube-root-ca.crt");
    let mut events = scene.maps(&scene.proxied).watch(&params, "0").await.unwrap().boxed();
    for name in ["first", "second"] {
        scene.maps(&scene.direct).create(&PostParams::default(), &map(name)).await.unwrap();
        let event = tokio::time::timeout(PATIENCE, events.try_next()).await.unwrap().unwrap().unwrap();
        assert!(matches!(&event, WatchEvent::Added(map) if map.name_any() == name), "{event:?}");
    }
}

#[tokio::test]
#[ignore = "on a real control plane"]
async fn a_document_can_be_made_to_say_something_else() {
    let retype = |document: &mut Value| {
        document["components"]["schemas"]["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["replicas"]["type"] =
            json!("string");
    };
    let scene = Scene::start("rewritten", move |request| match request.path.as_str() {
        "/openapi/v3/apis/apps/v1" => Action::rewrite(retype),
        _ => Action::Forward,
    })
    .await;
    let replicas = async |path: &str| {
        let document = scene.get(path).await.unwrap();
        document["components"]["schemas"]["io.k8s.api.apps.v1.DeploymentSpec"]["properties"]["replicas"]
            .clone()
    };
    assert_eq!(replicas("/openapi/v3/apis/apps/v1").await["type"], "string");
    assert_eq!(replicas("/openapi/v3/apis/apps/v1").await["format"], "int32", "the rest is as it was");
    let missing = scene.get("/openapi/v3/apis/apps/v1beta1").await.unwrap_err();
    assert!(missing.to_string().contains("404"), "{missing}");
}

#[tokio::test]
#[ignore = "on a real control plane"]
async fn a_rule_can_respond_in_the_place_of_the_server() {
    // Of 429, 503 and 504 the client says nothing for minutes: it tries again.
    let scene = Scene::start("answered", |request| match request.path.as_str() {
        "/openapi/v3" => Action::fail(500, "InternalError", "not today"),
        _ => Action::Forward,
    })
    .await;
    match scene.get("/openapi/v3").await.unwrap_err() {
        kube::Error::Api(status) => {
            assert_eq!((status.code, &*status.reason, &*status.message), (500, "InternalError", "not today"));
        }
        error => panic!("{error:?}"),
    }
    scene.get("/version").await.unwrap();
}

#[tokio::test]
#[ignore = "on a real control plane"]
async fn the_connection_is_cut_before_or_after_the_nth_write() {
    let scene = Scene::start("cut", |request| match request.write {
        Some(2) => Action::Cut,
        Some(3) => Action::after(Action::Cut),
        _ => Action::Forward,
    })
    .await;
    scene.apply("forwarded").await.unwrap();
    let error = scene.apply("cut-before").await.unwrap_err();
    assert!(!matches!(error, kube::Error::Api(_)), "no answer is what the client gets: {error:?}");
    assert!(!scene.stored("cut-before").await);
    let error = scene.apply("cut-after").await.unwrap_err();
    assert!(!matches!(error, kube::Error::Api(_)), "no answer is what the client gets: {error:?}");
    assert!(scene.stored("cut-after").await);
    scene.apply("forwarded-again").await.unwrap();
    assert!(scene.stored("forwarded").await && scene.stored("forwarded-again").await);
}

#[tokio::test]
#[ignore = "on a real control plane"]
async fn a_dry_run_of_a_deletion_is_no_write() {
    let scene = Scene::start("tried", |_| Action::Forward).await;
    scene.apply("kept").await.unwrap();
    let writes = scene.proxy.writes();
    let tried = DeleteParams { dry_run: true, ..DeleteParams::default() };
    scene.maps(&scene.proxied).delete("kept", &tried).await.unwrap();
    assert_eq!(scene.proxy.writes(), writes);
    assert!(scene.stored("kept").await);
}

#[tokio::test]
#[ignore = "on a real control plane"]
async fn after_a_crash_nothing_reaches_the_server_any_more() {
    for (side, answer) in [(Side::Before, None), (Side::After, Some(201))] {
        let crash = Crash::at(CrashPoint { write: 2, side });
        let scene = Scene::start("crash", crash.rule()).await;
        crash.arm();
        scene.apply("first").await.unwrap();
        scene.apply("second").await.unwrap_err();
        let cut = scene.proxy.cut().await;
        assert_eq!((cut.response, cut.request.path.rsplit('/').next().unwrap()), (answer, "second"));
        assert_eq!(scene.stored("second").await, answer.is_some());

        let later = tokio::time::timeout(Duration::from_millis(300), scene.apply("third"));
        assert!(later.await.is_err(), "it is neither passed on nor gets a response");
        assert!(!scene.stored("third").await);
    }
}

/// A watch of the scene's `ConfigMap`s by way of the proxy.
async fn watch(
    scene: &Scene,
) -> kube::Result<impl futures::Stream<Item = kube::Result<WatchEvent<ConfigMap>>>> {
    let params = WatchParams::default().disable_bookmarks().fields("metadata.name!=kube-root-ca.crt");
    Ok(scene.maps(&scene.proxied).watch(&params, "0").await?.boxed())
}

#[tokio::test]
#[ignore = "on a real control plane"]
async fn watches_that_are_open_are_cut_and_later_ones_are_not() {
    let scene = Scene::start("cut-watches", |_| Action::Forward).await;
    for name in ["first", "second"] {
        let mut events = watch(&scene).await.unwrap();
        scene.maps(&scene.direct).create(&PostParams::default(), &map(name)).await.unwrap();
        assert!(matches!(events.try_next().await, Ok(Some(WatchEvent::Added(_)))));
        scene.proxy.cut_watches();
        let rest = events.map(drop).collect::<Vec<_>>();
        tokio::time::timeout(PATIENCE, rest).await.expect("the watch goes on");
    }
}

#[tokio::test]
#[ignore = "on a real control plane"]
async fn a_watch_can_be_given_only_so_much_time() {
    const TIME: Duration = Duration::from_millis(300);
    let scene = Scene::start("short-watch", |request| {
        if request.is_watch() { Action::CutLater(TIME) } else { Action::Forward }
    })
    .await;
    let began = Instant::now();
    let events = watch(&scene).await.unwrap().map(drop).collect::<Vec<_>>();
    tokio::time::timeout(PATIENCE, events).await.unwrap();
    assert!(began.elapsed() >= TIME);
}

#[tokio::test]
#[ignore = "on a real control plane"]
async fn the_version_of_a_watch_can_be_gone_in_two_ways() {
    let scene = Scene::start("gone", |request| match request.query("resourceVersion") {
        Some("0") if request.is_watch() => Action::gone_event(),
        _ if request.is_watch() => Action::gone(),
        _ => Action::Forward,
    })
    .await;
    let event = watch(&scene).await.unwrap().try_next().await;
    assert!(matches!(&event, Ok(Some(WatchEvent::Error(status))) if status.code == 410), "{event:?}");
    let refused = scene.maps(&scene.proxied).watch(&WatchParams::default(), "1").await.map(drop);
    assert!(matches!(&refused, Err(kube::Error::Api(status)) if status.code == 410), "{refused:?}");
}

#[tokio::test]
#[ignore = "on a real control plane"]
async fn another_writer_can_be_made_faster() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let scene = Scene::start("faster", move |request| match request.write {
        Some(1) => {
            let sender = sender.clone();
            Action::behind(async move { sender.send(Instant::now()).unwrap() })
        }
        _ => Action::Forward,
    })
    .await;
    scene.apply("later").await.unwrap();
    assert!(receiver.recv().unwrap() < Instant::now() && scene.stored("later").await);
}

#[tokio::test]
#[ignore = "on a real control plane"]
async fn a_write_can_be_made_to_come_late() {
    const LATE: Duration = Duration::from_millis(300);
    let scene = Scene::start("late", |request| match request.write {
        Some(_) => Action::Delay(LATE),
        None => Action::Forward,
    })
    .await;
    let began = Instant::now();
    scene.apply("late").await.unwrap();
    assert!(began.elapsed() >= LATE);
}
