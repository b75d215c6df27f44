//! A terminal with kubectl, and a server of its own.

use std::{fmt::Write as _, fs, path::PathBuf, process::Stdio};

use baton_apiserver::{ApiServer, Serving};
use baton_e2e::session::{self, World};
use baton_testbed::{
    Error,
    assets::{Assets, Program},
    blocking, workspace,
};
use tempfile::TempDir;
use tokio::process::Command;

pub struct Terminal {
    kubectl: PathBuf,
    folder: TempDir,
    _serving: Serving,
}

/// The lines of a shown object that differ in each run.
const GENERATED: [&str; 4] = ["  uid: ", "  resourceVersion: ", "  UID: ", "  Resource Version: "];

impl Terminal {
    /// A terminal with an empty server, whose clock doesn't move, and with Baton's CRD as a file.
    pub async fn open() -> anyhow::Result<Self> {
        let assets = blocking(|| Assets::locate(&[Program::Kubectl])).await?;
        let now = "2026-01-01T00:00:00Z".parse()?;
        let server = ApiServer::builder().release("1.36.3".parse()?).clock(move || now).start()?;
        let serving = server.serve("127.0.0.1:0".parse()?).await?;
        let folder = TempDir::new()?;
        fs::write(folder.path().join("kubeconfig"), serving.kubeconfig())?;
        let crd = workspace().join("manifests/crd/workloads.baton.rs.yaml");
        fs::copy(crd, folder.path().join("workloads.yaml"))?;
        Ok(Self { kubectl: assets.path(Program::Kubectl), folder, _serving: serving })
    }
}

impl World for Terminal {
    fn save(&self, name: &str, text: &str) -> Result<(), Error> {
        let path = self.folder.path().join(name);
        fs::write(&path, text).map_err(Error::file("write", path))
    }

    /// The output has no lines that differ in each run, and no empty ones.
    async fn run(&self, command: &str, _: &str) -> Result<String, Error> {
        let words = shlex::split(command).unwrap_or_default();
        let Some(("kubectl", args)) = words.split_first().map(|(program, args)| (&**program, args)) else {
            return Err(Error::parse(command)("only kubectl can be run"));
        };
        let folder = self.folder.path();
        let output = Command::new(&self.kubectl)
            .args(args)
            .current_dir(folder)
            .env("KUBECONFIG", folder.join("kubeconfig"))
            .env("KUBECACHEDIR", folder.join("cache"))
            .env("KUBERC", "off")
            .env("KUBE_EDITOR", "sed -i s/nginx:1.27/nginx:1.28/")
            .env("KUBECTL_EXTERNAL_DIFF", "diff -U0 --label=live --label=merged")
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .map_err(Error::spawn("kubectl"))?;
        let mut shown = String::new();
        for line in
            [&output.stdout, &output.stderr].into_iter().flat_map(|text| text.split(|byte| *byte == b'\n'))
        {
            let line = String::from_utf8_lossy(line);
            if !line.trim().is_empty() && !GENERATED.iter().any(|generated| line.starts_with(generated)) {
                let _ = writeln!(shown, "{}", line.trim_end());
            }
        }
        Ok(session::output(shown, output.status.code().unwrap_or(-1)))
    }

    async fn pause(&self) {}
}
