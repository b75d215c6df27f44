//! A process that cleans up after an owner that ended without doing so.

use std::{
    ffi::OsStr,
    io::Write as _,
    os::unix::process::CommandExt as _,
    process::{Child, Command, Stdio},
};

use crate::Error;

/// A few lines of POSIX `sh` that wait for the end of their owner, as the guard of a process does: the system closes the
/// owner's end of a pipe when it is gone, however it went. A line in the pipe dismisses the janitor.
#[derive(Debug)]
pub(crate) struct Janitor(Child);

impl Janitor {
    /// Has `script` run when the owner is gone without having dismissed the janitor. `args` are its positional parameters.
    pub(crate) fn hire<S: AsRef<OsStr>>(
        script: &str,
        args: impl IntoIterator<Item = S>,
    ) -> Result<Self, Error> {
        Command::new("/bin/sh")
            .arg("-c")
            .arg(format!("if read -r _; then exit; fi\n{script}"))
            .arg("janitor")
            .args(args)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map(Self)
            .map_err(Error::spawn("/bin/sh"))
    }

    /// Sends it home: the owner cleans up itself, or not at all.
    pub(crate) fn dismiss(&mut self) {
        if let Some(mut pipe) = self.0.stdin.take() {
            // Fails only if the janitor was killed from outside.
            let _ = pipe.write_all(b"\n");
        }
        let _ = self.0.wait();
    }

    /// Closes the pipe, as the system does when the owner ends.
    #[cfg(test)]
    pub(crate) fn orphan(&mut self) {
        drop(self.0.stdin.take());
    }
}
