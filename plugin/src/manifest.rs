//! Manifests: files, folders and standard input, as `kubectl apply -f` reads them.

use std::{
    fs, io,
    io::BufRead,
    path::{Path, PathBuf},
};

use baton_apply::LiveObject;
use baton_merge::yaml;
use clap::Args;
use serde_json::Value;

use crate::text::quoted;

/// The name of standard input.
const STDIN: &str = "-";
/// The extensions of files that are read in a folder.
const EXTENSIONS: [&str; 3] = ["json", "yaml", "yml"];

/// The flags that name manifests.
#[derive(Clone, Debug, Args)]
pub(crate) struct ManifestArgs {
    /// A file, a folder with YAML and JSON files, or `-` for standard input. May be given several times.
    #[arg(short = 'f', long = "filename", required = true, value_name = "FILE", value_delimiter = ',')]
    pub(crate) files: Vec<PathBuf>,
    /// Also read the folders in a folder.
    #[arg(short = 'R', long)]
    recursive: bool,
}

/// An object in a manifest.
#[derive(Clone, Debug)]
pub(crate) struct Manifest {
    /// The file.
    pub(crate) file: String,
    pub(crate) object: Value,
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
}

/// The error of manifests that can't be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ManifestError {
    /// A file or folder can't be read.
    #[error("can't read {path}")]
    Read { path: String, source: io::Error },
    /// A file isn't YAML.
    #[error("can't read {path}")]
    Yaml { path: String, source: yaml::Error },
    /// An object lacks a member that every object has. `number` counts the objects of the file from 1.
    #[error(
        "{path}: object {number} has no {member} that is a text: an object needs apiVersion, kind and metadata.name"
    )]
    Incomplete { path: String, number: usize, member: &'static str },
    /// The metadata isn't that of an object.
    #[error("{path}: metadata that no object has")]
    Metadata { path: String, source: serde_json::Error },
    /// The files have no object.
    #[error("no objects in {0}")]
    Empty(String),
    /// An object is in another namespace than the command line names.
    #[error("{path}: the object is in the namespace {own}, but --namespace is {given}")]
    OtherNamespace { path: String, own: String, given: String },
}

impl ManifestArgs {
    /// The flags for these files and folders.
    pub(crate) fn of(files: Vec<PathBuf>) -> Self {
        Self { files, recursive: false }
    }

    /// Reads the manifests in their order; those of a folder by name.
    pub(crate) fn read(&self, input: &mut dyn BufRead) -> Result<Vec<Manifest>, ManifestError> {
        let mut manifests = Vec::new();
        for file in &self.files {
            let path = file.display().to_string();
            if path == STDIN {
                let mut text = String::new();
                input.read_to_string(&mut text).map_err(unread("standard input"))?;
                manifests.extend(of_text("standard input", &text)?);
                continue;
            }
            for path in self.files_of(file)? {
                manifests.extend(of_file(&path)?);
            }
        }
        if manifests.is_empty() {
            let files: Vec<_> = self.files.iter().map(|file| file.display().to_string()).collect();
            return Err(ManifestError::Empty(files.join(", ")));
        }
        Ok(manifests)
    }

    /// The flags for a command line that is printed.
    pub(crate) fn flags(&self) -> String {
        let files = self.files.iter().map(|file| format!("-f {}", quoted(&file.display().to_string())));
        let recursive = self.recursive.then(|| "-R".to_owned());
        files.chain(recursive).collect::<Vec<_>>().join(" ")
    }

    fn files_of(&self, path: &Path) -> Result<Vec<PathBuf>, ManifestError> {
        let name = path.display().to_string();
        if !fs::metadata(path).map_err(unread(&name))?.is_dir() {
            return Ok(vec![path.to_owned()]);
        }
        let entries = fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
        let mut paths: Vec<_> =
            entries.map_err(unread(&name))?.into_iter().map(|entry| entry.path()).collect();
        paths.sort();
        let mut files = Vec::new();
        for path in paths {
            if path.is_dir() {
                if self.recursive {
                    files.extend(self.files_of(&path)?);
                }
            } else if path.extension().is_some_and(|own| EXTENSIONS.iter().any(|known| own == *known)) {
                files.push(path);
            }
        }
        Ok(files)
    }
}

