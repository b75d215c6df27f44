//! The binary with the feature `otel` sends its spans to a collector.
#![cfg(feature = "otel")]
#![allow(clippy::unwrap_used)]

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    process::{Command, Stdio},
};

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

#[test]
fn spans_of_requests_reach_a_collector() {
    let collector = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut kubeconfig = tempfile::NamedTempFile::new().unwrap();
    let nowhere = b"
clusters: [{name: nowhere, cluster: {server: 'https://127.0.0.1:1'}}]
users: [{name: nobody, user: {token: none}}]
contexts: [{name: nowhere, context: {cluster: nowhere, user: nobody}}]
current-context: nowhere
";
    kubeconfig.write_all(nowhere).unwrap();
    let mut operator = Command::new(env!("CARGO_BIN_EXE_baton"))
        .args(["run", "--admin-addr", "127.0.0.1:0"])
        .env_clear()
        .env("KUBECONFIG", kubeconfig.path())
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{}", collector.local_addr().unwrap()))
        .env("OTEL_BSP_SCHEDULE_DELAY", "100")
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let (first_line, body) = receive(&mut collector.accept().unwrap().0);
    operator.kill().unwrap();
    operator.wait().unwrap();
    assert_eq!(first_line, "POST /v1/traces HTTP/1.1");
    let has = |text: &str| body.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(has("service.name") && has("baton"), "the service has its name");
    assert!(
        has("http.url") && has("https://127.0.0.1:1/"),
        "there are spans of the requests: {}",
        String::from_utf8_lossy(&body)
    );
}
