//! A node that is left running.

use std::{fs, process::Command};

use baton_testbed::{
    Node,
    assets::{Assets, Program},
};

use crate::shared::is_wanted;

#[tokio::test]
#[ignore = "on a real node"]
async fn a_kept_node_is_reached_within_its_network_until_its_script_stops_it() {
    if !is_wanted("keep") {
        return;
    }
    let kept = Node::start().await.unwrap().keep().unwrap();
    let runs = |pid: &u32| fs::read_link(format!("/proc/{pid}/exe")).is_ok();
    assert!(kept.processes.iter().all(|(_, pid)| runs(pid)), "{:?}", kept.processes);

    let kubectl = Assets::locate(&[Program::Kubectl]).unwrap().path(Program::Kubectl);
    let command = format!("{} {} get --raw /readyz", kept.by_way_of.unwrap(), kubectl.display());
    let ready = Command::new("/bin/sh").args(["-c", &command]).env("KUBECONFIG", &kept.kubeconfig).output();
    let ready = ready.unwrap();
    assert_eq!(String::from_utf8_lossy(&ready.stdout), "ok", "{}", String::from_utf8_lossy(&ready.stderr));

    assert!(Command::new(&kept.stop).status().unwrap().success());
    assert!(!kept.processes.iter().any(|(_, pid)| runs(pid)), "{:?}", kept.processes);
    assert!(!kept.dir.exists() && !kept.stop.exists());
}
