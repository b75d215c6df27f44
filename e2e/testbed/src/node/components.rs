//! The configuration and the command line of each component of a node. It starts nothing.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};

use super::needs::CNI_PLUGINS;
use crate::{
    Error,
    assets::{Assets, Program},
    control_plane::{Layout, NODE},
    network::Network,
};

/// The image that holds a pod's namespaces; it has to be there before the first pod.
pub(super) const PAUSE: &str = "localhost/pause:1";
/// Where containerd listens, on the machine.
pub(super) const CONTAINERD: &str = "/run/containerd/containerd.sock";
/// The addresses of pods.
const PODS: &str = "10.244.0.0/16";
/// More than the default, so that a test may have a hundred Workloads with pods.
const MAX_PODS: u32 = 250;

/// Where the configuration lies.
pub(super) struct Configuration<'a>(pub(super) &'a Path);

impl Configuration<'_> {
    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes all of it.
    pub(super) fn write(&self, control_plane: &Layout<'_>, cgroup: &str) -> Result<(), Error> {
        let network = self.path("cni");
        fs::create_dir_all(&network).map_err(Error::file("create", &network))?;
        for (path, text) in [
            (network.join("10-node.conflist"), cni().to_string()),
            (self.path("containerd.toml"), containerd_toml(&network)),
            (self.path("kubelet.json"), kubelet_config(control_plane, cgroup).to_string()),
            (self.path("kube-proxy.json"), kube_proxy_config(control_plane).to_string()),
        ] {
            fs::write(&path, text).map_err(Error::file("write", &path))?;
        }
        Ok(())
    }

    pub(super) fn containerd(&self) -> Command {
        let mut command = Command::new("containerd");
        command.arg("--config").arg(self.path("containerd.toml"));
        command
    }

    pub(super) fn kubelet(&self, assets: &Assets, control_plane: &Layout<'_>) -> Command {
        let mut command = Command::new(assets.path(Program::Kubelet));
        let flag = |name: &str, path: &Path| format!("--{name}={}", path.display());
        command
            .arg(flag("config", &self.path("kubelet.json")))
            .arg(flag("kubeconfig", &control_plane.kubeconfig(Program::Kubelet.name())))
            .arg(format!("--hostname-override={NODE}"))
            .arg(format!("--node-ip={}", Network::ADDRESS));
        command
    }

    pub(super) fn kube_proxy(&self, assets: &Assets) -> Command {
        let mut command = Command::new(assets.path(Program::KubeProxy));
        command
            .arg(format!("--config={}", self.path("kube-proxy.json").display()))
            .arg(format!("--hostname-override={NODE}"));
        command
    }
}

/// Each pod has a cable of its own to the node, so that all traffic is routed and kube-proxy sees all of it.
fn cni() -> Value {
    json!({
        "cniVersion": "1.0.0",
        "name": "node",
        "plugins": [{
            "type": "ptp",
            "ipam": {
                "type": "host-local",
                "ranges": [[{"subnet": PODS}]],
                "routes": [{"dst": "0.0.0.0/0"}],
            },
        }],
    })
}

/// The profiles of `AppArmor` are the host's, and a score for the out-of-memory killer that is below its own no process may
/// give itself that lacks the capability for it.
fn containerd_toml(network: &Path) -> String {
    format!(
        r#"version = 2

[grpc]
address = "{CONTAINERD}"

[plugins."io.containerd.grpc.v1.cri"]
sandbox_image = "{PAUSE}"
disable_apparmor = true
restrict_oom_score_adj = true

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"

[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
SystemdCgroup = false

[plugins."io.containerd.grpc.v1.cri".cni]
bin_dir = "{CNI_PLUGINS}"
conf_dir = "{}"
"#,
        network.display()
    )
}

fn kubelet_config(control_plane: &Layout<'_>, cgroup: &str) -> Value {
    json!({
        "kind": "KubeletConfiguration",
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "address": Network::ADDRESS,
        "authentication": {
            "anonymous": {"enabled": false},
            "webhook": {"enabled": true},
            "x509": {"clientCAFile": control_plane.pki("ca.crt")},
        },
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": control_plane.pki("kubelet.crt"),
        "tlsPrivateKeyFile": control_plane.pki("kubelet.key"),
        "containerRuntimeEndpoint": format!("unix://{CONTAINERD}"),
        "cgroupDriver": "cgroupfs",
        "cgroupRoot": cgroup,
        "failCgroupV1": false,
        "failSwapOn": false,
        "maxPods": MAX_PODS,
        // There is none, but without an address the kubelet warns about every pod.
        "clusterDNS": ["10.96.0.10"],
        "clusterDomain": "cluster.local",
        // The disk is the developer's: the kubelet must not judge or clean it.
        "evictionHard": {"memory.available": "1Mi", "nodefs.available": "0%", "imagefs.available": "0%"},
        "imageGCHighThresholdPercent": 100,
        "imageGCLowThresholdPercent": 99,
        // Quick to react, as the whole control plane is.
        "nodeStatusUpdateFrequency": "2s",
        "syncFrequency": "5s",
        "fileCheckFrequency": "1h",
        "registerNode": true,
        // Its own limits are for sparing a big cluster's API server.
        "kubeAPIQPS": 200,
        "kubeAPIBurst": 400,
        "serializeImagePulls": false,
    })
}

fn kube_proxy_config(control_plane: &Layout<'_>) -> Value {
    json!({
        "kind": "KubeProxyConfiguration",
        "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
        "mode": "nftables",
        "clientConnection": {"kubeconfig": control_plane.kubeconfig(Program::KubeProxy.name())},
        "clusterCIDR": PODS,
        "healthzBindAddress": "127.0.0.1:10256",
        "metricsBindAddress": "127.0.0.1:10249",
        // These limits are the whole machine's. Zero leaves them alone.
        "conntrack": {
            "maxPerCore": 0,
            "min": 0,
            "tcpEstablishedTimeout": "0s",
            "tcpCloseWaitTimeout": "0s",
        },
        // Rules are written at once.
        "nftables": {"minSyncPeriod": "100ms"},
    })
}
