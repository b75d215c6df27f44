//! A process that never outlives its owner: it is killed when its [`Process`] is dropped, and also when the program
//! that holds the `Process` ends in any other way, by a panic, Ctrl-C or `kill -9`.
//!
//! Each process has a guard beside it, a few lines of POSIX `sh` that read from a pipe of which the owner holds the
//! other end. The system closes that end when the owner is gone, however it went. A line in the pipe dismisses the
//! guard. Nothing here knows what the process does.

use std::{
    ffi::OsStr,
    fs::File,
    io::{Read as _, Seek as _, SeekFrom, Write as _},
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::Mutex,
    time::Duration,
};

use crate::{
    Error, lock,
    poll::{block_until, wait_for},
};

/// `$1` is the grace period in seconds, the rest the command. The program takes the shell's place, so its pid is the
/// one that its owner knows; the guard stays behind as its child. The pipe moves to descriptor 3, because a shell
/// gives its background jobs an empty standard input.
const GUARDED: &str = r#"
grace=$1; shift
exec 3<&0 </dev/null
(
    if read -r _ <&3; then exit; fi
    kill -TERM $$
    while [ "$grace" -gt 0 ] && kill -0 $$; do sleep 1; grace=$((grace - 1)); done
    kill -KILL $$
) >/dev/null 2>&1 &
exec "$@" 3<&-
"#;

/// A running process that ends with its owner at the latest.
#[derive(Debug)]
pub struct Process {
    name: String,
    pid: u32,
    log: PathBuf,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    child: Child,
    /// Our end of the guard's pipe; gone when the guard is.
    guard: Option<ChildStdin>,
    /// Set as soon as the process was seen to have ended.
    status: Option<ExitStatus>,
}

impl Process {
    /// Starts `command` in a process group of its own, with its output in the file `log`, which is overwritten.
    ///
    /// Of the command, the program, its arguments, environment and folder count; its standard input is empty. `grace`
    /// is how long the process may take after SIGTERM when its owner has died; rounded down to seconds.
    ///
    /// # Errors
    /// When `log` can't be written or there is no `/bin/sh`. A program that doesn't exist shows as a process that ends
    /// at once, with the shell's message in the log.
    pub fn spawn(
        name: impl Into<String>,
        command: &Command,
        log: &Path,
        grace: Duration,
    ) -> Result<Self, Error> {
        let output = File::create(log).map_err(Error::file("write", log))?;
        let errors = output.try_clone().map_err(Error::file("write", log))?;
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", GUARDED, "guard", &grace.as_secs().to_string()])
            .arg(command.get_program())
            .args(command.get_args())
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(output)
            .stderr(errors);
        for (key, value) in command.get_envs() {
            set_env(&mut shell, key, value);
        }
        if let Some(folder) = command.get_current_dir() {
            shell.current_dir(folder);
        }
        let mut child = shell.spawn().map_err(Error::spawn("/bin/sh"))?;
        let guard = child.stdin.take();
        let state = Mutex::new(State { child, guard, status: None });
        let pid = lock(&state).child.id();
        Ok(Self { name: name.into(), pid, log: log.to_owned(), state })
    }

    /// The name of the process in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The process's id, which is also that of its process group.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The file with all that it wrote.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The last `lines` lines of the log, or why it can't be read.
    pub fn log_tail(&self, lines: usize) -> String {
        tail(&self.log, lines)
    }

    /// How the process ended; `None` while it runs.
    pub fn status(&self) -> Option<ExitStatus> {
        let mut state = lock(&self.state);
        state.refresh();
        state.status
    }

    /// Waits until the process has written this line.
    pub(crate) async fn wait_for_line(&self, line: &str, limit: Duration) -> Result<(), Error> {
        wait_for(&format!("{} saying `{line}`", self.name), limit, async || {
            self.check()?;
            let written = self.log_tail(30);
            let is_there = written.lines().any(|written| written == line);
            Ok(if is_there { Ok(()) } else { Err(format!("it said:\n{written}")) })
        })
        .await
    }

    /// An error that shows the end of the log if the process has ended, for loops that wait for something of it.
    pub fn check(&self) -> Result<(), Error> {
        match self.status() {
            None => Ok(()),
            Some(status) => Err(Error::Ended {
                name: self.name.clone(),
                status,
                log: self.log.clone(),
                tail: self.log_tail(30),
            }),
        }
    }

    /// Asks the process to end, by SIGTERM, and doesn't wait.
    pub fn terminate(&self) -> Result<(), Error> {
        self.signal("-TERM")
    }

    /// Sends SIGHUP, on which many programs read their configuration again.
    pub fn hang_up(&self) -> Result<(), Error> {
        self.signal("-HUP")
    }

    /// Stops the process where it is, by SIGSTOP, until it is [resumed](Self::resume).
    pub fn pause(&self) -> Result<(), Error> {
        self.signal("-STOP")
    }

    /// Lets a paused process go on, by SIGCONT.
    pub fn resume(&self) -> Result<(), Error> {
        self.signal("-CONT")
    }

    /// Does nothing to a process that has ended.
    fn signal(&self, signal: &str) -> Result<(), Error> {
        // The lock keeps the pid ours: a process that hasn't been waited for keeps its id.
        let mut state = lock(&self.state);
        state.refresh();
        if state.status.is_none() {
            Command::new("kill")
                .args([signal, &self.pid.to_string()])
                .status()
                .map_err(Error::spawn("kill"))?;
        }
        Ok(())
    }

    /// Waits until the process has ended, at most for `limit`; `None` when it still runs then. Blocks the thread.
    pub fn wait(&self, limit: Duration) -> Option<ExitStatus> {
        block_until(limit, || self.status().is_some());
        self.status()
    }

