//! A namespace for one test, gone with it.

use std::{fmt, path::PathBuf, thread};

use k8s_openapi::api::core::v1 as core;
use kube::{Api, api::DeleteParams};

use crate::kubeconfig;

/// A namespace that nobody else uses. Dropping it has it deleted, without waiting until everything in it is gone.
#[derive(Debug)]
pub struct Namespace {
    name: String,
    kubeconfig: PathBuf,
    kept: bool,
}

impl Namespace {
    pub(crate) fn new(name: String, kubeconfig: PathBuf) -> Self {
        Self { name, kubeconfig, kept: false }
    }

    /// The namespace's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Leaves it where it is, for a cluster that is kept too.
    pub fn keep(mut self) {
        self.kept = true;
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
        if self.kept {
            return;
        }
        let (name, path) = (std::mem::take(&mut self.name), std::mem::take(&mut self.kubeconfig));
        let request = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
            runtime.block_on(async {
                let namespaces: Api<core::Namespace> = Api::all(kubeconfig::client(&path).await.ok()?);
                namespaces.delete(&name, &DeleteParams::background()).await.ok()
            })
        });
        let _ = request.join();
    }
}
