//! The binary `baton` as its users start it, without a cluster.
#![allow(clippy::unwrap_used)]

use std::{
    io::{BufRead, BufReader, Lines, Write},
    process::{Child, ChildStderr, Command, Output, Stdio},
};

fn baton(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_baton"));
    command.args(args).env_clear();
    command
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn crd_prints_the_crd() {
    let output = baton(&["crd"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(String::from_utf8(output.stdout).unwrap(), baton_crd::workload_crd_yaml().unwrap());
}

#[test]
fn what_keeps_the_operator_from_starting_is_reported_with_what_to_do() {
    for (args, message) in [
        (&["run", "--request-timeout", "0s"][..], "write it like `30s`"),
        (&["run", "--leader-elect", "--renew-deadline", "20s"], "the lease duration has to be longer"),
        (&["run", "--admin-addr", "127.0.0.1:0"], "point KUBECONFIG at a kubeconfig"),
    ] {
        let output = baton(args).output().unwrap();
        assert!(!output.status.success(), "{args:?}");
        assert!(text(&output).contains(message), "{args:?}: {}", text(&output));
    }
}

#[test]
fn an_address_in_use_is_an_error_at_start() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let kubeconfig = unreachable_cluster();
    let output =
        baton(&["run", "--admin-addr", &address]).env("KUBECONFIG", kubeconfig.path()).output().unwrap();
    assert!(!output.status.success());
    assert!(text(&output).contains("choose another --admin-addr"), "{}", text(&output));
}

#[test]
fn the_check_of_an_unreachable_cluster_fails_with_unknown_results() {
    let kubeconfig = unreachable_cluster();
    let output = baton(&["check"]).env("KUBECONFIG", kubeconfig.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let table = String::from_utf8(output.stdout).unwrap();
    assert!(table.lines().all(|row| row.starts_with("unknown")), "{table}");
    assert!(table.contains("API server") && table.contains("permissions"), "{table}");
}

#[test]
fn sigterm_ends_the_operator_also_while_the_api_server_is_unreachable() {
    let kubeconfig = unreachable_cluster();
    let (mut process, mut log) = running(&kubeconfig);
    assert!(
        log.any(|line| line.unwrap().contains("self-check, API server")),
        "the log says what the operator waits for"
    );
    send("TERM", &process);
    assert!(log.any(|line| line.unwrap().contains("stopped")));
    assert!(process.wait().unwrap().success());
}

#[test]
fn sighup_does_not_end_the_operator() {
    let kubeconfig = unreachable_cluster();
    let (mut process, mut log) = running(&kubeconfig);
    let is_failure = |line: std::io::Result<String>| line.unwrap().contains("self-check is repeated");
    assert!(log.any(is_failure), "it listens for signals now");
    send("HUP", &process);
    assert!(log.any(is_failure), "it goes on");
    send("TERM", &process);
    assert!(process.wait().unwrap().success());
}

/// The operator, with the lines that it logs.
fn running(kubeconfig: &tempfile::NamedTempFile) -> (Child, Lines<BufReader<ChildStderr>>) {
    let mut process = baton(&["run", "--admin-addr", "127.0.0.1:0", "--log", "info,baton_controller=debug"])
        .env("KUBECONFIG", kubeconfig.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let log = BufReader::new(process.stderr.take().unwrap()).lines();
    (process, log)
}

fn send(signal: &str, process: &Child) {
    let signal = format!("-{signal}");
    assert!(Command::new("kill").args([&signal, &process.id().to_string()]).status().unwrap().success());
}

/// A kubeconfig of a cluster that refuses every connection.
fn unreachable_cluster() -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(
        br"
apiVersion: v1
kind: Config
clusters: [{name: nowhere, cluster: {server: 'https://127.0.0.1:1'}}]
users: [{name: nobody, user: {token: none}}]
contexts: [{name: nowhere, context: {cluster: nowhere, user: nobody}}]
current-context: nowhere
",
    )
    .unwrap();
    file
}
