//! Speaks the merge driver protocol: reads one request a line from standard input and writes one response a line.
//!
//! ```text
//! echo '{"do":"to_set","value":{"a":{"b":1}}}' | cargo run --release -q -p baton-merge --example driver
//! ```

use std::io::{self, BufRead, BufReader, BufWriter, Write};

use baton_merge_driver::Session;

fn main() -> io::Result<()> {
    let mut session = Session::new();
    let mut input = BufReader::new(io::stdin().lock());
    let mut output = BufWriter::new(io::stdout().lock());
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        let text = String::from_utf8_lossy(&line);
        let text = text.trim();
        if !text.is_empty() {
            writeln!(output, "{}", session.respond(text))?;
        }
        line.clear();
        // A client that waits for this response before the next request gets it; a pipe full of requests is served in
        // larger pieces.
        if input.buffer().is_empty() {
            output.flush()?;
        }
    }
    output.flush()
}
