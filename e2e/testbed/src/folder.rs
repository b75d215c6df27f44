//! A temporary folder that is removed when its owner ends, also if the owner is killed.

use std::{
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use crate::{Error, janitor::Janitor};

/// Removes the folder `$1`. The processes that were using it are being killed at that time, so the first attempt may meet
/// one that still writes.
const REMOVE: &str = r#"
tries=10
while [ "$tries" -gt 0 ]; do
    sleep 1
    rm -rf -- "$1" && [ ! -e "$1" ] && exit
    tries=$((tries - 1))
done
"#;

/// A folder that is removed on drop, and also when the program ends without dropping it.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    janitor: Janitor,
    kept: AtomicBool,
}

impl Folder {
    /// Makes an empty folder, readable by the user alone, in the system's folder for temporary files.
    pub(crate) fn create() -> Result<Self, Error> {
        let parent = std::env::temp_dir();
        let folder = tempfile::Builder::new()
            .prefix("baton-testbed-")
            .tempdir_in(&parent)
            .map_err(Error::file("create a folder in", parent))?;
        let janitor = Janitor::hire(REMOVE, [folder.path()])?;
        Ok(Self { path: folder.keep(), janitor, kept: AtomicBool::new(false) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the folder for good, once this is dropped.
    pub(crate) fn keep(&self) {
        self.kept.store(true, Ordering::Relaxed);
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.janitor.dismiss();
        if !*self.kept.get_mut() {
            // If it can't be removed, it stays in the system's folder for temporary files.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::poll::block_until;

    #[test]
    fn the_folder_goes_on_drop_unless_it_is_kept() {
        let [dropped, kept] = [Folder::create().unwrap(), Folder::create().unwrap()];
        let paths = [dropped.path().to_owned(), kept.path().to_owned()];
        std::fs::write(paths[0].join("file"), "content").unwrap();
        drop(dropped);
        kept.keep();
        drop(kept);
        assert!(!paths[0].exists());
        assert!(paths[1].exists());
        std::fs::remove_dir(&paths[1]).unwrap();
    }

    #[test]
    fn the_folder_goes_when_its_owner_ends_without_dropping_it() {
        let mut folder = Folder::create().unwrap();
        let path = folder.path().to_owned();
        folder.janitor.orphan();
        assert!(block_until(Duration::from_secs(20), || !path.exists()));
    }
}
