//! A cgroup in each hierarchy for all that the node's containers use, so that it can be taken away as a whole. It doesn't
//! know what is put there.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    Error,
    janitor::Janitor,
    poll::{block_until, poll},
};

/// Where cgroups are.
const ROOT: &str = "/sys/fs/cgroup";
/// The files that a new cgroup of the `cpuset` controller needs before it can hold a process.
const CPUSET: [&str; 2] = ["cpuset.cpus", "cpuset.mems"];
/// How long the last processes may take to be gone.
const EMPTY: Duration = Duration::from_secs(20);

/// A cgroup can be removed once it is empty, which is a moment after its processes were killed.
const REMOVE: &str = r#"
tries=20
while [ "$tries" -gt 0 ]; do
    sleep 1
    find "$@" -depth -type d -exec rmdir {} + && exit
    tries=$((tries - 1))
done
"#;

/// Cgroups that are removed on drop, and also when the program ends without dropping them.
#[derive(Debug)]
pub(super) struct Cgroups {
    name: String,
    folders: Vec<PathBuf>,
    janitor: Janitor,
}

/// The folders of the hierarchies: one for each controller in version 1, or the only one of version 2.
pub(super) fn hierarchies() -> Vec<PathBuf> {
    let root = Path::new(ROOT);
    if root.join("cgroup.controllers").exists() {
        return vec![root.to_owned()];
    }
    let Ok(entries) = fs::read_dir(root) else { return vec![root.to_owned()] };
    // A hierarchy of version 2 beside those of version 1 has no controllers; `cpu` may be a link to `cpu,cpuacct`.
    entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()) && entry.file_name() != "unified")
        .map(|entry| entry.path())
        .collect()
}

impl Cgroups {
    /// Makes a cgroup of this name, for this caller only.
    pub(super) fn create(name: &str) -> Result<Self, Error> {
        let hierarchies = hierarchies();
        let folders: Vec<PathBuf> = hierarchies.iter().map(|hierarchy| hierarchy.join(name)).collect();
        let janitor = Janitor::hire(REMOVE, &folders)?;
        let cgroups = Self { name: name.to_owned(), folders, janitor };
        for (hierarchy, folder) in hierarchies.iter().zip(&cgroups.folders) {
            fs::create_dir(folder).map_err(Error::file("create", folder))?;
            for file in CPUSET.iter().filter(|file| folder.join(file).exists()) {
                let (from, to) = (hierarchy.join(file), folder.join(file));
                let value = fs::read(&from).map_err(Error::file("read", &from))?;
                fs::write(&to, value).map_err(Error::file("write", &to))?;
            }
        }
        Ok(cgroups)
    }

    /// Removes all cgroups within, as a machine that is switched off does.
    ///
    /// # Errors
    /// When there are still processes in one of them after a while.
    pub(super) async fn clear(&self) -> Result<(), Error> {
        for folder in &self.folders {
            let removed = poll(EMPTY, async || remove_within(folder)).await;
            removed.map_err(Error::file("remove the cgroups in", folder))?;
        }
        Ok(())
    }

    /// The processes in the cgroup of this name somewhere within.
    ///
    /// # Errors
    /// When there is none, or it is empty.
    pub(super) fn processes_of(&self, name: &str) -> Result<Vec<String>, Error> {
        let Some(folder) = self.folders.iter().find_map(|folder| find(folder, name)) else {
            let nowhere = Path::new(ROOT).join(&self.name).join("…").join(name);
            return Err(Error::file("find", nowhere)(io::ErrorKind::NotFound.into()));
        };
        let file = folder.join("cgroup.procs");
        let processes = fs::read_to_string(&file).map_err(Error::file("read", &file))?;
        if processes.is_empty() {
            return Err(Error::file("find a process in", file)(io::ErrorKind::NotFound.into()));
        }
        Ok(processes.lines().map(str::to_owned).collect())
    }

    /// Leaves them for good; returns a line of `sh` that removes them.
    pub(super) fn keep(mut self) -> String {
        self.janitor.dismiss();
        let folders: Vec<String> = std::mem::take(&mut self.folders)
            .iter()
            .map(|folder| format!("'{}'", folder.display()))
            .collect();
        format!("(set -- {}\n{REMOVE})", folders.join(" "))
    }

    /// Their path within each hierarchy.
    pub(super) fn path(&self) -> String {
        format!("/{}", self.name)
    }
}

impl Drop for Cgroups {
    /// A cgroup that can't be removed in time is empty, and costs nothing.
    fn drop(&mut self) {
        self.janitor.dismiss();
        block_until(EMPTY, || self.folders.iter().all(|folder| remove(folder).is_ok()));
    }
}

fn find(folder: &Path, name: &str) -> Option<PathBuf> {
    let inner: Vec<PathBuf> = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    let inner = inner.iter().filter(|path| path.is_dir());
    inner
        .clone()
        .find(|path| path.file_name().is_some_and(|found| found == name))
        .cloned()
        .or_else(|| inner.clone().find_map(|path| find(path, name)))
}

/// Removes a cgroup and those in it; the files there can't be removed, and go with it.
fn remove(folder: &Path) -> io::Result<()> {
    if !folder.exists() {
        return Ok(());
    }
    remove_within(folder)?;
    fs::remove_dir(folder)
}

fn remove_within(folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove(&entry.path())?;
        }
    }
    Ok(())
}
