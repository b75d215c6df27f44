//! A namespace for one test.

use std::{
    fmt,
    path::{Path, PathBuf},
    thread,
};

use k8s_openapi::api::{autoscaling::v2::HorizontalPodAutoscaler, core::v1 as core};
use kube::{
    Api, Client, ResourceExt as _,
    api::{DeleteParams, ListParams, ObjectMeta, PostParams},
};

use crate::{Error, kubeconfig};

/// A namespace for one test.
///
/// In a cluster that was given, and on a real node, a drop deletes it without waiting for its objects. Elsewhere it stays until its
/// cluster ends, since its deletion lists the objects of every kind: a fifth of the API server's work in a run of all tests. Only its
/// autoscalers are deleted, since each of them costs requests every second.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    kubeconfig: PathBuf,
    /// The objects that a drop deletes.
    on_drop: Option<Deleted>,
}

/// Creates a namespace with a name that begins with `prefix` and is otherwise unique; that name.
pub(crate) async fn create(client: Client, prefix: &str) -> Result<String, Error> {
    let wanted = core::Namespace {
        metadata: ObjectMeta { generate_name: Some(format!("{prefix}-")), ..ObjectMeta::default() },
        ..core::Namespace::default()
    };
    let made = Api::all(client).create(&PostParams::default(), &wanted).await;
    Ok(made.map_err(Error::api(format!("create a namespace {prefix}-…")))?.name_any())
}

#[derive(Clone, Copy, Debug)]
enum Deleted {
    Namespace,
    Autoscalers,
}

impl Namespace {
    /// The namespace of this name. If it `may_stay`, a drop deletes only its autoscalers.
    pub(crate) fn new(name: String, kubeconfig: PathBuf, may_stay: bool) -> Self {
        let deleted = if may_stay { Deleted::Autoscalers } else { Deleted::Namespace };
        Self { name, kubeconfig, on_drop: Some(deleted) }
    }

    /// A namespace that ends with its cluster.
    pub(crate) fn of_its_cluster(name: String) -> Self {
        Self { name, kubeconfig: PathBuf::new(), on_drop: None }
    }

    /// The namespace's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Leaves it as it is, with all that is in it.
    pub fn keep(mut self) {
        self.on_drop = None;
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl Drop for Namespace {
    /// The runtime that is current here may be about to end, and can't be waited on in any case; so the request has a
    /// thread and a runtime of its own. It takes milliseconds, and a failure is no reason to fail a test.
    fn drop(&mut self) {
        let Some(deleted) = self.on_drop else { return };
        let (name, path) = (std::mem::take(&mut self.name), std::mem::take(&mut self.kubeconfig));
        let request = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            runtime.block_on(deleted.delete(&path, &name)).ok()
        });
        let _ = request.join();
    }
}

impl Deleted {
    async fn delete(self, kubeconfig: &Path, name: &str) -> Result<(), Error> {
        let (client, params) = (kubeconfig::client(kubeconfig).await?, DeleteParams::background());
        match self {
            Self::Namespace => Api::<core::Namespace>::all(client).delete(name, &params).await.map(drop),
            Self::Autoscalers => {
                let autoscalers: Api<HorizontalPodAutoscaler> = Api::namespaced(client, name);
                autoscalers.delete_collection(&params, &ListParams::default()).await.map(drop)
            }
        }
        .map_err(Error::api(format!("clear the namespace {name}")))
    }
}
