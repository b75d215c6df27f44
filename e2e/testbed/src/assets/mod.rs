//! Where the programs of the control plane are: in the folder that `KUBEBUILDER_ASSETS` names, or else in the cache,
//! after a build if need be; and likewise other [programs written in Go](GoProgram), which are always built. It knows their
//! names and sources, and nothing of how they are run.

mod build;
mod go;
mod key;

use std::{env, fs, path::PathBuf};

pub(crate) use self::{build::lock, key::of as key};
use crate::{Error, workspace};

/// A program of the test cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Program {
    /// The store.
    Etcd,
    /// The API server.
    ApiServer,
    /// The controllers: Deployments, autoscalers, garbage collection…
    ControllerManager,
    /// Assigns pods to nodes.
    Scheduler,
    /// The command line client.
    Kubectl,
    /// Plays the nodes.
    Kwok,
    /// Runs the pods of a real node.
    Kubelet,
    /// Leads a real node's connections from Services to pods.
    KubeProxy,
}

impl Program {
    /// A control plane with KWOK's nodes.
    pub const CONTROL_PLANE: [Self; 6] =
        [Self::Etcd, Self::ApiServer, Self::ControllerManager, Self::Scheduler, Self::Kubectl, Self::Kwok];
    /// A control plane with a real node.
    pub const WITH_NODE: [Self; 7] = [
        Self::Etcd,
        Self::ApiServer,
        Self::ControllerManager,
        Self::Scheduler,
        Self::Kubectl,
        Self::Kubelet,
        Self::KubeProxy,
    ];
    /// Those that are one binary with many names.
    const MULTI_CALL: [Self; 7] = Self::WITH_NODE;

    /// The name of its binary, the one that upstream gives it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Scheduler => "kube-scheduler",
            Self::Kubectl => "kubectl",
            Self::Kwok => "kwok",
            Self::Kubelet => "kubelet",
            Self::KubeProxy => "kube-proxy",
        }
    }
}

/// The folder with the Go modules that the programs are built from; the one for KWOK lies within.
pub(crate) fn source() -> PathBuf {
    folder("controlplane")
}

/// A Go program of its own, in a module of its own.
pub struct GoProgram<'a> {
    /// A short text for people.
    pub title: &'a str,
    /// The folder of its module.
    pub source: PathBuf,
    /// The path of another `go.mod` to use instead, relative to it.
    pub module_file: Option<PathBuf>,
    /// The main package.
    pub package: &'static str,
    /// The name of its binary, and of its folder in the cache.
    pub name: &'static str,
    /// How many packages are compiled for it, about.
    pub packages: usize,
    /// How long that takes on two cores, for people.
    pub takes: &'static str,
}

impl GoProgram<'_> {
    /// The binary, from the cache or built now. A build takes minutes, reports to standard error, and blocks the thread.
    pub fn binary(&self) -> Result<PathBuf, Error> {
        build::program(self, &cache_dir()?)
    }
}

/// Helm, from the cache or built now. A build takes minutes, reports to standard error, and blocks the thread.
pub fn helm() -> Result<PathBuf, Error> {
    GoProgram {
        title: "Helm",
        source: folder("helm"),
        module_file: None,
        package: "helm.sh/helm/v4/cmd/helm",
        name: "helm",
        packages: 1_200,
        takes: "one to three minutes",
    }
    .binary()
}

/// A program that reads PromQL with Prometheus' own parser, from the cache or built now. A build reports to standard error, and
/// blocks the thread.
pub fn promql() -> Result<PathBuf, Error> {
    GoProgram {
        title: "a reader of PromQL",
        source: folder("promql"),
        module_file: None,
        package: ".",
        name: "promql",
        packages: 260,
        takes: "half a minute",
    }
    .binary()
}

