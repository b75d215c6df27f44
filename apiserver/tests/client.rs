//! The server through a kube client.

#![allow(missing_docs, clippy::unwrap_used)]

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicI32, Ordering},
    },
    time::Duration,
};

use baton_apiserver::{
    ApiServer, Serving,
    faults::{Action, RequestInfo, nth},
};
use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::{
    api::core::v1::ConfigMap, apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, CustomResource, CustomResourceExt as _, ResourceExt as _,
    api::{DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions, WatchEvent, WatchParams},
    runtime::{Controller, WatchStreamExt as _, controller, reflector, wait::await_condition, watcher},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};
use tokio_tungstenite::{
    client_async,
    tungstenite::{self, client::IntoClientRequest as _},
};

#[derive(CustomResource, Clone, Debug, Deserialize, JsonSchema, Serialize)]
#[kube(group = "example.com", version = "v1", kind = "Shop", namespaced, status = "ShopStatus")]
struct ShopSpec {
    #[serde(default)]
    open: bool,
    #[schemars(range(min = 1))]
    shelves: i32,
}

#[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
struct ShopStatus {
    customers: i32,
}

fn server() -> ApiServer {
    ApiServer::builder().crd::<Shop>().start().unwrap()
}

fn configs(server: &ApiServer) -> Api<ConfigMap> {
    Api::default_namespaced(server.client())
}

fn config(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(
        json!({"metadata": {"name": name, "labels": {"of": name}}, "data": {"key": value}}),
    )
    .unwrap()
}

fn code(error: &kube::Error) -> (u16, String) {
    match error {
        kube::Error::Api(status) => (status.code, status.reason.clone()),
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn a_stale_write_is_refused_and_the_live_one_is_kept() {
    let server = server();
    let configs = configs(&server);
    let first = configs.create(&PostParams::default(), &config("a", "1")).await.unwrap();
    let mut second = first.clone();
    second.data = config("a", "2").data;
    configs.replace("a", &PostParams::default(), &second).await.unwrap();
    let error = configs.replace("a", &PostParams::default(), &first).await.unwrap_err();
    assert_eq!(code(&error), (409, "Conflict".to_owned()));
    assert_eq!(configs.get("a").await.unwrap().data.unwrap()["key"], "2");
}

#[tokio::test]
async fn an_apply_conflicts_with_the_owner_and_by_force_takes_the_field() {
    let server = server();
    let configs = configs(&server);
    let intent = |value: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"key": value}});
    configs.patch("a", &PatchParams::apply("alice"), &Patch::Apply(intent("1"))).await.unwrap();
    let error = configs
        .patch("a", &PatchParams::apply("bob"), &Patch::Apply(intent("2")))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains(r#"Apply failed with 1 conflict: conflict with "alice": .data.key"#), "{error}");
    let taken =
        configs.patch("a", &PatchParams::apply("bob").force(), &Patch::Apply(intent("2"))).await.unwrap();
    let managers: Vec<_> =
        taken.metadata.managed_fields.unwrap().into_iter().filter_map(|entry| entry.manager).collect();
    assert_eq!(managers, ["bob"]);
}

#[tokio::test]
async fn a_deletion_with_a_precondition_that_fails_deletes_nothing() {
    let server = server();
    let configs = configs(&server);
    configs.create(&PostParams::default(), &config("a", "1")).await.unwrap();
    let wrong = Preconditions { uid: Some("another".to_owned()), resource_version: None };
    let options = DeleteParams { preconditions: Some(wrong), ..DeleteParams::default() };
    let error = configs.delete("a", &options).await.unwrap_err();
    assert_eq!(code(&error), (409, "Conflict".to_owned()));
    configs.get("a").await.unwrap();
}

#[tokio::test]
async fn what_has_a_finalizer_stays_until_it_is_gone() {
    let server = server();
    let configs = configs(&server);
    let mut kept = config("a", "1");
    kept.metadata.finalizers = Some(vec!["example.com/keep".to_owned()]);
    configs.create(&PostParams::default(), &kept).await.unwrap();
    configs.delete("a", &DeleteParams::default()).await.unwrap();
    assert!(configs.get("a").await.unwrap().metadata.deletion_timestamp.is_some());
    let release = json!({"metadata": {"finalizers": null}});
    configs.patch("a", &PatchParams::default(), &Patch::Merge(release)).await.unwrap();
    assert!(configs.get_opt("a").await.unwrap().is_none());
}

