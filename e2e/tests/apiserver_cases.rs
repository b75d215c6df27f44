//! Wrong and unusual bodies of every kind, sent to a real kube-apiserver and to the one inside this process: both say the same.
#![allow(missing_docs)]

use baton_e2e::apiserver_diff::{Pair, cases};

#[tokio::test]
async fn what_is_wrong_or_unusual_is_answered_as_a_real_server_does() -> anyhow::Result<()> {
    let mut pair = Pair::start().await?;
    let findings = cases::run(&mut pair, "", |_| ()).await?;
    assert!(findings.unexplained().next().is_none(), "{findings}");
    Ok(())
}
