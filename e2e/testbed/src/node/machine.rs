//! What stands for the node's machine: namespaces of Linux that look like one, on a [`Network`]. It can be switched off,
//! and then everything on it is gone but what lies on its disk.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use crate::{Error, Process, network::Network, poll::block_until, process::within};

/// The script of its first process.
const SCRIPT: &str = include_str!("machine.sh");
/// How long it may take to be up, and to be gone.
const LIMIT: Duration = Duration::from_secs(30);

/// The namespaces that are its own, as arguments of `unshare`; with those that it makes there ends all within.
pub(super) const NAMESPACES: [&str; 7] =
    ["--mount", "--pid", "--uts", "--ipc", "--fork", "--mount-proc", "--kill-child"];

/// A machine that is switched on. Dropping it kills everything on it, and waits until that is gone.
#[derive(Debug)]
pub(super) struct Machine {
    /// `unshare`; its child is the first process on the machine.
    holder: Process,
    /// Identifies the namespace of its processes.
    processes: PathBuf,
}

impl Machine {
    /// Switches a machine on that has its disk in `folder`.
    pub(super) async fn boot(network: &Network, folder: &Path, name: &str) -> Result<Self, Error> {
        for disk in ["lib", "log"] {
            let disk = folder.join(disk);
            fs::create_dir_all(&disk).map_err(Error::file("create", &disk))?;
        }
        let mut unshare = Command::new("unshare");
        unshare.args(NAMESPACES).args(["--", "/bin/sh", "-c", SCRIPT, "machine"]).arg(folder).arg(name);
        let holder = network.command(&unshare);
        let holder = Process::spawn("machine", &holder, &folder.join("machine.log"), Duration::ZERO)?;
        holder.wait_for_line("up", LIMIT).await?;
        let namespace = format!("/proc/{}/ns/pid_for_children", holder.pid());
        let processes = fs::read_link(&namespace).map_err(Error::file("read", namespace))?;
        Ok(Self { holder, processes })
    }

    /// The command as one that runs there, and ends with the process that runs it.
    pub(super) fn command(&self, command: &Command) -> Command {
        let mut die_with_parent = Command::new("setpriv");
        die_with_parent.args(["--pdeathsig", "KILL"]);
        let mut enter = Command::new("nsenter");
        for (kind, namespace) in
            [("mount", "mnt"), ("pid", "pid_for_children"), ("uts", "uts"), ("ipc", "ipc"), ("net", "net")]
        {
            enter.arg(format!("--{kind}=/proc/{}/ns/{namespace}", self.holder.pid()));
        }
        within(enter, &within(die_with_parent, command))
    }

    /// Keeps it running when this program ends; returns the process id of its holder, with which all of it ends.
    pub(super) fn keep(self) -> u32 {
        let pid = self.holder.pid();
        self.holder.release();
        // Dropping it would switch it off.
        std::mem::forget(self);
        pid
    }

    /// Whether a process is left on it.
    fn is_on(&self) -> bool {
        let Ok(entries) = fs::read_dir("/proc") else { return false };
        entries.flatten().any(|entry| {
            fs::read_link(entry.path().join("ns/pid")).is_ok_and(|namespace| namespace == self.processes)
        })
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.holder.kill();
        block_until(LIMIT, || !self.is_on());
    }
}
