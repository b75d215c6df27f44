//! Spans of requests are sent to a collector, with the feature `otel`.
#![cfg(feature = "otel")]
#![allow(clippy::unwrap_used)]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    time::Duration,
};

use baton_runtime::{cluster::Cluster, telemetry};
use kube::Config;
use tokio::task::spawn_blocking;
use tracing::instrument::WithSubscriber as _;
use tracing_subscriber::layer::SubscriberExt as _;

/// Reads one request from a collector's client; its first line and its body.
fn receive(stream: &mut TcpStream) -> (String, Vec<u8>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        head.push(line.trim().to_owned());
    }
    let length =
        head.iter().find_map(|line| line.to_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap()];
    reader.read_exact(&mut body).unwrap();
    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
    (head.swap_remove(0), body)
}

#[tokio::test]
async fn spans_of_requests_reach_a_collector() {
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", collector.local_addr().unwrap()).parse().unwrap();
    let (layer, traces) = telemetry::layer(&endpoint, "my-operator", "1.2.3", "my_operator").unwrap();
    let subscriber = tracing_subscriber::registry().with(layer);
    let _default = tracing::subscriber::set_default(subscriber);
    let client = Cluster::at(Config::new("https://127.0.0.1:1".parse().unwrap())).client().unwrap();
    client.apiserver_version().with_current_subscriber().await.unwrap_err();

    let received = spawn_blocking(move || receive(&mut collector.accept().unwrap().0));
    spawn_blocking(|| traces.flush()).await.unwrap();
    let received = tokio::time::timeout(Duration::from_secs(30), received);
    let (first_line, body) = received.await.expect("a request to the collector").unwrap();
    assert_eq!(first_line, "POST /v1/traces HTTP/1.1");
    let has = |text: &str| body.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(has("service.name") && has("my-operator"), "the service has its name");
    assert!(
        has("http.url") && has("https://127.0.0.1:1/"),
        "there are spans of the requests: {}",
        String::from_utf8_lossy(&body)
    );
}
