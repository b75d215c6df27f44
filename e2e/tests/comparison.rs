//! A real kube-apiserver and the one inside this process get the same requests, and respond alike: reads, wrong and unusual bodies,
//! and random writes. `cargo apiserver-diff` sends more of them.
#![allow(missing_docs)]

use baton_e2e::apiserver_diff::{Effort, Findings, Pair, cases, reads, run};

fn expect_none(findings: &Findings) {
    assert!(findings.unexplained().next().is_none(), "{findings}");
}

#[tokio::test]
#[ignore = "beside a real control plane"]
async fn both_servers_respond_alike() -> anyhow::Result<()> {
    let mut pair = Pair::start().await?;
    expect_none(&reads(&mut pair).await?);
    expect_none(&cases::run(&mut pair, "", |_| ()).await?);
    let effort = Effort { writes: 1000, seed: 1, only: None };
    expect_none(&run(&mut pair, effort, |_| ()).await?);
    Ok(())
}