fn unread(path: &str) -> impl FnOnce(io::Error) -> ManifestError {
    let path = path.to_owned();
    |source| ManifestError::Read { path, source }
}

impl Manifest {
    /// The object as it was saved from a cluster.
    pub(crate) fn saved(self) -> Result<LiveObject, ManifestError> {
        let Self { file, object, .. } = self;
        LiveObject::from_json(object).map_err(|source| ManifestError::Metadata { path: file, source })
    }
}

/// The objects in a file.
pub(crate) fn of_file(path: &Path) -> Result<Vec<Manifest>, ManifestError> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).map_err(unread(&name))?;
    of_text(&name, &text)
}

/// The objects in a text of YAML documents. The items of a list are objects of their own.
pub(crate) fn of_text(path: &str, text: &str) -> Result<Vec<Manifest>, ManifestError> {
    let invalid = |source| ManifestError::Yaml { path: path.to_owned(), source };
    let mut objects = Vec::new();
    for document in yaml::read_all(text).map_err(invalid)? {
        match document.to().map_err(invalid)? {
            Value::Null => {}
            Value::Object(mut list) if list.get("kind").is_some_and(|kind| kind == "List") => {
                if let Some(Value::Array(items)) = list.remove("items") {
                    objects.extend(items);
                }
            }
            object => objects.push(object),
        }
    }
    let manifests = objects.into_iter().enumerate().map(|(index, object)| {
        let text = |pointer: &str| {
            let text = object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
            text.filter(|text| !text.is_empty())
        };
        let member = |member: &'static str, pointer: &str| {
            let number = index + 1;
            text(pointer).ok_or_else(|| ManifestError::Incomplete { path: path.to_owned(), number, member })
        };
        Ok(Manifest {
            file: path.to_owned(),
            api_version: member("apiVersion", "/apiVersion")?,
            kind: member("kind", "/kind")?,
            name: member("metadata.name", "/metadata/name")?,
            namespace: text("/metadata/namespace"),
            object,
        })
    });
    manifests.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<String>, String> {
        let manifests = of_text("web.yaml", text).map_err(|error| error.to_string())?;
        Ok(manifests
            .into_iter()
            .map(|own| format!("{} {} {}", own.api_version, own.kind, own.name))
            .collect())
    }

    #[test]
    fn documents_and_items_of_lists_are_objects() {
        let one = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n";
        let list = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: apps/v1, kind: Deployment, metadata: {name: b}}\n";
        assert_eq!(
            read(&format!("---\n{one}---\n---\n{list}")).unwrap(),
            ["v1 Secret a", "apps/v1 Deployment b"]
        );
        assert_eq!(read("# nothing\n").unwrap(), [] as [&str; 0]);
    }

    #[test]
    fn values_are_what_kubectl_reads() {
        let text = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nx: &x {mode: 0644, host: no}\nz: {<<: *x, size: 1_000, a: yes}\n";
        let object = of_text("pod.yaml", text).unwrap().remove(0).object;
        assert_eq!(object["z"], serde_json::json!({"mode": 420, "host": false, "size": 1000, "a": true}));
    }

    #[test]
    fn what_is_missing_is_named_with_its_object() {
        let error =
            read("apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n---\nkind: Secret\n").unwrap_err();
        assert_eq!(
            error,
            "web.yaml: object 2 has no apiVersion that is a text: an object needs apiVersion, kind and metadata.name"
        );
        assert!(
            read("apiVersion: v1\nkind: Secret\nmetadata: {name: n}\n")
                .unwrap_err()
                .contains("no metadata.name that is a text")
        );
        assert!(read("[1]").unwrap_err().contains("no apiVersion that is a text"));
    }
}
