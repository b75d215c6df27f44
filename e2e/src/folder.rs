//! A temporary folder that goes when its owner does, in whatever way that ends. It doesn't know what lies in it.

use std::{
    io::Write as _,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use crate::Error;

/// Waits for the end of its owner as the guard of a process does, and then removes the folder `$1`. The processes that
/// were using it are being killed at that time, so the first attempt may meet one that still writes.
const JANITOR: &str = r#"
if read -r _; then exit; fi
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
    janitor: Child,
    kept: bool,
}

impl Folder {
    /// Makes an empty folder, readable by the user alone, in the system's folder for temporary files.
    pub(crate) fn create() -> Result<Self, Error> {
        let parent = std::env::temp_dir();
        let folder = tempfile::Builder::new()
            .prefix("baton-e2e-")
            .tempdir_in(&parent)
            .map_err(Error::file("create a folder in", parent))?;
        let janitor = Command::new("/bin/sh")
            .args(["-c", JANITOR, "janitor"])
            .arg(folder.path())
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|source| Error::Spawn { program: "/bin/sh".to_owned(), source })?;
        Ok(Self { path: folder.keep(), janitor, kept: false })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Leaves the folder for good.
    pub(crate) fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if let Some(mut pipe) = self.janitor.stdin.take() {
            // Fails only if the janitor was killed by somebody else.
            let _ = pipe.write_all(b"\n");
        }
        let _ = self.janitor.wait();
        if !self.kept {
            // What can't be removed lies in the system's temporary folder, which is the place for it.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        thread,
        time::{Duration, Instant},
    };

    use super::*;

    #[test]
    fn the_folder_goes_on_drop_unless_it_is_kept() {
        let [dropped, kept] = [Folder::create().unwrap(), Folder::create().unwrap()];
        let paths = [dropped.path().to_owned(), kept.path().to_owned()];
        std::fs::write(paths[0].join("file"), "content").unwrap();
        drop(dropped);
        kept.keep();
        assert!(!paths[0].exists());
        assert!(paths[1].exists());
        std::fs::remove_dir(&paths[1]).unwrap();
    }

    #[test]
    fn the_folder_goes_when_its_owner_ends_without_dropping_it() {
        let mut folder = Folder::create().unwrap();
        let path = folder.path().to_owned();
        // What the system does when a program ends: the pipe is closed, and nothing else happens.
        drop(folder.janitor.stdin.take());
        let end = Instant::now() + Duration::from_secs(20);
        while path.exists() && Instant::now() < end {
            thread::sleep(Duration::from_millis(50));
        }
        assert!(!path.exists());
    }
}
