//! buildah with a storage of its own in the cache folder, and the archives of the images that came of it. It doesn't know
//! what the images are.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use super::Image;
use crate::{Error, Process, assets};

/// Where buildah keeps what builds mount as caches, such as cargo's target folder.
const CACHES: &str = "caches";
/// How many lines of a failed build are shown.
const SHOWN: usize = 40;
/// How long a build may take: far longer than it does, also on a slow machine.
const LIMIT: Duration = Duration::from_hours(1);

/// A storage of images in the cache folder.
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// The one in the cache folder, made now if it isn't there.
    pub fn open() -> Result<Self, Error> {
        let folder = assets::cache_dir()?.join("images");
        let caches = folder.join(CACHES);
        fs::create_dir_all(&caches).map_err(Error::file("create", &caches))?;
        Ok(Self { folder })
    }

    /// The image that `build` makes of what `content` stands for, which is built only if that wasn't done before.
    ///
    /// # Errors
    /// Those of `build`, or when the image can't be saved.
    pub fn once<C: AsRef<[u8]>>(
        &self,
        name: &str,
        content: &[C],
        build: impl FnOnce(&Self) -> Result<(), Error>,
    ) -> Result<Image, Error> {
        let content = content.iter().map(AsRef::as_ref);
        let key = assets::key(content.chain([name.as_bytes()]));
        let archive = self.folder.join(format!("{key}.tar"));
        let image = Image { name: name.to_owned(), archive };
        if image.archive.exists() {
            return Ok(image);
        }
        // Held until the end of this function.
        let _lock = assets::lock(&self.folder.join("lock"))?;
        if !image.archive.exists() {
            build(self)?;
            self.save(&image)?;
        }
        Ok(image)
    }

    /// Builds by this recipe, of files in the folder `context`.
    ///
    /// # Errors
    /// With the end of what buildah wrote.
    pub fn build(&self, name: &str, recipe: &str, context: &Path) -> Result<(), Error> {
        let file = self.folder.join("recipe");
        fs::write(&file, recipe).map_err(Error::file("write", &file))?;
        self.run(self.buildah("build").args(["--tag", name, "--file"]).arg(&file).arg(context))
    }

    /// A command of buildah on this storage.
    pub fn buildah(&self, command: &str) -> Command {
        let mut buildah = Command::new("buildah");
        buildah
            .arg("--root")
            .arg(self.folder.join("storage"))
            .arg("--runroot")
            .arg(self.folder.join("storage-run"))
            .args(["--storage-driver", "overlay", command])
            .env("TMPDIR", self.folder.join(CACHES));
        if command == "build" {
            // There is no registry to ask, and a container runtime isn't needed for building.
            buildah.args(["--pull=never", "--isolation=chroot", "--layers=false", "--quiet"]);
        }
        buildah
    }

    /// Runs a command to its end. It ends with this program at the latest.
    ///
    /// # Errors
    /// With the end of what it wrote, when it fails.
    pub fn run(&self, command: &Command) -> Result<(), Error> {
        let log = self.folder.join("log");
        let buildah = Process::spawn("buildah", command, &log, Duration::ZERO)?;
        match buildah.wait(LIMIT) {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(Error::Failed {
                command: format!("{command:?}"),
                folder: self.folder.clone(),
                status,
                output: buildah.log_tail(SHOWN),
            }),
            None => Err(Error::Timeout {
                what: format!("the end of {command:?}"),
                limit: LIMIT,
                state: format!("it said:\n{}", buildah.log_tail(SHOWN)),
            }),
        }
    }

    /// Complete or not at all: written under another name first.
    fn save(&self, image: &Image) -> Result<(), Error> {
        let partial = image.archive.with_extension("partial");
        if partial.exists() {
            fs::remove_file(&partial).map_err(Error::file("remove", &partial))?;
        }
        let target = format!("docker-archive:{}:{}", partial.display(), image.name);
        self.run(self.buildah("push").args([&image.name, &target]))?;
        fs::rename(&partial, &image.archive).map_err(Error::file("create", &image.archive))
    }
}
