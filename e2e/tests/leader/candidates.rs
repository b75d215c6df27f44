//! Operators with leader election in a namespace of their own, each as a user of its own, and their Workload.

use std::time::Duration;

use baton_controller::process::cli::LEASE;
use baton_e2e::{
    Environment, Operator, OperatorOptions,
    permissions::{ELECTION, granted},
};
use baton_testbed::{Cluster, Proxy, eventually};
use k8s_openapi::api::{
    coordination::v1::Lease,
    rbac::v1::{Role, RoleBinding},
};
use kube::api::PostParams;
use serde_json::json;

/// The times of these elections: as short as a busy machine allows.
pub const LEASE_DURATION: Duration = Duration::from_secs(5);
pub const RENEW_DEADLINE: Duration = Duration::from_secs(3);
pub const RETRY_PERIOD: Duration = Duration::from_millis(500);

pub struct Candidates {
    pub env: Environment,
}

impl Candidates {
    /// A new namespace in which operators of these names may elect a leader.
    pub async fn of(cluster: &Cluster, names: &[&str]) -> Self {
        let candidates = Self { env: Environment::new(cluster, "leader").await.unwrap() };
        candidates.allow_election(names).await;
        candidates
    }

    pub fn ns(&self) -> &str {
        self.env.ns()
    }

    /// Grants what the manifests grant in the operator's namespace.
    async fn allow_election(&self, names: &[&str]) {
        let rules: Vec<_> = granted(ELECTION)
            .unwrap()
            .into_iter()
            .map(|one| {
                let names: Vec<_> = one.name.into_iter().collect();
                json!({
                    "apiGroups": [one.group], "resources": [one.resource], "resourceNames": names, "verbs": [one.verb],
                })
            })
            .collect();
        let role = json!({"metadata": {"name": "election"}, "rules": rules});
        let subjects: Vec<_> = names
            .iter()
            .map(|name| json!({"kind": "ServiceAccount", "name": self.user(name), "namespace": self.ns()}))
            .collect();
        let binding = json!({
            "metadata": {"name": "election"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "election"},
            "subjects": subjects,
        });
        let params = PostParams::default();
        let granted = self.env.api::<Role>();
        granted.create(&params, &serde_json::from_value(role).unwrap()).await.unwrap();
        let bindings = self.env.api::<RoleBinding>();
        bindings.create(&params, &serde_json::from_value(binding).unwrap()).await.unwrap();
    }

    fn user(&self, name: &str) -> String {
        format!("{name}-{}", self.env.namespace)
    }

    /// Starts an operator of this name and waits until it is ready, as the leader or not.
    pub async fn start(&self, name: &str, proxy: Option<&Proxy>) -> Operator {
        let span = |span: Duration| format!("{}ms", span.as_millis());
        let args = [
            "--leader-elect".to_owned(),
            format!("--lease-namespace={}", self.ns()),
            format!("--identity={name}"),
            format!("--lease-duration={}", span(LEASE_DURATION)),
            format!("--renew-deadline={}", span(RENEW_DEADLINE)),
            format!("--retry-period={}", span(RETRY_PERIOD)),
        ];
        let options = OperatorOptions {
            home: Some(self.ns().to_owned()),
            name: Some(self.user(name)),
            args: args.to_vec(),
            by_way_of: proxy.map(Proxy::route),
            ..OperatorOptions::default()
        };
        match self.env.start_operator(options).await {
            Ok(operator) => operator,
            Err(error) => panic!("{name}: {}", error.report()),
        }
    }

    /// Waits until this one leads.
    pub async fn leads(&self, name: &str) {
        eventually(&format!("{name} to lead"), async || match self.holder().await {
            Some(holder) if holder == name => Ok(()),
            holder => Err(holder),
        })
        .await;
    }

    /// The holder of the lease.
    pub async fn holder(&self) -> Option<String> {
        self.env
            .api::<Lease>()
            .get_opt(LEASE)
            .await
            .unwrap()?
            .spec?
            .holder_identity
            .filter(|holder| !holder.is_empty())
    }
}
