//! Peers: they respond to each request with a line.

use std::{
    io::{BufRead as _, BufReader, BufWriter, Write as _},
    panic::{self, AssertUnwindSafe},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    thread,
};

use anyhow::{Context as _, Result, ensure};
use baton_merge_driver::Session;

/// A peer that speaks the merge driver protocol: it takes requests, each a line without its end, and returns the responses
/// in order.
pub type Peer = Box<dyn FnMut(&[String]) -> Result<Vec<String>> + Send>;

/// The merge core in this process, with its laws checked. A panic is a response that isn't JSON, and ends the session.
pub fn core() -> Peer {
    let mut session = Session::checked();
    let mut respond = move |line: &String| {
        panic::catch_unwind(AssertUnwindSafe(|| session.respond(line))).unwrap_or_else(|_| {
            session = Session::checked();
            "the core panicked".to_owned()
        })
    };
    Box::new(move |requests| Ok(requests.iter().map(&mut respond).collect()))
}

/// A program with its arguments, started in the current folder. If it ends before it has responded, the run fails with the
/// request.
pub fn process(command: &[String]) -> Result<Peer> {
    let (program, arguments) = command.split_first().context("the command line of a peer is empty")?;
    let name = command.join(" ");
    let mut child = Command::new(program)
        .args(arguments)
        // A Go peer spends a third of its time on collecting garbage otherwise, and has memory enough.
        .env("GOGC", "800")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("can't start the peer `{name}`"))?;
    let (requests, responses) = child.stdin.take().zip(child.stdout.take()).context("a peer has pipes")?;
    let (requests, responses) = (BufWriter::new(requests), BufReader::new(responses));
    let mut running = Running { child, requests, responses };
    Ok(Box::new(move |requests| running.ask(requests).with_context(|| format!("the peer `{name}`"))))
}

struct Running {
    child: Child,
    requests: BufWriter<ChildStdin>,
    responses: BufReader<ChildStdout>,
}

impl Running {
    fn ask(&mut self, requests: &[String]) -> Result<Vec<String>> {
        let Self { requests: pipe, responses, .. } = self;
        thread::scope(|scope| {
            // From another thread, so that a full pipe blocks neither side. A dead process shows by its missing responses.
            scope.spawn(|| {
                let written = requests.iter().try_for_each(|request| writeln!(pipe, "{request}"));
                written.and_then(|()| pipe.flush())
            });
            let respond = |request| {
                let mut line = Vec::new();
                responses.read_until(b'\n', &mut line)?;
                ensure!(line.pop() == Some(b'\n'), "it ended at the request {request}");
                Ok(String::from_utf8_lossy(&line).into_owned())
            };
            requests.iter().map(respond).collect()
        })
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail only if the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(script: &str) -> Peer {
        process(&["sh", "-c", script].map(str::to_owned)).unwrap()
    }

    #[test]
    fn a_large_batch_fills_no_pipe() {
        let requests: Vec<_> = (0..2000).map(|i| format!("{i}{}", "x".repeat(500))).collect();
        let mut peer = peer("cat");
        assert_eq!(peer(&requests).unwrap(), requests);
        assert_eq!(peer(&requests[..3]).unwrap(), requests[..3]);
    }

    #[test]
    fn the_request_that_a_peer_dies_of_is_named() {
        let mut peer = peer(r#"while read -r line; do [ "$line" = die ] && exit 1; echo "$line"; done"#);
        let error = peer(&["a", "die", "b"].map(str::to_owned)).unwrap_err();
        assert!(format!("{error:#}").contains("the request die"), "{error:#}");
    }
}
