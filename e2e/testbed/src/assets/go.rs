//! The Go toolchain: whether it is there and new enough, and one `go build` whose progress people can watch. It doesn't
//! know what is built.

use std::{
    collections::VecDeque,
    ffi::OsString,
    fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    thread,
    time::{Duration, Instant},
};

use super::Program;
use crate::Error;

/// How often progress is printed.
const REPORT_EVERY: Duration = Duration::from_secs(10);
/// How many lines of a failed build are shown.
const SHOWN: usize = 40;

/// A Go toolchain that can build the modules.
pub(super) struct Go {
    /// Such as `go1.26.1`.
    pub(super) version: String,
    /// Such as `linux/amd64`.
    pub(super) platform: String,
}

/// One binary to build.
pub(super) struct Build<'a> {
    /// For people.
    pub(super) title: &'a str,
    /// The folder of the module.
    pub(super) module: PathBuf,
    /// The path of another go.mod to use instead, relative to it.
    pub(super) module_file: Option<PathBuf>,
    /// The main package.
    pub(super) package: &'static str,
    /// The binary's name.
    pub(super) output: &'static str,
    pub(super) linker_flags: String,
    /// About how many packages are compiled when the compiler's own cache is empty. Used only to show progress.
    pub(super) packages: usize,
}

impl Build<'_> {
    /// The same for every build. No paths of this machine get into the binaries, and go.mod stays as it is.
    pub(super) const FLAGS: [&'static str; 3] = ["-trimpath", "-mod=readonly", "-v"];

    /// Builds into `folder`, and reports progress on standard error. `began` is when the whole work began.
    pub(super) fn run(&self, folder: &Path, began: Instant) -> Result<(), Error> {
        let mut command = command(&self.module);
        command
            .arg("build")
            .args(Self::FLAGS)
            .args(self.module_file.iter().map(|file| format!("-modfile={}", file.display())))
            .args(["-ldflags", &self.linker_flags])
            .arg("-o")
            .arg(folder.join(self.output))
            .arg(self.package);
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(Error::spawn("go"))?;
        let last = child.stderr.take().map(|stderr| watch(self, stderr, began)).unwrap_or_default();
        let status = child.wait().map_err(Error::spawn("go"))?;
        if status.success() {
            return Ok(());
        }
        Err(Error::Failed {
            command: format!("go build {}", self.package),
            folder: self.module.clone(),
            status,
            output: Vec::from(last).join("\n"),
        })
    }
}

impl Go {
    /// Asks `go` for its version where the module at `module` is in force, since that may choose the toolchain.
    pub(super) fn find(module: &Path) -> Result<Self, Error> {
        let needed = directive(module, "go")?;
        let problem = |problem: String| {
            let binaries = Program::CONTROL_PLANE.map(Program::name).join(", ");
            Error::Go { needed: needed.clone(), problem, binaries }
        };
        let output = command(module)
            .args(["env", "GOVERSION", "GOOS", "GOARCH"])
            .output()
            .map_err(|error| problem(format!("`go` can't be started ({error})")))?;
        if !output.status.success() {
            return Err(problem(format!(
                "`go env` says: {}",
                String::from_utf8_lossy(&output.stderr).trim()
            )));
        }
        let answer = String::from_utf8_lossy(&output.stdout);
        let mut lines = answer.lines().map(str::to_owned);
        let (version, system, processor) = (lines.next(), lines.next(), lines.next());
        let version = version.unwrap_or_default();
        if release(&version) < release(&needed) {
            return Err(problem(format!("{version} was found")));
        }
        Ok(Self {
            version,
            platform: format!("{}/{}", system.unwrap_or_default(), processor.unwrap_or_default()),
        })
    }
}

/// `go` in `module`, with what the machine's settings must not change.
fn command(module: &Path) -> Command {
    let mut command = Command::new("go");
    // Without cgo no C compiler is needed, and the same binary comes out on every machine.
    command.current_dir(module).env("CGO_ENABLED", "0").env("GOWORK", "off").env("GOFLAGS", OsString::new());
    command
}

/// Reads the output of `go build -v`, a line for each module that it downloads and each package that it compiles, and reports progress
/// from time to time. Returns the last lines.
fn watch(build: &Build<'_>, stderr: impl std::io::Read + Send + 'static, began: Instant) -> VecDeque<String> {
    let (send, receive) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                break;
            }
        }
    });
    let (mut last, mut downloaded, mut compiled) = (VecDeque::new(), 0_usize, 0_usize);
    let mut reported = Instant::now();
    loop {
        match receive.recv_timeout(REPORT_EVERY.saturating_sub(reported.elapsed())) {
            Ok(line) => {
                if line.starts_with("go: downloading") {
                    downloaded += 1;
                } else {
                    compiled += 1;
                }
                if last.len() == SHOWN {
                    last.pop_front();
                }
                last.push_back(line);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return last,
        }
        if reported.elapsed() >= REPORT_EVERY {
            reported = Instant::now();
            let progress = if compiled > 0 {
                format!("{compiled} of at most {} packages compiled", build.packages)
            } else if downloaded > 0 {
                format!("{downloaded} modules downloaded")
            } else {
                "preparing".to_owned()
            };
            eprintln!("baton-testbed: {}: {progress}, {} s", build.title, began.elapsed().as_secs());
        }
    }
}

/// The second word of the first line in go.mod whose first word is `word`.
pub(super) fn directive(source: &Path, word: &str) -> Result<String, Error> {
    let path = source.join("go.mod");
    let text = fs::read_to_string(&path).map_err(Error::file("read", &path))?;
    let found = text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some(word)).then(|| words.next().unwrap_or_default().to_owned())
    });
    found.ok_or_else(|| Error::parse(path.display().to_string())(format!("it has no line for {word}")))
}

/// The numbers of a Go release, for comparison: `go1.26.1` and `1.26` are both known to people as versions of Go.
fn release(version: &str) -> Vec<u32> {
    let numbers = version.trim_start_matches("go");
    let end = numbers.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(numbers.len());
    numbers[..end].split('.').filter_map(|number| number.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_compare_by_number() {
        assert!(release("go1.9.7") < release("1.26.0"));
        assert!(release("go1.26.8") > release("1.26.0"));
        assert!(release("go1.27rc1") > release("1.26.0"));
        assert!(release("go1.26-custom") <= release("1.26.0"));
    }

    #[test]
    fn go_mod_shows_what_is_needed() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(
            folder.path().join("go.mod"),
            "module x\n\ngo 1.30.0\n\nrequire (\n\tk8s.io/kubernetes v1.2.3\n)\n",
        )
        .unwrap();
        assert_eq!(directive(folder.path(), "k8s.io/kubernetes").unwrap(), "v1.2.3");
        assert!(directive(folder.path(), "absent").unwrap_err().report().contains("absent"));
        if let Err(error) = Go::find(folder.path()) {
            assert!(error.to_string().contains("1.30.0"), "{error}");
        }
    }
}
