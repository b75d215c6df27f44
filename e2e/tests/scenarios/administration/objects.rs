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
    Installation { overlay: None, section: "Install", namespace: "baton-system" },
    overlay("single-namespace", "Install for one namespace", "shop"),
    overlay("high-availability", "Install in three zones", "baton-system"),
    overlay("monitoring", "Install with monitoring", "baton-system"),
    overlay("openshift", "Install on OpenShift", "baton-system"),
    overlay("secure-metrics", "Install with secure metrics", "baton-system"),
    overlay("shard", "Install a shard", "baton-system"),
];

const fn overlay(name: &'static str, section: &'static str, namespace: &'static str) -> Installation {
    Installation { overlay: Some(name), section, namespace }
}

pub struct Installation {
    /// The name of a folder in `manifests/overlays`, and of a file with values in the chart's `examples`.
    overlay: Option<&'static str>,
    /// The heading in `docs/install.md`.
    pub section: &'static str,
    pub namespace: &'static str,
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
    /// The folder below `manifests`.
    pub fn folder(&self) -> String {
        self.overlay.map_or_else(|| ".".to_owned(), |name| format!("overlays/{name}"))
    }

    pub fn by_kustomize(&self) -> Objects {
        kustomized(&repository("manifests").join(self.folder()))
    }

    pub fn by_helm(&self) -> Objects {
        rendered(self.namespace, &self.helm_args()).unwrap()
    }

    /// The arguments of `helm` besides the release and the chart.
    pub fn helm_args(&self) -> Vec<String> {
        let file = |name| repository(&format!("charts/baton/examples/{name}.yaml")).display().to_string();
        self.overlay.map(|name| vec!["--values".to_owned(), file(name)]).unwrap_or_default()
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