#[tokio::test]
async fn the_status_of_a_custom_resource_is_written_apart_from_its_spec() {
    let server = server();
    let shops: Api<Shop> = Api::default_namespaced(server.client());
    let mut shop = Shop::new("books", ShopSpec { open: true, shelves: 3 });
    shop.status = Some(ShopStatus { customers: 5 });
    let made = shops.create(&PostParams::default(), &shop).await.unwrap();
    assert!(made.status.is_none(), "a creation brings no status");
    let status = json!({"spec": {"shelves": 9}, "status": {"customers": 7}});
    let written = shops.patch_status("books", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    assert_eq!((written.spec.shelves, written.status.unwrap().customers), (3, 7));
    assert_eq!(written.metadata.generation, Some(1));
}

#[tokio::test]
async fn a_custom_resource_that_its_schema_refuses_isnt_stored() {
    let server = server();
    let shops: Api<Shop> = Api::default_namespaced(server.client());
    let error =
        shops.create(&PostParams::default(), &Shop::new("books", ShopSpec { open: true, shelves: 0 })).await;
    let error = error.unwrap_err();
    assert_eq!(code(&error), (422, "Invalid".to_owned()));
    let text = error.to_string();
    assert!(
        text.contains(
            "spec.shelves: Invalid value: 0: spec.shelves in body should be greater than or equal to 1"
        ),
        "{text}"
    );
    assert!(shops.list(&ListParams::default()).await.unwrap().items.is_empty());
}

#[tokio::test]
async fn a_list_in_pieces_shows_what_was_there_when_it_began() {
    let server = server();
    let configs = configs(&server);
    for name in ["a", "b", "c"] {
        configs.create(&PostParams::default(), &config(name, "1")).await.unwrap();
    }
    let first = configs.list(&ListParams::default().limit(2)).await.unwrap();
    assert_eq!(first.metadata.remaining_item_count, Some(1));
    configs.delete("c", &DeleteParams::default()).await.unwrap();
    configs.create(&PostParams::default(), &config("d", "1")).await.unwrap();
    let token = first.metadata.continue_.unwrap();
    let rest = configs.list(&ListParams::default().limit(2).continue_token(&token)).await.unwrap();
    let names: Vec<_> = rest.items.iter().filter_map(|config| config.metadata.name.as_deref()).collect();
    assert_eq!(names, ["c"]);
}

#[tokio::test]
async fn what_no_longer_matches_a_selector_is_gone_for_its_watch() {
    let server = server();
    let configs = configs(&server);
    let parameters = WatchParams::default().labels("of=a");
    let mut events = pin!(configs.watch(&parameters, "0").await.unwrap());
    configs.create(&PostParams::default(), &config("a", "1")).await.unwrap();
    configs.create(&PostParams::default(), &config("b", "1")).await.unwrap();
    let relabel = json!({"metadata": {"labels": {"of": "nobody"}}});
    configs.patch("a", &PatchParams::default(), &Patch::Merge(relabel)).await.unwrap();
    let mut seen = Vec::new();
    while seen.len() < 3 {
        seen.push(match events.try_next().await.unwrap().unwrap() {
            WatchEvent::Added(config) => format!("added {}", config.metadata.name.unwrap()),
            WatchEvent::Deleted(config) => format!("deleted {}", config.metadata.name.unwrap()),
            WatchEvent::Bookmark(mark) => format!("{:?}", mark.metadata.annotations),
            other => format!("{other:?}"),
        });
    }
    assert_eq!(seen, [r#"{"k8s.io/initial-events-end": "true"}"#, "added a", "deleted a"]);
}

#[tokio::test]
async fn a_watch_ends_when_the_crd_of_its_resource_changes() {
    let server = server();
    let shops: Api<Shop> = Api::default_namespaced(server.client());
    let params = WatchParams::default().disable_bookmarks();
    let mut watch = pin!(shops.watch(&params, "0").await.unwrap());
    let mut shop = serde_json::to_value(Shop::new("one", ShopSpec { open: true, shelves: 1 })).unwrap();
    shops.create(&PostParams::default(), &serde_json::from_value(shop.clone()).unwrap()).await.unwrap();
    let first = watch.next().await;
    assert!(matches!(first, Some(Ok(WatchEvent::Added(_)))), "{first:?}");

    let definitions: Api<CustomResourceDefinition> = Api::all(server.client());
    let relabelled = Patch::Merge(json!({"metadata": {"labels": {"a": "b"}}}));
    definitions.patch(Shop::crd_name(), &PatchParams::default(), &relabelled).await.unwrap();
    let field = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/newer";
    let more = json!([{"op": "add", "path": field, "value": {"type": "string"}}]);
    let more: Patch<()> = Patch::Json(serde_json::from_value(more).unwrap());
    shop["metadata"]["name"] = json!("two");
    shops.create(&PostParams::default(), &serde_json::from_value(shop).unwrap()).await.unwrap();
    let second = watch.next().await;
    assert!(matches!(second, Some(Ok(WatchEvent::Added(_)))), "a label is no change of its spec: {second:?}");
    definitions.patch(Shop::crd_name(), &PatchParams::default(), &more).await.unwrap();
    assert!(watch.next().await.is_none());
}

#[tokio::test]
async fn a_watch_from_before_the_history_gets_an_expired_error() {
    let server = ApiServer::builder().history(2).start().unwrap();
    let configs = configs(&server);
    let version = configs.create(&PostParams::default(), &config("a", "0")).await.unwrap();
    for value in 1..5 {
        let patch = json!({"data": {"key": value.to_string()}});
        configs.patch("a", &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
    }
    let version = version.metadata.resource_version.unwrap();
    let mut events = pin!(configs.watch(&WatchParams::default(), &version).await.unwrap());
    match events.try_next().await.unwrap().unwrap() {
        WatchEvent::Error(status) => assert_eq!((status.code, status.reason.as_str()), (410, "Expired")),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_reflector_follows_through_a_restart_without_history() {
    let server = server();
    let configs = configs(&server);
    configs.create(&PostParams::default(), &config("a", "1")).await.unwrap();
    let (store, writer) = reflector::store();
    let mut events = pin!(
        watcher(configs.clone(), watcher::Config::default())
            .default_backoff()
            .reflect(writer)
            .applied_objects()
    );
    events.next().await.unwrap().unwrap();
    server.restart(false);
    configs.create(&PostParams::default(), &config("b", "1")).await.unwrap();
    let follow = async {
        while store.state().len() < 2 {
            // An error is followed by another attempt.
            let _ = events.next().await;
        }
    };
    timeout(Duration::from_mins(10), follow).await.unwrap();
}

#[tokio::test]
async fn a_response_that_is_lost_or_replaced_is_a_write_that_happened() {
    let server = server();
    let configs = configs(&server);
    let fault = |request: &RequestInfo| match request.write {
        Some(1) => Action::after(Action::Cut),
        Some(2) => Action::after(Action::fail(504, "Timeout", "no")),
        _ => Action::Forward,
    };
    server.faults().set(fault);
    for name in ["lost", "replaced"] {
        configs.create(&PostParams::default(), &config(name, "1")).await.unwrap_err();
        assert_eq!(configs.get(name).await.unwrap().data.unwrap()["key"], "1");
    }
}

#[tokio::test]
async fn a_response_of_the_tests_choice_stands_for_a_write_that_never_happened() {
    let server = server();
    let configs = configs(&server);
    server.faults().set(nth(
        1,
        |request| request.write.is_some(),
        || Action::fail(500, "InternalError", "no"),
    ));
    let error = configs.create(&PostParams::default(), &config("a", "1")).await.unwrap_err();
    assert_eq!(code(&error), (500, "InternalError".to_owned()));
    assert!(configs.get_opt("a").await.unwrap().is_none());
}

#[tokio::test]
async fn a_dry_run_responds_as_the_write_would_and_stores_nothing() {
    let server = server();
    let configs = configs(&server);
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    let response = configs.create(&dry, &config("a", "1")).await.unwrap();
    assert!(response.metadata.uid.is_some() && response.metadata.resource_version.is_none());
    assert!(configs.get_opt("a").await.unwrap().is_none());
}

#[tokio::test]
async fn nothing_can_be_made_in_a_namespace_that_isnt_there() {
    let server = server();
    let configs: Api<ConfigMap> = Api::namespaced(server.client(), "nowhere");
    let error = configs.create(&PostParams::default(), &config("a", "1")).await.unwrap_err();
    assert_eq!(error.to_string().split(':').nth(1).unwrap().trim(), r#"namespaces "nowhere" not found"#);
}

#[tokio::test]
async fn the_same_is_served_over_http() {
    let server = server();
    let serving = server.serve("127.0.0.1:0".parse().unwrap()).await.unwrap();
    configs(&server).create(&PostParams::default(), &config("a", "1")).await.unwrap();
    let mut stream = TcpStream::connect(serving.address()).await.unwrap();
    let request =
        "GET /api/v1/namespaces/default/configmaps/a HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes()).await.unwrap();
    let mut response = String::new();
    tokio::io::AsyncReadExt::read_to_string(&mut stream, &mut response).await.unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    assert_eq!(serde_json::from_str::<Value>(body).unwrap()["data"], json!({"key": "1"}));
}

#[tokio::test]
async fn a_client_that_is_gone_leaves_no_watch_behind() {
    let tasks = || tokio::runtime::Handle::current().metrics().num_alive_tasks();
    let server = server();
    let serving = server.serve(([127, 0, 0, 1], 0).into()).await.unwrap();
    let before = tasks();
    let mut stream = TcpStream::connect(serving.address()).await.unwrap();
    stream.write_all(b"GET /api/v1/configmaps?watch=true HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    stream.read_exact(&mut [0; 15]).await.unwrap();
    assert_eq!(tasks(), before + 1);
    drop(stream);
    let gone = async {
        while tasks() > before {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    timeout(Duration::from_secs(5), gone).await.expect("the connection should have ended");
}

#[tokio::test]
async fn a_list_is_sorted_as_the_storage_sorts_its_keys() {
    let server = server();
    for namespace in ["shop", "shop-eu"] {
        let text = format!("{{apiVersion: v1, kind: Namespace, metadata: {{name: {namespace}}}}}");
        server.load(&text).unwrap();
        let configs: Api<ConfigMap> = Api::namespaced(server.client(), namespace);
        configs.create(&PostParams::default(), &config("a", "1")).await.unwrap();
    }
    let all: Api<ConfigMap> = Api::all(server.client());
    let mut found = Vec::new();
    let mut parameters = ListParams::default().limit(1);
    loop {
        let page = all.list(&parameters).await.unwrap();
        found.extend(page.items.into_iter().filter_map(|config| config.metadata.namespace));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => break,
        }
    }
    assert_eq!(found, ["shop-eu", "shop"]);
}

#[tokio::test]
async fn a_list_from_the_cache_ignores_the_limit() {
    let server = server();
    let configs = configs(&server);
    for name in ["a", "b"] {
        configs.create(&PostParams::default(), &config(name, "1")).await.unwrap();
    }
    let found = async |query: &str| {
        let uri = format!("/api/v1/namespaces/default/configmaps?{query}");
        let request = http::Request::get(uri).body(Vec::new()).unwrap();
        let list: Value = server.client().request(request).await.unwrap();
        list["items"].as_array().unwrap().len()
    };
    assert_eq!(found("limit=1&resourceVersion=0").await, 2, "the limit counts for nothing");
    assert_eq!(found("limit=1").await, 1);
}

#[tokio::test]
async fn a_body_of_brackets_is_refused_at_once() {
    let server = server();
    let request = |content_type: &str, body: String| {
        let request = http::Request::patch("/api/v1/namespaces/default/configmaps/a?fieldManager=m");
        request.header("content-type", content_type).body(body.into_bytes()).unwrap()
    };
    let begun = std::time::Instant::now();
    for body in ["[".repeat(1_000_000), "{\"a\":".repeat(500_000)] {
        let refused = server.client().request::<Value>(request("application/apply-patch+yaml", body)).await;
        assert_eq!(code(&refused.unwrap_err()).0, 400);
    }
    assert!(begun.elapsed() < Duration::from_secs(10));
}

/// Sends an object in YAML. Returns the code, the warnings and the response.
async fn send_yaml(server: &ApiServer, method: &str, uri: &str, yaml: &str) -> (u16, Vec<String>, Value) {
    let format = if method == "PATCH" { "application/apply-patch+yaml" } else { "application/yaml" };
    let request = http::Request::builder().method(method).uri(uri).header("content-type", format);
    let request = request.body(yaml.as_bytes().to_vec().into()).unwrap();
    let response = server.client().send(request).await.unwrap();
    let warnings = response.headers().get_all("warning").iter();
    let warnings = warnings.map(|warning| warning.to_str().unwrap().to_owned()).collect();
    let code = response.status().as_u16();
    (code, warnings, serde_json::from_slice(&response.into_body().collect_bytes().await.unwrap()).unwrap())
}

const CONFIGS: &str = "/api/v1/namespaces/default/configmaps";
const SHOPS: &str = "/apis/example.com/v1/namespaces/default/shops";

#[tokio::test]
async fn a_key_that_is_twice_in_yaml_is_refused_warned_of_or_passed_over() {
    let server = server();
    let config = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: v\n  a: w\n  b: z\n  b: z\nfoo: 1\n";
    let shop =
        "apiVersion: example.com/v1\nkind: Shop\nmetadata: {name: a}\nspec: {shelves: 1,\n  shelves: 2}\n";
    let json = r#"{"apiVersion": "example.com/v1", "kind": "Shop", "metadata": {"name": "a"}, "spec": {"shelves": 1, "shelves": 2}}"#;
    let repeated = r#"299 - "line 5: key \"shelves\" already set in map""#;

    let (code, _, status) =
        send_yaml(&server, "POST", &format!("{CONFIGS}?fieldValidation=Strict"), config).await;
    assert_eq!(
        (code, status["message"].as_str().unwrap()),
        (
            400,
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: yaml: unmarshal errors:\n  \
             line 6: key \"a\" already set in map\n  line 8: key \"b\" already set in map, unknown field \"foo\""
        )
    );
    for (body, line) in [(shop, 5), (json, 1)] {
        let (code, _, status) =
            send_yaml(&server, "PATCH", &format!("{SHOPS}/a?fieldManager=m&fieldValidation=Strict"), body)
                .await;
        let message = format!(
            "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  line {line}: key \
             \"shelves\" already set in map"
        );
        assert_eq!((code, status["message"].as_str()), (400, Some(message.as_str())));
    }
    let (code, warnings, config) = send_yaml(&server, "POST", CONFIGS, config).await;
    assert_eq!((code, &config["data"]), (201, &json!({"a": "w", "b": "z"})));
    let lines = ["line 6: key \\\"a\\\" already set in map", "line 8: key \\\"b\\\" already set in map"];
    let expected = lines.map(|line| format!("299 - \"{line}\""));
    assert_eq!(warnings[..2], expected);
    assert_eq!(warnings[2..], ["299 - \"unknown field \\\"foo\\\"\""]);
    let apply = format!("{SHOPS}/a?fieldManager=m");
    let (code, warnings, applied) = send_yaml(&server, "PATCH", &apply, shop).await;
    assert_eq!((code, &applied["spec"]["shelves"]), (201, &json!(2)));
    assert_eq!(warnings, [repeated]);
    let (code, warnings, _) =
        send_yaml(&server, "PATCH", &format!("{apply}&fieldValidation=Ignore"), shop).await;
    assert_eq!((code, warnings.len()), (200, 0));
}

#[tokio::test]
async fn a_body_of_yaml_means_what_it_does_to_kubernetes() {
    let server = server();
    let (code, _, pod) = send_yaml(
        &server,
        "POST",
        "/api/v1/namespaces/default/pods",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  hostNetwork: no\n  containers: [{name: c, image: i}]\n  \
         volumes: [{name: v, configMap: {name: c, defaultMode: 0644}}]\n---\nkind: Secret\n",
    )
    .await;
    assert_eq!((code, &pod["spec"]["volumes"][0]["configMap"]["defaultMode"]), (201, &json!(420)), "{pod}");
    for (value, why) in [
        ("{a: yes}", ".data.a: expected string, got &value.valueUnstructured{Value:true}"),
        ("{a: .inf}", "error decoding YAML: error converting YAML to JSON: json: unsupported value: +Inf"),
    ] {
        let body = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: b}}\ndata: {value}\n");
        let (_, _, status) = send_yaml(&server, "PATCH", &format!("{CONFIGS}/b?fieldManager=m"), &body).await;
        assert!(status["message"].as_str().unwrap().ends_with(why), "{status}");
    }
    let (code, _, status) = send_yaml(&server, "POST", CONFIGS, "kind: ConfigMap\ndata: {a: .nan}\n").await;
    assert_eq!(
        (code, status["message"].as_str().unwrap()),
        (
            400,
            "the object provided is unrecognized (must be of type ConfigMap): json: unsupported value: NaN \
             (6b696e643a20436f6e6669674d61700a646174613a207b613a202e6e616e ...)"
        )
    );
}

#[tokio::test]
async fn an_apply_to_a_live_object_that_does_not_fit_its_schema_says_which_object_and_step() {
    let server = server();
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "racks.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "racks", "kind": "Rack"}, "versions": [
            {"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "properties":
                {"slots": {"type": "array", "items": {"type": "integer"}}}}}},
            {"name": "v2", "served": true, "storage": false, "schema": {"openAPIV3Schema": {"type": "object", "properties":
                {"slots": {"type": "integer"}}}}},
        ]},
    });
    server.load(&crd.to_string()).unwrap();
    let racks = "/apis/example.com/v1/namespaces/default/racks";
    let rack = |metadata: &str| {
        format!("apiVersion: example.com/v1\nkind: Rack\nmetadata: {metadata}\nslots: [1]\n")
    };
    let apply = async || {
        let uri = "/apis/example.com/v2/namespaces/default/racks/a?fieldManager=m";
        let body = "apiVersion: example.com/v2\nkind: Rack\nmetadata: {name: a}\n";
        let (code, _, status) = send_yaml(&server, "PATCH", uri, body).await;
        (code, status["message"].as_str().unwrap().to_owned())
    };
    send_yaml(&server, "POST", racks, &rack("{name: a}")).await;
    let of = "object (default/a; example.com/v2, Kind=Rack)";
    let why = ".slots: expected numeric (int or float), got []interface {}";
    assert_eq!(apply().await, (500, format!("failed to create typed live {of}: {why}")));
    let (_, _, live) = send_yaml(&server, "GET", &format!("{racks}/a"), "").await;
    let version = live["metadata"]["resourceVersion"].as_str().unwrap();
    let reset = format!("{{name: a, resourceVersion: {version:?}, managedFields: [{{}}]}}");
    send_yaml(&server, "PUT", &format!("{racks}/a"), &rack(&reset)).await;
    let step = "failed to create manager for existing fields: failed to convert new";
    assert_eq!(apply().await, (500, format!("{step} {of} to smd typed: {why}")));
}

/// Writes a new value into the status in each pass, which starts the next one.
async fn run_loop(client: Client) {
    let passes = Arc::new(AtomicI32::new(0));
    let shops: Api<Shop> = Api::default_namespaced(client);
    let reconcile = |shop: Arc<Shop>, (shops, passes): &(Api<Shop>, Arc<AtomicI32>)| {
        let (shops, customers) = (shops.clone(), passes.fetch_add(1, Ordering::Relaxed));
        async move {
            let status = json!({
                "apiVersion": "example.com/v1", "kind": "Shop", "status": {"customers": customers},
            });
            let params = PatchParams::apply("looper").force();
            shops.patch_status(&shop.name_any(), &params, &Patch::Apply(status)).await?;
            Ok::<_, kube::Error>(controller::Action::await_change())
        }
    };
    Controller::new(shops.clone(), watcher::Config::default())
        .run(
            move |shop, context| reconcile(shop, &context),
            |_, _, _| controller::Action::requeue(Duration::from_secs(5)),
            Arc::new((shops, passes)),
        )
        .for_each(async |_| {})
        .await;
}

#[tokio::test(start_paused = true)]
async fn an_operator_that_starts_itself_again_is_ended_under_paused_time() {
    let server = ApiServer::builder().crd::<Shop>().repeat_limit(20).start().unwrap();
    let operator = tokio::spawn(run_loop(server.client_named("one")));
    let shops: Api<Shop> = Api::default_namespaced(server.client());
    let shop = Shop::new("books", ShopSpec { open: true, shelves: 3 });
    shops.create(&PostParams::default(), &shop).await.unwrap();
    let never = timeout(Duration::from_secs(30), await_condition(shops, "books", |_: Option<&Shop>| false));
    assert!(never.await.is_err(), "the limit of a test ends it");
    // kube runs a reconciler in a task, whose panic it passes on.
    let panic = operator.await.unwrap_err().to_string();
    let write = "21 × PATCH /apis/example.com/v1/namespaces/default/shops/books/status, field manager looper, client one";
    assert!(panic.contains(write), "{panic}");
}

#[tokio::test(start_paused = true)]
async fn times_in_objects_advance_with_paused_time() {
    let server = server();
    let configs = configs(&server);
    let made = async |name| {
        let made = configs.create(&PostParams::default(), &config(name, "1")).await.unwrap();
        made.metadata.creation_timestamp.unwrap().0
    };
    let first = made("a").await;
    tokio::time::sleep(Duration::from_mins(10)).await;
    assert_eq!(made("b").await.duration_since(first).as_secs(), 600);
}

#[tokio::test(start_paused = true)]
async fn one_of_two_clients_is_cut_off() {
    let server = server();
    let [one, two] =
        ["one", "two"].map(|name| Api::<ConfigMap>::default_namespaced(server.client_named(name)));
    server.faults().set(|request| if request.client == "one" { Action::Cut } else { Action::Forward });
    one.create(&PostParams::default(), &config("a", "1")).await.unwrap_err();
    two.create(&PostParams::default(), &config("a", "1")).await.unwrap();
    assert_eq!(server.faults().cut().await.request.client, "one");
}

/// A server over HTTP, and a connection to it.
async fn connected() -> (ApiServer, Serving, TcpStream) {
    let server = server();
    let serving = server.serve("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let stream = TcpStream::connect(serving.address()).await.unwrap();
    (server, serving, stream)
}

#[tokio::test]
async fn who_sends_too_much_gets_a_response() {
    let (_server, _serving, mut stream) = connected().await;
    let size = 16_000_000;
    let head = format!(
        "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {size}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&vec![b'x'; size]).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    assert!(response.starts_with("HTTP/1.1 413"), "{response}");
    assert!(response.contains("Request entity too large: limit is 3145728"), "{response}");
}

#[tokio::test]
async fn a_watch_over_a_websocket_gets_each_event_as_a_message() {
    let (server, serving, stream) = connected().await;
    configs(&server).create(&PostParams::default(), &config("a", "1")).await.unwrap();
    let url = format!("ws://{}/api/v1/configmaps?watch=true&resourceVersion=0", serving.address());
    let mut request = url.as_str().into_client_request().unwrap();
    request.headers_mut().insert("origin", "http://localhost".parse().unwrap());
    let (mut socket, _) = client_async(request, stream).await.unwrap();
    configs(&server).create(&PostParams::default(), &config("b", "2")).await.unwrap();
    for name in ["a", "b"] {
        let message = socket.next().await.unwrap().unwrap().into_text().unwrap();
        let event: Value = serde_json::from_str(&message).unwrap();
        assert_eq!((&event["type"], &event["object"]["metadata"]["name"]), (&"ADDED".into(), &name.into()));
    }
    drop(serving);
    assert!(socket.next().await.is_none_or(|end| end.is_err()), "it should have ended with the server");
}

#[tokio::test]
async fn a_websocket_from_nowhere_is_refused() {
    let (_server, serving, stream) = connected().await;
    let url = format!("ws://{}/api/v1/configmaps?watch=true", serving.address());
    let refused = client_async(url, stream).await.unwrap_err();
    assert!(matches!(&refused, tungstenite::Error::Http(response) if response.status() == 403), "{refused}");
}
