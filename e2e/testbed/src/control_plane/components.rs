//! The command line of each component: what makes a real control plane small, quick to start and quick to react. It
//! starts nothing and waits for nothing.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::{AUDIT_DIR, Options, Ports};
use crate::{
    Error,
    assets::{Assets, Program, source},
    kubeconfig::{self, Credential, write_private},
    metrics_api,
    network::Network,
    pki::{self, Authority},
};

/// The policy by which requests are recorded.
const AUDIT_POLICY: &str = include_str!("audit-policy.yaml");
/// KWOK's configuration, and what its nodes and pods do.
const KWOK_CONFIG: [&str; 6] = [
    "kwok.yaml",
    "node-ready.yaml",
    "node-heartbeat.yaml",
    "pod-ready.yaml",
    "pod-complete.yaml",
    "pod-delete.yaml",
];

/// Where everything lies within the folder of one control plane.
pub(crate) struct Layout<'a>(pub(crate) &'a Path);

impl Layout<'_> {
    pub(crate) fn log(&self, program: Program) -> PathBuf {
        self.logs().join(format!("{}.log", program.name()))
    }

    pub(crate) fn logs(&self) -> PathBuf {
        self.0.join("logs")
    }

    /// In the folder of this control plane, or where [`AUDIT_DIR`] says, by the name of that folder.
    pub(crate) fn audit_log(&self) -> PathBuf {
        match env::var_os(AUDIT_DIR).filter(|value| !value.is_empty()) {
            Some(folder) => {
                Path::new(&folder).join(self.0.file_name().unwrap_or_default()).with_extension("log")
            }
            None => self.logs().join("audit.log"),
        }
    }

    pub(crate) fn kubeconfigs(&self) -> PathBuf {
        self.0.join("kubeconfigs")
    }

    pub(crate) fn kubeconfig(&self, user: &str) -> PathBuf {
        self.kubeconfigs().join(format!("{user}.yaml"))
    }

    /// A key or certificate, such as `ca.crt`.
    pub(crate) fn pki(&self, name: &str) -> PathBuf {
        self.0.join("pki").join(name)
    }
}

/// The name of the API server when it forwards a request to a server that is registered with its aggregator.
const FRONT_PROXY: &str = "front-proxy-client";

/// The name of the administrator, of its kubeconfig and of its certificate.
pub(super) const ADMIN: &str = "admin";

/// The real node, where there is one.
pub(crate) const NODE: &str = "node";
/// The kubelet's user there. The authorizer for nodes goes by the form of the name and by the group.
const KUBELET_USER: &str = "system:node:node";

/// A user of the API server, with its kubeconfig's name and its groups.
type User = (&'static str, &'static str, &'static [&'static str]);

/// Those of every control plane. The names of the components are those that upstream's RBAC roles are bound to.
const USERS: [User; 3] = [
    (ADMIN, "baton-testbed:admin", &["system:masters"]),
    (Program::ControllerManager.name(), "system:kube-controller-manager", &[]),
    (Program::Scheduler.name(), "system:kube-scheduler", &[]),
];
/// KWOK plays all nodes at once, which no role allows; what it may do is of no interest here.
const PLAYED_NODES: [User; 1] = [(Program::Kwok.name(), "system:kwok", &["system:masters"])];
const REAL_NODE: [User; 2] = [
    (Program::Kubelet.name(), KUBELET_USER, &["system:nodes"]),
    (Program::KubeProxy.name(), "system:kube-proxy", &[]),
];
/// The name of the API server when it sends requests to the kubelet.
const KUBELET_CLIENT: &str = "kube-apiserver-kubelet-client";

