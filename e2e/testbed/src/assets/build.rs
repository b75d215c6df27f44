//! Builds the Go modules into the cache, once for each content. It doesn't know what the programs are good for.
//!
//! A finished build is a folder named by its key; it is made under another name and renamed as the last step, so that
//! one that exists is complete. A lock on a file makes processes take turns.

use std::{
    fs::{self, File, TryLockError},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    time::Instant,
};

use super::{
    GoProgram, Program,
    go::{Build, Go, directive},
    key::key,
};
use crate::Error;

/// The binary that is etcd, the control plane and kubectl, each of which is a link to it.
const MULTI_CALL: &str = "controlplane";

/// The folder with a build of the control plane at `source` in the cache at `cache`, made now if it isn't there.
pub(super) fn control_plane(source: &Path, cache: &Path) -> Result<PathBuf, Error> {
    let release = directive(source, "k8s.io/kubernetes")?;
    let builds = [
        Build {
            title: "etcd and Kubernetes",
            module: source.to_owned(),
            module_file: None,
            package: ".",
            output: MULTI_CALL,
            linker_flags: format!("-s -w {}", version_flags(&release)),
            packages: 2_700,
        },
        Build {
            title: "KWOK",
            module: source.join("kwok"),
            module_file: None,
            package: "sigs.k8s.io/kwok/cmd/kwok",
            output: Program::Kwok.name(),
            linker_flags: "-s -w".to_owned(),
            packages: 1_000,
        },
    ];
    let what_it_takes =
        format!("etcd, Kubernetes {release} and KWOK; that takes 5 to 10 minutes on two cores");
    ensure(source, &of_control_plane(cache), &what_it_takes, &builds, |folder| {
        for program in Program::MULTI_CALL {
            let link = folder.join(program.name());
            symlink(MULTI_CALL, &link).map_err(Error::file("create", &link))?;
        }
        Ok(())
    })
}

/// Where the builds of the control plane are in the cache at `cache`.
pub(super) fn of_control_plane(cache: &Path) -> PathBuf {
    cache.join("control-plane")
}

/// A Go program from the cache at `cache`, built now if it isn't there.
pub(super) fn program(program: &GoProgram, cache: &Path) -> Result<PathBuf, Error> {
    let GoProgram { title, source, module_file, package, name, packages, takes } = program;
    let build = Build {
        title,
        module: source.clone(),
        module_file: module_file.clone(),
        package,
        output: name,
        linker_flags: "-s -w".to_owned(),
        packages: *packages,
    };
    let what_it_takes = format!("{title}; that takes {takes} on two cores");
    Ok(ensure(source, &cache.join(name), &what_it_takes, &[build], |_| Ok(()))?.join(name))
}

/// The folder below `cache` with `builds`, made now if it isn't there: `what_it_takes` is printed, and `finish`
/// adds what isn't built.
fn ensure(
    source: &Path,
    cache: &Path,
    what_it_takes: &str,
    builds: &[Build<'_>],
    finish: impl FnOnce(&Path) -> Result<(), Error>,
) -> Result<PathBuf, Error> {
    let go = Go::find(source)?;
    let mut recipe = vec![go.version.as_str(), go.platform.as_str()];
    recipe.extend(Build::FLAGS);
    recipe.extend(builds.iter().flat_map(|build| [build.package, build.output, build.linker_flags.as_str()]));
    recipe.extend(builds.iter().filter_map(|build| build.module_file.as_deref()?.to_str()));

    let done = cache.join(key(source, &recipe)?);
    if done.is_dir() {
        return Ok(done);
    }
    fs::create_dir_all(cache).map_err(Error::file("create", cache))?;
    // Held until the end of this function.
    let _lock = lock(&cache.join("lock"))?;
    // It may have been built while we waited.
    if done.is_dir() {
        return Ok(done);
    }
    eprintln!("baton-testbed: building with {}, once: {what_it_takes}", go.version);
    let began = Instant::now();
    let partial = done.with_extension("partial");
    if partial.exists() {
        fs::remove_dir_all(&partial).map_err(Error::file("remove", &partial))?;
    }
    fs::create_dir_all(&partial).map_err(Error::file("create", &partial))?;
    for build in builds {
        build.run(&partial, began)?;
    }
    finish(&partial)?;
    fs::rename(&partial, &done).map_err(Error::file("create", &done))?;
    eprintln!("baton-testbed: built in {} s, kept in {}", began.elapsed().as_secs(), done.display());
    Ok(done)
}

/// Waits until this process is the only one that builds; the lock goes with the file.
pub(crate) fn lock(path: &Path) -> Result<File, Error> {
    let file = File::create(path).map_err(Error::file("create", path))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            eprintln!("baton-testbed: waiting for another process that builds the same");
            file.lock().map_err(Error::file("lock", path))?;
        }
        Err(TryLockError::Error(source)) => return Err(Error::file("lock", path)(source)),
    }
    Ok(file)
}

/// What makes the programs report the release that they are built from: upstream's build sets it likewise, and modules
/// don't carry it.
fn version_flags(release: &str) -> String {
    let mut numbers = release.trim_start_matches('v').split('.');
    let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    let values = [
        ("gitVersion", release),
        ("gitMajor", major),
        ("gitMinor", minor),
        ("gitCommit", "unknown"),
        ("gitTreeState", "clean"),
    ];
    let mut flags = Vec::new();
    for package in ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"] {
        flags.extend(values.map(|(name, value)| format!("-X {package}.{name}={value}")));
    }
    flags.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_get_the_release_that_the_module_requires() {
        let flags = version_flags(&directive(&super::super::source(), "k8s.io/kubernetes").unwrap());
        for expected in ["component-base/version.gitVersion=v1.", "component-base/version.gitMajor=1 "] {
            assert!(flags.contains(expected), "{flags}");
        }
    }
}
