//! Images of containers as files: built by buildah, without any registry, and kept in the cache by the content that they
//! were built from. It doesn't know what runs them.

mod store;

use std::path::{Path, PathBuf};

pub use self::store::Store;
use crate::{Error, assets};

/// Users of images, by number.
const NOBODY: &str = "65532:65532";
const ROOT: &str = "0:0";

/// An image in a file, as `docker save` writes it.
#[derive(Clone, Debug)]
pub struct Image {
    name: String,
    archive: PathBuf,
}

impl Image {
    /// A program that waits for a signal to end. As the pause image it holds each pod's
    /// namespaces.
    ///
    /// # Errors
    /// When the program or the image can't be built. This blocks, for a few seconds the first time.
    pub fn pause(name: &str) -> Result<Self, Error> {
        Self::of_program(&assets::pods()?, &["pause"], NOBODY, name)
    }

    /// A small web server on port 8080: `GET /` returns the pod's name, and `POST /load?for=30s` keeps a processor
    /// busy for so long. It needs no user, no capability and no writable file.
    pub fn web() -> Result<Self, Error> {
        Self::of_program(&assets::pods()?, &["web", "8080"], NOBODY, "localhost/web:1")
    }

    /// The same web server on port 80, as root, by the name of an image that a registry would have.
    pub fn web_in_place_of(name: &str) -> Result<Self, Error> {
        Self::of_program(&assets::pods()?, &["web", "80"], ROOT, name)
    }

    /// Upstream's metrics-server.
    pub(super) fn metrics_server(name: &str) -> Result<Self, Error> {
        Self::of_program(&assets::metrics_server()?, &[], NOBODY, name)
    }

    /// One static program and nothing else, with its first arguments and its user.
    fn of_program(program: &Path, args: &[&str], user: &str, name: &str) -> Result<Self, Error> {
        let file = program.file_name().unwrap_or_default().to_string_lossy();
        let entrypoint: Vec<String> =
            [format!("/{file}")].into_iter().chain(args.iter().map(ToString::to_string)).collect();
        let recipe = format!(
            "FROM scratch\nCOPY {file} /{file}\nUSER {user}\nENTRYPOINT {}\n",
            serde_json::json!(entrypoint)
        );
        let context = program.parent().unwrap_or(program);
        Store::open()?.once(name, &[&recipe, &program.display().to_string()], |store| {
            store.build(name, &recipe, context)
        })
    }

    /// Its name, such as `localhost/web:1`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file.
    pub fn archive(&self) -> &Path {
        &self.archive
    }
}
