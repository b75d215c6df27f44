//! Metrics over HTTPS: for users who may read them by RBAC, with a certificate that can be renewed.

use std::{fs, net::SocketAddr, sync::Arc};

use baton_e2e::{Environment, OperatorOptions, permissions::SECURE_METRICS, scenarios};
use baton_testbed::{Cluster, eventually, net, workspace};
use serde_json::json;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{
        ClientConfig, RootCertStore,
        crypto::ring,
        pki_types::{CertificateDer, ServerName},
    },
};

scenarios! {
    only real, because "of a port, and tokens that the API server reviews":
    secure_metrics_are_only_for_users_who_may_read_them,
    a_token_for_another_audience_is_refused,
    a_renewed_certificate_is_served_without_a_restart,
    a_standby_replica_serves_its_metrics_too,
}

/// The role of users who may read metrics.
const READER: &str = "components/secure-metrics/clusterrole-metrics-reader.yaml";

/// An operator with secure metrics, without the permissions for them.
struct Secure {
    env: Environment,
    address: SocketAddr,
    /// With the operator's certificate and key.
    folder: TempDir,
}

impl Secure {
    /// Starts the operator with these flags too. Returns the certificate as well.
    async fn start(cluster: &Cluster, name: &str, flags: &[&str]) -> (Self, CertificateDer<'static>) {
        let folder = tempfile::tempdir().unwrap();
        let certificate = renew(&folder);
        let [port] = net::free_ports().unwrap();
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let files = folder.path().display().to_string();
        let args = ["--secure-metrics-addr", &address.to_string(), "--metrics-cert-dir", &files];
        let args = [&args[..], flags].concat().into_iter().map(str::to_owned).collect();
        let options = OperatorOptions { args, unready: true, ..OperatorOptions::default() };
        let env = Environment::start_with(cluster, name, options).await;
        (Self { env, address, folder }, certificate)
    }

    /// Binds the role of a manifest to a ServiceAccount.
    async fn bind(&self, manifest: &str, namespace: &str, account: &str) {
        let path = workspace().join("manifests").join(manifest).display().to_string();
        self.kubectl(&["apply", "--server-side", "--filename", &path]).await;
        let role = manifest.split("clusterrole-").nth(1).unwrap().trim_end_matches(".yaml");
        let role = format!("baton-{role}");
        let (name, account) = (format!("{role}:{}", self.env.ns()), format!("{namespace}:{account}"));
        let binding =
            ["create", "clusterrolebinding", &name, "--clusterrole", &role, "--serviceaccount", &account];
        self.kubectl(&binding).await;
    }

    /// The operator's ServiceAccount, in the namespace `default`.
    fn account(&self) -> &str {
        self.env.operator().user().rsplit(':').next().unwrap()
    }

    async fn kubectl(&self, args: &[&str]) -> String {
        self.env.cluster.real().kubectl(args).await.unwrap().success().unwrap()
    }

    /// A token of a new ServiceAccount.
    async fn token(&self, account: &str) -> String {
        let ns = self.env.ns();
        self.kubectl(&["create", "serviceaccount", account, "--namespace", ns]).await;
        self.kubectl(&["create", "token", account, "--namespace", ns]).await.trim().to_owned()
    }

    /// A token of this ServiceAccount for an audience.
    async fn token_for(&self, account: &str, audience: &str) -> String {
        let args = ["create", "token", account, "--audience", audience, "--namespace", self.env.ns()];
        self.kubectl(&args).await.trim().to_owned()
    }