    /// Ends the process by SIGKILL and waits for that, which takes no time. `None` if the system doesn't know how it ended.
    pub fn kill(&self) -> Option<ExitStatus> {
        let mut state = lock(&self.state);
        state.refresh();
        if state.status.is_none() {
            // Fails only if the process has ended meanwhile.
            let _ = state.child.kill();
            state.status = state.child.wait().ok();
            state.dismiss_guard();
        }
        state.status
    }

    /// Lets the process run on when its owner is gone. From now on it ends only if its pid is killed.
    pub fn release(&self) {
        lock(&self.state).dismiss_guard();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Without its guard the process has ended or was released.
        if lock(&self.state).guard.is_some() {
            self.kill();
        }
    }
}

impl State {
    /// Takes note of the end of the process.
    fn refresh(&mut self) {
        if self.status.is_none()
            && let Ok(Some(status)) = self.child.try_wait()
        {
            self.status = Some(status);
            self.dismiss_guard();
        }
    }

    /// Once the process has been waited for, its pid may become another's: the guard must not kill by it any more.
    fn dismiss_guard(&mut self) {
        if let Some(mut guard) = self.guard.take() {
            // Fails only if the guard is gone already.
            let _ = guard.write_all(b"\n");
        }
    }
}

/// One command that runs another one, such as `nsenter`: `inner`'s program and arguments behind those of `outer`, with
/// `inner`'s environment and folder.
pub(crate) fn within(mut outer: Command, inner: &Command) -> Command {
    outer.arg("--").arg(inner.get_program()).args(inner.get_args());
    for (key, value) in inner.get_envs() {
        set_env(&mut outer, key, value);
    }
    if let Some(folder) = inner.get_current_dir() {
        outer.current_dir(folder);
    }
    outer
}

fn set_env(command: &mut Command, key: &OsStr, value: Option<&OsStr>) {
    match value {
        Some(value) => command.env(key, value),
        None => command.env_remove(key),
    };
}

/// The last `lines` lines of a file that may be long and still growing.
pub(crate) fn tail(path: &Path, lines: usize) -> String {
    // A line of Kubernetes' logs is long, but not that long.
    const LINE: u64 = 2_000;
    let read = || -> std::io::Result<String> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(LINE * lines as u64)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    match read() {
        Ok(text) => last_lines(&text, lines),
        Err(error) => format!("(can't read {}: {error})", path.display()),
    }
}

/// The last `lines` lines of a text.
pub fn last_lines(text: &str, lines: usize) -> String {
    let all: Vec<&str> = text.lines().collect();
    all[all.len().saturating_sub(lines)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    fn spawn(script: &str) -> (Process, tempfile::TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        (Process::spawn("test", &shell(script), &log, Duration::ZERO).unwrap(), folder)
    }

    fn runs(pid: u32) -> bool {
        Command::new("kill").args(["-0", &pid.to_string()]).stderr(Stdio::null()).status().unwrap().success()
    }

    #[test]
    fn the_exit_status_and_the_output_are_those_of_the_program() {
        let (process, _folder) = spawn("echo out; echo err >&2; exit 7");
        assert_eq!(process.wait(Duration::from_secs(10)).unwrap().code(), Some(7));
        assert_eq!(process.log_tail(5), "out\nerr");
        let message = process.check().unwrap_err().to_string();
        assert!(message.contains('7') && message.contains("out\nerr"), "{message}");
    }

    #[test]
    fn a_command_within_another_one_keeps_its_environment_and_folder() {
        let mut outer = Command::new("nice");
        outer.args(["-n", "0"]);
        let mut inner = shell("echo $NAMED $PWD");
        inner.env("NAMED", "so").current_dir("/");
        let output = within(outer, &inner).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "so /\n");
    }

    #[test]
    fn dropping_kills() {
        let (process, _folder) = spawn("exec sleep 600");
        let pid = process.pid();
        assert!(runs(pid));
        drop(process);
        assert!(!runs(pid));
    }

    #[test]
    fn terminating_leaves_the_program_time_to_end_by_itself() {
        let (process, _folder) = spawn("trap 'exit 3' TERM; echo ready; while :; do sleep 0.05; done");
        assert!(block_until(Duration::from_secs(30), || process.log_tail(1) == "ready"));
        process.terminate().unwrap();
        assert_eq!(process.wait(Duration::from_secs(10)).unwrap().code(), Some(3));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn hanging_up_is_heard_and_ends_nothing() {
        // A shell can't hear what its parents ignore, as they do where the tests run under nohup.
        let (process, _folder) = spawn(
            "exec env --default-signal=HUP sh -c 'trap \"echo again\" HUP; echo ready; while :; do sleep 0.05; done'",
        );
        for word in ["ready", "again"] {
            let is_said = block_until(Duration::from_secs(30), || process.log_tail(1) == word);
            assert!(is_said, "waited in vain for {word}; it said {}", process.log_tail(5));
            process.hang_up().unwrap();
        }
        assert!(process.status().is_none());
    }

    #[test]
    fn the_program_ends_when_its_owner_does_and_a_released_one_does_not() {
        let (guarded, _folder) = spawn("exec sleep 600");
        let (released, _other) = spawn("exec sleep 600");
        let pids = (guarded.pid(), released.pid());
        // The system does the same when a program ends: it closes the pipe.
        drop(lock(&guarded.state).guard.take());
        released.release();
        assert!(guarded.wait(Duration::from_secs(10)).is_some());
        assert!(runs(pids.1));
        Command::new("kill").args(["-KILL", &pids.1.to_string()]).status().unwrap();
    }
}
