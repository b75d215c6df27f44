//! The proxy in front of a real API server: single requests, a watch, and a crash. The faults are those of the API server in the
//! process, whose scenarios have each of them.

use std::time::Duration;

use baton_testbed::{
    Action, Cluster, Crash, CrashPoint, Namespace, PATIENCE, Proxy, RequestInfo, Side, eventually,
};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client, ResourceExt as _,
    api::{ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams},
};
use serde_json::json;

/// A namespace, a client that reaches it by way of a proxy with these rules, and the administrator's, that doesn't.
struct Proxied {
    namespace: Namespace,
    client: Client,
    direct: Client,
    proxy: Proxy,
}

impl Proxied {
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
        let client = cluster.client_by_way_of(&proxy.route(), namespace.name(), "editor").await.unwrap();
        let direct = cluster.admin().await.unwrap();
        let proxied = Self { namespace, client, direct, proxy };
        proxied.until_allowed().await;
        proxied
    }

    /// A role binding counts a moment after it was made.
    async fn until_allowed(&self) {
        let maps = self.maps(&self.client);
        eventually("the role binding to count", async || maps.list(&ListParams::default()).await).await;
    }

    fn maps(&self, client: &Client) -> Api<ConfigMap> {
        Api::namespaced(client.clone(), self.namespace.name())
    }

    /// Applies a `ConfigMap` through the proxy.
    async fn apply(&self, name: &str) -> kube::Result<ConfigMap> {
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "1"}});
        self.maps(&self.client).patch(name, &PatchParams::apply("test"), &Patch::Apply(map)).await
    }

    /// Whether there is such a `ConfigMap`, without the proxy.
    async fn stored(&self, name: &str) -> bool {
        self.maps(&self.direct).get_opt(name).await.unwrap().is_some()
    }
}

fn map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}})).unwrap()
}

#[tokio::test]
#[ignore = "on a real control plane"]
async fn a_client_reads_and_writes_through_the_proxy_as_itself() {
    let proxied = Proxied::start("through", |_| Action::Forward).await;
    let audit = Cluster::shared().await.audit().unwrap();
    let maps = proxied.maps(&proxied.client);
    maps.create(&PostParams::default(), &map("created")).await.unwrap();
    let names: Vec<_> =
        maps.list(&ListParams::default()).await.unwrap().iter().map(ConfigMap::name_any).collect();
    assert!(names.contains(&"created".to_owned()), "{names:?}");

    let user = format!("system:serviceaccount:{}:editor", proxied.namespace);
    let created = async || audit.wait_for(PATIENCE, |log| log.verb("create").name("created").by(&user)).await;
    assert_eq!(created().await.unwrap()[0].code, Some(201));
    let refused = maps.get("missing").await.unwrap_err().to_string();
    assert!(refused.contains("not found"), "a failure is passed on too: {refused}");
}

#[tokio::test]
#[ignore = "on a real control plane"]
async fn the_events_of_a_watch_flow_until_it_is_cut() {
    let proxied = Proxied::start("watch", |_| Action::Forward).await;
    let params = WatchParams::default().disable_bookmarks().fields("metadata.name!=kube-root-ca.crt");
    let watch = async || proxied.maps(&proxied.client).watch(&params, "0").await.unwrap().boxed();
    let mut events = watch().await;
    for name in ["first", "second"] {
        proxied.maps(&proxied.direct).create(&PostParams::default(), &map(name)).await.unwrap();
        let event = tokio::time::timeout(PATIENCE, events.try_next()).await.unwrap().unwrap().unwrap();
        assert!(matches!(&event, WatchEvent::Added(map) if map.name_any() == name), "{event:?}");
    }
    proxied.proxy.cut_watches();
    let rest = events.map(drop).collect::<Vec<_>>();
    tokio::time::timeout(PATIENCE, rest).await.expect("the watch goes on");
    let event = watch().await.try_next().await;
    assert!(matches!(event, Ok(Some(WatchEvent::Added(_)))), "a later watch isn't cut: {event:?}");
}

#[tokio::test]
#[ignore = "on a real control plane"]
async fn after_a_crash_nothing_reaches_the_server_any_more() {
    for (side, answer) in [(Side::Before, None), (Side::After, Some(201))] {
        let crash = Crash::at(CrashPoint { write: 2, side });
        let proxied = Proxied::start("crash", crash.rule()).await;
        crash.arm();
        proxied.apply("first").await.unwrap();
        proxied.apply("second").await.unwrap_err();
        let cut = proxied.proxy.cut().await;
        assert_eq!((cut.response, cut.request.path.rsplit('/').next().unwrap()), (answer, "second"));
        assert_eq!(proxied.stored("second").await, answer.is_some());

        let later = tokio::time::timeout(Duration::from_millis(300), proxied.apply("third"));
        assert!(later.await.is_err(), "it is neither passed on nor gets a response");
        assert!(!proxied.stored("third").await);
    }
}
