//! The requirements of a real node, and checks of them. Nothing here changes the machine.

use std::{
    env,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::{cgroups, machine};

/// Where Debian has the network's plugins.
pub(super) const CNI_PLUGINS: &str = "/usr/lib/cni";
/// The plugins of the node's network.
const PLUGINS: [&str; 3] = ["host-local", "loopback", "ptp"];
/// Programs that must be on the PATH.
const PROGRAMS: [&str; 12] = [
    "buildah",
    "containerd",
    "ctr",
    "hostname",
    "ip",
    "iptables",
    "mount",
    "nft",
    "nsenter",
    "runc",
    "setpriv",
    "unshare",
];
/// The command that installs them on Debian.
const PACKAGES: &str = "e2e/node/packages.sh";

/// Why there can be no real node on this machine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unavailable {
    /// Another operating system.
    #[error("a real node runs on Linux only, and this is {system}")]
    NotLinux {
        /// The system's name.
        system: &'static str,
    },
    /// Another user than root.
    #[error("a real node is made of namespaces and cgroups, which need root")]
    NotRoot,
    /// Something isn't installed.
    #[error("a real node needs {}, which can't be found; on Debian {PACKAGES} installs what is needed", missing.join(", "))]
    Missing {
        /// The names of programs, or paths of files.
        missing: Vec<String>,
    },
    /// The system doesn't let namespaces be made, as in many containers.
    #[error("a real node needs namespaces of its own, and can't make them here: {said}")]
    NoNamespaces {
        /// The response.
        said: String,
    },
    /// The system doesn't let cgroups be made, as in many containers.
    #[error("a real node needs cgroups of its own, and {} can't be written", folder.display())]
    NoCgroups {
        /// Where they would be.
        folder: PathBuf,
    },
}

/// Whether a real node can be started here.
///
/// # Errors
/// The first reason why not.
pub fn available() -> Result<(), Unavailable> {
    if env::consts::OS != "linux" {
        return Err(Unavailable::NotLinux { system: env::consts::OS });
    }
    if !rustix::process::geteuid().is_root() {
        return Err(Unavailable::NotRoot);
    }
    let missing = missing();
    if !missing.is_empty() {
        return Err(Unavailable::Missing { missing });
    }
    namespaces()?;
    match cgroups::hierarchies().into_iter().find(|folder| !is_writable(folder)) {
        Some(folder) => Err(Unavailable::NoCgroups { folder }),
        None => Ok(()),
    }
}

fn missing() -> Vec<String> {
    let path = env::var_os("PATH").unwrap_or_default();
    let is_there = |program: &str| env::split_paths(&path).any(|folder| folder.join(program).is_file());
    let programs = PROGRAMS.into_iter().filter(|program| !is_there(program)).map(str::to_owned);
    let plugins = PLUGINS.map(|name| Path::new(CNI_PLUGINS).join(name)).into_iter();
    programs.chain(plugins.filter(|path| !path.is_file()).map(|path| path.display().to_string())).collect()
}

fn namespaces() -> Result<(), Unavailable> {
    let tried = Command::new("unshare")
        .args(machine::NAMESPACES)
        .args(["--net", "--", "true"])
        .stdin(Stdio::null())
        .output();
    let said = match tried {
        Ok(output) if output.status.success() => return Ok(()),
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    Err(Unavailable::NoNamespaces { said })
}

fn is_writable(folder: &Path) -> bool {
    let access = rustix::fs::Access::WRITE_OK;
    rustix::fs::access(folder, access).is_ok()
}
