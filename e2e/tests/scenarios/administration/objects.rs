//! The objects of an installation, as kustomize and as Helm render them.

use std::{
    collections::BTreeMap,
    env, fmt,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use baton_merge::yaml;
use baton_testbed::assets::{self, Assets, Program};
use serde_json::Value;

/// The installations that exist for both kustomize and Helm.
pub const INSTALLATIONS: [Installation; 7] = [
    Installation { folder: ".", section: "Install", namespace: "baton-system", values: None },
    Installation {
        folder: "overlays/single-namespace",
        section: "Install for one namespace",
        namespace: "shop",
        values: Some("single-namespace.yaml"),
    },
    Installation {
        folder: "overlays/high-availability",
        section: "Install in three zones",
        namespace: "baton-system",
        values: Some("high-availability.yaml"),
    },
    Installation {
        folder: "overlays/monitoring",
        section: "Install with monitoring",
        namespace: "baton-system",
        values: Some("monitoring.yaml"),
    },
    Installation {
        folder: "overlays/openshift",
        section: "Install on OpenShift",
        namespace: "baton-system",
        values: Some("openshift.yaml"),
    },
    Installation {
        folder: "overlays/secure-metrics",
        section: "Install with secure metrics",
        namespace: "baton-system",
        values: Some("secure-metrics.yaml"),
    },
    Installation {
        folder: "overlays/shard",
        section: "Install a shard",
        namespace: "baton-system",
        values: Some("shard.yaml"),
    },
];

pub struct Installation {
    /// Below `manifests/`.
    pub folder: &'static str,
    /// Of `docs/install.md`.
    pub section: &'static str,
    pub namespace: &'static str,
    /// Below the chart's `examples/`.
    pub values: Option<&'static str>,
}

/// The identity of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    pub kind: String,
    pub namespace: Option<String>,
    pub name: String,
}

impl Id {
    fn of(object: &Value) -> Self {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        Self {
            kind: text(&object["kind"]).unwrap(),
            namespace: text(&object["metadata"]["namespace"]),
            name: text(&object["metadata"]["name"]).unwrap(),
        }
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind, self.name)?;
        self.namespace.iter().try_for_each(|namespace| write!(f, " in {namespace}"))
    }
}

pub type Objects = BTreeMap<Id, Value>;

/// A file or folder of the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

impl Installation {
    pub fn by_kustomize(&self) -> Objects {
        kustomized(&repository("manifests").join(self.folder))
    }

    pub fn by_helm(&self) -> Objects {
        rendered(self.namespace, &self.helm_args()).unwrap()
    }

    /// The arguments of `helm` besides the release and the chart.
    pub fn helm_args(&self) -> Vec<String> {
        let file = |name| repository("charts/baton/examples").join(name).display().to_string();
        self.values.map(|name| vec!["--values".to_owned(), file(name)]).unwrap_or_default()
    }
}

/// The objects that kustomize renders from a folder.
pub fn kustomized(folder: &Path) -> Objects {
    kustomize(folder).unwrap_or_else(|error| panic!("{error}"))
}

/// The objects that kustomize renders from a folder, or its error.
pub fn kustomize(folder: &Path) -> Result<Objects, String> {
    let kubectl = Assets::locate(&[Program::Kubectl]).unwrap().path(Program::Kubectl);
    result(Command::new(kubectl).arg("kustomize").arg(folder))
}

/// The objects that a command prints, or its error.
fn result(command: &mut Command) -> Result<Objects, String> {
    let output = command.output().unwrap();
    if output.status.success() {
        Ok(parse(&String::from_utf8(output.stdout).unwrap()))
    } else {
        Err(String::from_utf8(output.stderr).unwrap())
    }
}

/// The objects that the chart renders with these arguments, or Helm's error.
pub fn rendered(namespace: &str, args: &[String]) -> Result<Objects, String> {
    let mut command = helm();
    command.args(["template", "baton", "--namespace", namespace]).arg(repository("charts/baton")).args(args);
    result(&mut command)
}

/// Helm, without the user's own configuration.
pub fn helm() -> Command {
    static HELM: OnceLock<PathBuf> = OnceLock::new();
    let mut command = Command::new(HELM.get_or_init(|| assets::helm().unwrap()));
    for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("HELM_")) {
        command.env_remove(name);
    }
    let nowhere = Path::new(env!("CARGO_TARGET_TMPDIR")).join("helm");
    for name in ["HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"] {
        command.env(name, &nowhere);
    }
    command.env("KUBECONFIG", "/dev/null");
    command
}

pub fn parse(text: &str) -> Objects {
    let mut objects = Objects::new();
    for document in yaml::read_all(text).unwrap() {
        let object: Value = document.to().unwrap();
        if object.is_null() {
            continue;
        }
        let id = Id::of(&object);
        assert!(objects.insert(id.clone(), object).is_none(), "there are two of {id}");
    }
    objects
}