    /// The response to a scrape with this token; none where the port isn't open yet, or serves another certificate.
    async fn scrape(&self, trusted: &CertificateDer<'static>, token: Option<&str>) -> Option<String> {
        let mut roots = RootCertStore::empty();
        roots.add(trusted.clone()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let stream = TcpStream::connect(self.address).await.ok()?;
        let name = ServerName::try_from(NAME).unwrap();
        let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.ok()?;
        let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
        let request = format!("GET /metrics HTTP/1.1\r\nHost: {NAME}\r\n{token}\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        Some(response)
    }

    /// Waits until a scrape has this status code.
    async fn responds(&self, trusted: &CertificateDer<'static>, token: Option<&str>, code: u16) -> String {
        eventually(&format!("a scrape with the response {code}"), async || {
            match self.scrape(trusted, token).await {
                Some(response) if response.starts_with(&format!("HTTP/1.1 {code} ")) => Ok(response),
                other => Err((other, self.env.operator().log_tail(10))),
            }
        })
        .await
    }
}

/// The name in the certificates.
const NAME: &str = "baton.baton-system.svc";

/// Writes a new certificate and its key, as cert-manager does.
fn renew(folder: &TempDir) -> CertificateDer<'static> {
    let rcgen::CertifiedKey { cert, signing_key } =
        rcgen::generate_simple_self_signed([NAME.to_owned()]).unwrap();
    fs::write(folder.path().join("tls.crt"), cert.pem()).unwrap();
    fs::write(folder.path().join("tls.key"), signing_key.serialize_pem()).unwrap();
    cert.der().clone()
}

async fn secure_metrics_are_only_for_users_who_may_read_them(cluster: Cluster) {
    let (secure, certificate) = Secure::start(&cluster, "secure-metrics", &[]).await;
    let operator = secure.env.operator();
    let [reader, stranger] = [secure.token("reader").await, secure.token("stranger").await];
    secure.bind(READER, secure.env.ns(), "reader").await;

    // No user gets metrics while the operator can't review tokens, and the self-check reports the missing permissions.
    eventually("a report of the missing permissions", async || match operator.readiness().await {
        Some((503, reasons)) if reasons.contains("permissions") => {
            let logs = operator.logs();
            let are_logged = ["tokenreviews", "subjectaccessreviews"].iter().all(|one| logs.contains(one));
            if are_logged { Ok(()) } else { Err(Some((503, logs))) }
        }
        other => Err(other),
    })
    .await;
    secure.responds(&certificate, Some(&reader), 503).await;
    secure.bind(SECURE_METRICS, "default", secure.account()).await;
    operator.wait_until_ready().await.unwrap();

    secure.responds(&certificate, None, 401).await;
    secure.responds(&certificate, Some("made-up"), 401).await;
    let refused = secure.responds(&certificate, Some(&stranger), 403).await;
    assert!(!refused.contains("baton_"), "{refused}");
    let metrics = secure.responds(&certificate, Some(&reader), 200).await;
    assert!(metrics.contains("baton_build_info"), "{metrics}");
    let denied = r#"baton_permission_denials_total{verb="create",resource="tokenreviews"}"#;
    assert!(
        metrics.contains(denied),
        "the API server's real response when a permission is missing:\n{metrics}"
    );

    // The admin port is only for the kubelet.
    let admin = operator.health_address();
    let [health, metrics] = ["/healthz", "/metrics"].map(|path| net::http_response(admin, path).unwrap().0);
    assert_eq!((health, metrics), (200, 404));
    let log = operator.logs();
    for token in [&reader, &stranger] {
        assert!(!log.contains(token.as_str()), "a token is in the log");
    }
}

async fn a_token_for_another_audience_is_refused(cluster: Cluster) {
    let flags = ["--metrics-audience", "baton"];
    let (secure, certificate) = Secure::start(&cluster, "audience", &flags).await;
    secure.bind(SECURE_METRICS, "default", secure.account()).await;
    let usual = secure.token("reader").await;
    secure.bind(READER, secure.env.ns(), "reader").await;
    let [meant, other] =
        [secure.token_for("reader", "baton").await, secure.token_for("reader", "other").await];
    secure.responds(&certificate, Some(&meant), 200).await;
    for refused in [usual, other] {
        secure.responds(&certificate, Some(&refused), 401).await;
    }
}

async fn a_renewed_certificate_is_served_without_a_restart(cluster: Cluster) {
    let (secure, old) = Secure::start(&cluster, "renewed", &[]).await;
    secure.responds(&old, None, 401).await;
    let new = renew(&secure.folder);
    secure.responds(&new, None, 401).await;
    assert_eq!(secure.scrape(&old, None).await, None);
}

async fn a_standby_replica_serves_its_metrics_too(cluster: Cluster) {
    let elsewhere = Environment::new(&cluster, "led").await.unwrap();
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "baton"},
        "spec": {"holderIdentity": "another", "leaseDurationSeconds": 3600, "renewTime": "2026-01-01T00:00:00.000000Z"},
    });
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": "election"},
        "rules": [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create", "get", "patch"]}],
    });
    elsewhere.kubectl("apply --server-side -f -", &[lease, role]).await.unwrap();
    let flags = ["--leader-elect", "--lease-namespace", elsewhere.ns()];
    let (secure, certificate) = Secure::start(&cluster, "stands-by", &flags).await;
    let reader = secure.token("reader").await;
    secure.bind(READER, secure.env.ns(), "reader").await;
    secure.bind(SECURE_METRICS, "default", secure.account()).await;
    let account = format!("default:{}", secure.account());
    let bind = format!("create rolebinding election --role election --serviceaccount {account}");
    elsewhere.kubectl(&bind, &[]).await.unwrap();

    eventually("the operator to stand by", async || {
        if secure.env.operator().logs().contains("standing by") {
            Ok(())
        } else {
            Err(secure.env.operator().log_tail(10))
        }
    })
    .await;
    let metrics = secure.responds(&certificate, Some(&reader), 200).await;
    assert!(metrics.contains("\nbaton_leader 0\n"), "{metrics}");
}