/// Makes the folders, keys, certificates, kubeconfigs and the audit policy. `port` is the API server's.
pub(super) fn prepare(layout: &Layout<'_>, options: &Options, port: u16) -> Result<(), Error> {
    for folder in [layout.logs(), layout.kubeconfigs(), layout.pki("")] {
        fs::create_dir_all(&folder).map_err(Error::file("create", &folder))?;
    }
    let authority = Authority::new("baton-testbed")?;
    let names = [
        "localhost",
        "127.0.0.1",
        // The first address of the Services' range is the one of the API server.
        "10.96.0.1",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    ];
    let server = authority.server("kube-apiserver", &names)?;
    let metrics = authority.server("metrics-api", &[&metrics_api::host()])?;
    // Of an authority of its own: a client that proves to be the API server may name the user of a request.
    let front_proxies = Authority::new("baton-testbed-front-proxy")?;
    let front_proxy = front_proxies.client(FRONT_PROXY, &[])?;
    let node_address = Network::ADDRESS.to_string();
    let kubelet = authority.server(KUBELET_USER, &[&node_address, NODE])?;
    let kubelet_client = authority.client(KUBELET_CLIENT, &["system:masters"])?;
    let tokens = pki::token_keys()?;
    for (name, text) in [
        ("ca.crt", authority.certificate()),
        ("apiserver.crt", &server.certificate),
        ("apiserver.key", &server.key),
        ("metrics-api.crt", &metrics.certificate),
        ("metrics-api.key", &metrics.key),
        ("front-proxy-ca.crt", front_proxies.certificate()),
        ("front-proxy-client.crt", &front_proxy.certificate),
        ("front-proxy-client.key", &front_proxy.key),
        ("kubelet.crt", &kubelet.certificate),
        ("kubelet.key", &kubelet.key),
        ("kubelet-client.crt", &kubelet_client.certificate),
        ("kubelet-client.key", &kubelet_client.key),
        ("tokens.pub", &tokens.public),
        ("tokens.key", &tokens.private),
        ("audit-policy.yaml", AUDIT_POLICY),
    ] {
        write_private(&layout.pki(name), text)?;
    }
    let cluster = kubeconfig::cluster(&url(port), authority.certificate());
    let node: &[User] = if options.network.is_some() { &REAL_NODE } else { &PLAYED_NODES };
    for (name, user, groups) in USERS.iter().chain(node) {
        let identity = authority.client(user, groups)?;
        let credential = Credential::Certificate(&identity);
        kubeconfig::write(&layout.kubeconfig(name), &cluster, name, "default", credential)?;
    }
    Ok(())
}

pub(super) fn url(port: u16) -> String {
    format!("https://127.0.0.1:{port}")
}

