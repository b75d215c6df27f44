//! metrics-server on the node: real figures for real autoscalers.

use std::time::Duration;

use super::{Image, Node};
use crate::{Error, blocking, wait_for};

/// The manifests that are applied.
const MANIFEST: &str = include_str!("metrics-server.yaml");
/// The image that it names.
const IMAGE: &str = "localhost/metrics-server:1";
/// The first figures come after two requests of metrics-server to the kubelet, ten seconds apart.
const LIMIT: Duration = Duration::from_mins(2);

impl Node {
    /// Installs metrics-server, as a pod, and waits until it has figures. Its first build takes minutes.
    pub async fn install_metrics_server(&self) -> Result<(), Error> {
        self.load(&blocking(|| Image::metrics_server(IMAGE)).await?).await?;
        let cluster = self.control_plane();
        cluster
            .kubectl_command(["apply", "--server-side", "-f", "-"])?
            .input(MANIFEST)
            .run()
            .await?
            .success()?;
        wait_for("figures of metrics-server", LIMIT, async || {
            let top = cluster.kubectl(["top", "node", Self::NAME]).await?;
            Ok(if top.status.success() { Ok(()) } else { Err(top.to_string()) })
        })
        .await
    }
}
