//! Disturbances of a cluster's own parts: restarts of the API server, and compactions of etcd.

use std::net::{Ipv4Addr, SocketAddr};

use serde::Deserialize;
use serde_json::json;

use super::{
    ControlPlane,
    components::{self, Layout},
    start,
};
use crate::{Error, assets::Program, blocking, kubeconfig, net};

impl ControlPlane {
    /// Ends the API server by SIGKILL, starts it again with the same port, data and keys, and waits until it is ready.
    /// Clients see connections that break and then are refused. The [shared](Self::shared) control plane can't be restarted.
    ///
    /// # Errors
    /// When the cluster was given, or when the API server doesn't become ready again; the message shows the end of its log.
    pub async fn restart_api_server(&mut self) -> Result<(), Error> {
        let folder = self.folder.path();
        let Some(local) = &mut self.local else {
            return Err(Error::GivenCluster { what: "restarting the API server" });
        };
        let layout = Layout(folder);
        local.restarts += 1;
        // The log of the one before stays.
        let name = format!("{}.{}.log", Program::ApiServer.name(), local.restarts);
        let command = components::api_server(&layout, &local.assets, &local.options, local.ports);
        let is_api_server = |process: &&mut crate::Process| process.name() == Program::ApiServer.name();
        if let Some(process) = local.processes.iter_mut().find(is_api_server) {
            process.kill();
            *process = start::spawn_component(
                &local.options,
                Program::ApiServer,
                command,
                &layout.logs().join(name),
            )?;
        }
        // Without a backoff that would grow with each refused connection.
        let client = kubeconfig::impatient_client(&self.kubeconfig).await?;
        let processes: Vec<_> = local.processes.iter().collect();
        start::while_running("kube-apiserver being ready again", &processes, async || {
            Ok(start::is_ready(&client).await)
        })
        .await
    }

    /// Makes etcd forget all that is older than now. A request for a version before that, as of a watch that is taken
    /// up again, gets a 410 once the API server's own memory doesn't reach back so far either: after a
    /// [restart](Self::restart_api_server) at the latest.
    ///
    /// # Errors
    /// When the cluster was given, or when etcd doesn't do it.
    pub async fn compact_etcd(&self) -> Result<(), Error> {
        let Some(local) = &self.local else {
            return Err(Error::GivenCluster { what: "compacting etcd" });
        };
        let etcd = SocketAddr::from((Ipv4Addr::LOCALHOST, local.ports.etcd));
        blocking(move || compact(etcd)).await
    }
}

/// By etcd's JSON gateway, in which numbers of 64 bits are strings.
fn compact(etcd: SocketAddr) -> Result<(), Error> {
    #[derive(Deserialize)]
    struct Response {
        header: Header,
    }
    #[derive(Deserialize)]
    struct Header {
        revision: String,
    }

    let what = "etcd's response";
    // Any request will do: each response has the revision. This one is for a key that doesn't exist, "\0".
    let response =
        net::http_post(etcd, "/v3/kv/range", &json!({"key": "AA=="})).map_err(Error::parse(what))?;
    let response: Response = serde_json::from_str(&response).map_err(Error::parse(what))?;
    let request = json!({"revision": response.header.revision, "physical": true});
    net::http_post(etcd, "/v3/kv/compaction", &request).map_err(Error::parse(what))?;
    Ok(())
}