pub(super) fn etcd_url(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

/// etcd that forgets everything with its folder, so it needn't wait for the disk.
pub(super) fn etcd(layout: &Layout<'_>, assets: &Assets, port: u16) -> Command {
    let mut command = Command::new(assets.path(Program::Etcd));
    let client = etcd_url(port);
    command
        .arg(format!("--data-dir={}", layout.0.join("etcd").display()))
        .arg(format!("--listen-client-urls={client}"))
        .arg(format!("--advertise-client-urls={client}"))
        // It has no peers; any port will do.
        .args(["--listen-peer-urls=http://127.0.0.1:0", "--unsafe-no-fsync", "--log-level=warn"])
        // The default of 2 GiB is full after some thousand Workloads with pods.
        .arg("--quota-backend-bytes=8589934592");
    command
}

pub(super) fn api_server(layout: &Layout<'_>, assets: &Assets, options: &Options, ports: Ports) -> Command {
    let pki = |flag: &str, name: &str| format!("--{flag}={}", layout.pki(name).display());
    let mut command = Command::new(assets.path(Program::ApiServer));
    command
        .arg(format!("--etcd-servers={}", etcd_url(ports.etcd)))
        .arg(format!("--secure-port={}", ports.api_server))
        .arg("--service-cluster-ip-range=10.96.0.0/16")
        .arg("--allow-privileged=true")
        .arg(pki("client-ca-file", "ca.crt"))
        .arg(pki("tls-cert-file", "apiserver.crt"))
        .arg(pki("tls-private-key-file", "apiserver.key"))
        .arg("--service-account-issuer=https://kubernetes.default.svc")
        .arg(pki("service-account-key-file", "tokens.pub"))
        .arg(pki("service-account-signing-key-file", "tokens.key"))
        .arg(pki("audit-policy-file", "audit-policy.yaml"))
        .arg(format!("--audit-log-path={}", layout.audit_log().display()))
        // A log that rotates loses what a test may want to see: the size is in MiB, and never reached.
        .args(["--audit-log-format=json", "--audit-log-maxsize=10000"])
        // For the aggregator: how the servers behind it authenticate the API server, and how it names the user to them.
        .arg(pki("requestheader-client-ca-file", "front-proxy-ca.crt"))
        .arg(format!("--requestheader-allowed-names={FRONT_PROXY}"))
        .args([
            "--requestheader-username-headers=X-Remote-User",
            "--requestheader-group-headers=X-Remote-Group",
        ])
        .arg("--requestheader-extra-headers-prefix=X-Remote-Extra-")
        .arg(pki("proxy-client-cert-file", "front-proxy-client.crt"))
        .arg(pki("proxy-client-key-file", "front-proxy-client.key"))
        .arg("--profiling=false");
    match options.network {
        None => command
            .args(["--bind-address=127.0.0.1", "--advertise-address=127.0.0.1"])
            // The Service `kubernetes` gets no endpoint: a loopback address isn't allowed there.
            .args(["--endpoint-reconciler-type=none", "--authorization-mode=RBAC"]),
        Some(_) => command
            // Pods have to reach it; nothing else can.
            .arg("--bind-address=0.0.0.0")
            .arg(format!("--advertise-address={}", Network::ADDRESS))
            // A kubelet may do what its pods need and no more.
            .args(["--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction"])
            // There is no DNS for the names of nodes.
            .arg("--kubelet-preferred-address-types=InternalIP")
            .arg(pki("kubelet-certificate-authority", "ca.crt"))
            .arg(pki("kubelet-client-certificate", "kubelet-client.crt"))
            .arg(pki("kubelet-client-key", "kubelet-client.key")),
    };
    command.args(&options.api_server_args);
    command
}

pub(super) fn controller_manager(layout: &Layout<'_>, assets: &Assets, options: &Options) -> Command {
    let mut command = Command::new(assets.path(Program::ControllerManager));
    client_only(&mut command, layout, Program::ControllerManager);
    command
        // Each controller has a ServiceAccount of its own, as in real clusters: the audit log distinguishes them.
        .arg("--use-service-account-credentials=true")
        .arg(format!("--root-ca-file={}", layout.pki("ca.crt").display()))
        .arg(format!("--service-account-private-key-file={}", layout.pki("tokens.key").display()))
        .arg("--horizontal-pod-autoscaler-sync-period=1s")
        .arg("--horizontal-pod-autoscaler-downscale-stabilization=1s")
        // A pod of KWOK's has no start to wait out: what it uses counts from its first second.
        .arg("--horizontal-pod-autoscaler-cpu-initialization-period=0s")
        // A machine that is busy for a minute must not look like nodes that died.
        .arg("--node-monitor-grace-period=10m")
        // Its own limits are for sparing a big cluster's API server.
        .args(["--kube-api-qps=500", "--kube-api-burst=1000"])
        .args(&options.controller_manager_args);
    command
}

pub(super) fn scheduler(layout: &Layout<'_>, assets: &Assets) -> Command {
    let mut command = Command::new(assets.path(Program::Scheduler));
    client_only(&mut command, layout, Program::Scheduler);
    command.args(["--kube-api-qps=500", "--kube-api-burst=1000"]);
    command
}

/// One instance that serves nothing: no election to win, and no port that another program may take.
fn client_only(command: &mut Command, layout: &Layout<'_>, program: Program) {
    command
        .arg(format!("--kubeconfig={}", layout.kubeconfig(program.name()).display()))
        .args(["--leader-elect=false", "--secure-port=0"]);
}

pub(super) fn kwok(layout: &Layout<'_>, assets: &Assets) -> Command {
    let mut command = Command::new(assets.path(Program::Kwok));
    let configuration = source().join("kwok/config");
    command
        .arg(format!("--kubeconfig={}", layout.kubeconfig(Program::Kwok.name()).display()))
        .args(KWOK_CONFIG.map(|name| format!("--config={}", configuration.join(name).display())))
        // Or it would read the user's own configuration too.
        .env("KWOK_WORKDIR", layout.0.join("kwok"));
    command
}
