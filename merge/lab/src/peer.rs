//! Whom the questions are put to. A peer answers lines with lines and is not known any closer.

use std::{
    io::{BufRead as _, BufReader, BufWriter, Write as _},
    panic::{self, AssertUnwindSafe},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        mpsc::{self, Receiver, RecvTimeoutError, Sender},
    },
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use baton_merge_driver::Session;

/// One batch of requests, each of them a line without its end.
pub type Batch = Arc<[String]>;

/// Somebody who speaks the merge driver protocol.
pub trait Peer: Send {
    /// Hands a batch over. The answers are fetched by [`finish`](Self::finish), so that two peers work at a time.
    fn start(&mut self, requests: Batch) -> Result<()>;

    /// The answers of the batch that was handed over last, one for each request and in their order. A request that the
    /// peer died of or hung on is answered by a line that is no JSON.
    fn finish(&mut self) -> Result<Vec<String>>;

    /// Both in one.
    fn ask(&mut self, requests: &[String]) -> Result<Vec<String>> {
        self.start(requests.into())?;
        self.finish()
    }
}

/// How long a peer may think about a batch before it counts as hanging. The first request of a large schema is slow.
const PATIENCE: Duration = Duration::from_mins(2);
/// How many starts in a row may be in vain.
const STARTS: usize = 3;

/// A process that reads requests from its standard input. It is started anew when it dies.
pub struct ProcessPeer {
    command: Vec<String>,
    running: Running,
    batch: Batch,
}

impl ProcessPeer {
    /// Starts `command`, a program and its arguments, in the folder of this process.
    pub fn start(command: Vec<String>) -> Result<Self> {
        Ok(Self { running: Running::start(&command)?, command, batch: Batch::default() })
    }

    /// The same as any peer.
    pub fn boxed(command: Vec<String>) -> Result<Box<dyn Peer>> {
        Ok(Box::new(Self::start(command)?))
    }
}

impl Peer for ProcessPeer {
    fn start(&mut self, requests: Batch) -> Result<()> {
        self.batch = Arc::clone(&requests);
        self.running.send(requests, 0);
        Ok(())
    }

    fn finish(&mut self) -> Result<Vec<String>> {
        let mut answers = Vec::with_capacity(self.batch.len());
        let mut in_vain = 0;
        while answers.len() < self.batch.len() {
            let problem = match self.running.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    answers.push(line);
                    in_vain = 0;
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => "the process ended",
                Err(RecvTimeoutError::Timeout) => "no answer in time, the process was stopped",
            };
            in_vain += 1;
            if in_vain > STARTS {
                let command = self.command.join(" ");
                bail!(
                    "the peer `{command}` ended {STARTS} times in a row without a single answer; run it by hand to see why"
                );
            }
            answers.push(problem.to_owned());
            self.running = Running::start(&self.command)?;
            self.running.send(Arc::clone(&self.batch), answers.len());
        }
        Ok(answers)
    }
}

/// A process, one thread that writes to it and one that reads from it: neither a full pipe nor a silent process can
/// block who asks.
struct Running {
    child: Child,
    requests: Sender<(Batch, usize)>,
    lines: Receiver<String>,
}

impl Running {
    fn start(command: &[String]) -> Result<Self> {
        let (program, arguments) = command.split_first().context("the command line of a peer is empty")?;
        let mut child = Command::new(program)
            .args(arguments)
            // A Go peer spends a third of its time on collecting garbage otherwise, and has memory enough.
            .env("GOGC", "800")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("can't start the peer `{}`", command.join(" ")))?;
        let (requests, batches) = mpsc::channel::<(Batch, usize)>();
        if let Some(stdin) = child.stdin.take() {
            thread::spawn(move || {
                let mut stdin = BufWriter::with_capacity(1 << 16, stdin);
                for (batch, from) in batches {
                    // Lines end with LF alone on every system. A process that is gone shows by its missing answers.
                    let written = batch[from..].iter().try_for_each(|request| {
                        stdin.write_all(request.as_bytes())?;
                        stdin.write_all(b"\n")
                    });
                    if written.and_then(|()| stdin.flush()).is_err() {
                        break;
                    }
                }
            });
        }
        let (send, lines) = mpsc::channel();
        if let Some(stdout) = child.stdout.take() {
            thread::spawn(move || {
                let mut stdout = BufReader::with_capacity(1 << 16, stdout);
                let mut line = Vec::new();
                while matches!(stdout.read_until(b'\n', &mut line), Ok(read) if read > 0) {
                    if line.last() == Some(&b'\n') {
                        line.pop();
                    }
                    if send.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                        break;
                    }
                    line.clear();
                }
            });
        }
        Ok(Self { child, requests, lines })
    }

    fn send(&self, batch: Batch, from: usize) {
        // It fails only when the process is gone, which shows by its missing answers.
        let _ = self.requests.send((batch, from));
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only when the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The merge core, in this process: what is tested is asked without pipes or other processes between, and held to what no
/// response tells.
pub struct CorePeer {
    session: Session,
    batch: Batch,
}

impl Default for CorePeer {
    fn default() -> Self {
        Self { session: Session::checked(), batch: Batch::default() }
    }
}

impl Peer for CorePeer {
    fn start(&mut self, requests: Batch) -> Result<()> {
        self.batch = requests;
        Ok(())
    }

    /// A panic is a response that is no JSON, and the end of the session: nobody sees it half changed.
    fn finish(&mut self) -> Result<Vec<String>> {
        let Self { session, batch } = self;
        let respond = |line: &String| {
            panic::catch_unwind(AssertUnwindSafe(|| session.answer(line))).unwrap_or_else(|_| {
                *session = Session::checked();
                "the core panicked".to_owned()
            })
        };
        Ok(batch.iter().map(respond).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(script: &str) -> ProcessPeer {
        ProcessPeer::start(["sh", "-c", script].map(str::to_owned).to_vec()).unwrap()
    }

    fn lines(lines: &[&str]) -> Vec<String> {
        lines.iter().map(|&line| line.to_owned()).collect()
    }

    #[test]
    fn a_large_batch_fills_no_pipe() {
        let requests: Vec<_> = (0..2000).map(|i| format!("{i}{}", "x".repeat(500))).collect();
        let mut peer = peer("cat");
        assert_eq!(peer.ask(&requests).unwrap(), requests);
        assert_eq!(peer.ask(&requests[..3]).unwrap(), requests[..3]);
    }

    #[test]
    fn a_request_that_the_peer_dies_of_is_named_and_the_next_ones_are_answered() {
        let mut peer = peer(r#"while read -r line; do [ "$line" = die ] && exit 1; echo "$line"; done"#);
        let answers = peer.ask(&lines(&["a", "die", "b"])).unwrap();
        assert_eq!(answers, lines(&["a", "the process ended", "b"]));
    }

    #[test]
    fn a_peer_that_answers_nothing_ends_the_run() {
        let error = peer("exit 1").ask(&vec!["a".to_owned(); 9]).unwrap_err();
        assert!(error.to_string().contains("without a single answer"), "{error}");
        assert!(ProcessPeer::start(Vec::new()).is_err());
    }
}