/// A program that judges objects as kstatus, Argo CD and kube-state-metrics do, from the cache or built now. A build reports to
/// standard error, and blocks the thread.
pub fn health() -> Result<PathBuf, Error> {
    GoProgram {
        title: "a judge of health",
        source: folder("health"),
        module_file: None,
        package: ".",
        name: "health",
        packages: 770,
        takes: "one to three minutes",
    }
    .binary()
}

/// The program in the pods of a real node: static, and our own. It is built if it isn't in the cache.
pub(crate) fn pods() -> Result<PathBuf, Error> {
    GoProgram {
        title: "what runs in pods",
        source: folder("node/pods"),
        module_file: None,
        package: ".",
        name: "pods",
        packages: 300,
        takes: "half a minute",
    }
    .binary()
}

/// Upstream's metrics-server; built now if it isn't in the cache, which blocks the thread.
pub(crate) fn metrics_server() -> Result<PathBuf, Error> {
    GoProgram {
        title: "metrics-server",
        source: folder("node/metrics-server"),
        module_file: None,
        package: "sigs.k8s.io/metrics-server/cmd/metrics-server",
        name: "metrics-server",
        packages: 1_500,
        takes: "one to three minutes",
    }
    .binary()
}

/// A folder with the sources of a program.
fn folder(name: &str) -> PathBuf {
    workspace().join("e2e").join(name)
}

/// The programs, found or built.
#[derive(Clone, Debug)]
pub struct Assets {
    given: Option<PathBuf>,
    /// Absent when everything was given.
    built: Option<PathBuf>,
}

impl Assets {
    /// Finds `programs`, and builds them first if one is neither in `KUBEBUILDER_ASSETS` nor in the cache. A build takes
    /// minutes, reports to standard error, and blocks the thread. Of several processes that need it, one builds and the others wait.
    pub fn locate(programs: &[Program]) -> Result<Self, Error> {
        let given = env::var_os("KUBEBUILDER_ASSETS").filter(|value| !value.is_empty()).map(PathBuf::from);
        let assets = Self { given, built: None };
        if programs.iter().all(|program| assets.given(*program).is_some()) {
            return Ok(assets);
        }
        Ok(Self { built: Some(build::control_plane(&source(), &cache_dir()?)?), ..assets })
    }

    /// Where a program is that needs no build: in `KUBEBUILDER_ASSETS`, in the cache, which may have it of an earlier state of this
    /// repository, or on the PATH.
    pub fn present(program: Program) -> Option<PathBuf> {
        let given = env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from);
        let path = env::var_os("PATH").unwrap_or_default();
        let builds = cache_dir().ok().and_then(|cache| fs::read_dir(build::of_control_plane(&cache)).ok());
        let builds = builds.into_iter().flatten().flatten().map(|build| build.path());
        // One that isn't complete has another name.
        let complete = builds.filter(|build| build.extension().is_none());
        let folders = given.into_iter().chain(complete).chain(env::split_paths(&path));
        folders.map(|folder| folder.join(program.name())).find(|path| path.is_file())
    }

    /// The path of a program. A program that wasn't [located](Self::locate) may be missing there.
    pub fn path(&self, program: Program) -> PathBuf {
        self.given(program)
            .or_else(|| self.built.as_ref().map(|folder| folder.join(program.name())))
            .unwrap_or_else(|| PathBuf::from(program.name()))
    }

    fn given(&self, program: Program) -> Option<PathBuf> {
        let path = self.given.as_ref()?.join(program.name());
        path.is_file().then_some(path)
    }
}

/// `BATON_CACHE_DIR`, or `baton` in the user's cache folder as XDG defines that.
pub(crate) fn cache_dir() -> Result<PathBuf, Error> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("BATON_CACHE_DIR")
        .or_else(|| variable("XDG_CACHE_HOME").map(|folder| folder.join("baton")))
        .or_else(|| variable("HOME").map(|folder| folder.join(".cache/baton")))
        .ok_or_else(|| {
            let nowhere = std::io::Error::other("none of BATON_CACHE_DIR, XDG_CACHE_HOME and HOME is set");
            Error::file("find", "the cache folder")(nowhere)
        })
}
