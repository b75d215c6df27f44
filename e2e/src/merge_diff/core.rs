//! The Rust merge core as a peer, in this process: what is tested is asked without pipes or other processes between.

use std::panic::{self, AssertUnwindSafe};

use baton_merge_driver::Session;

use super::{Error, Peer, peer::Batch};

/// The merge core of this workspace.
pub struct CorePeer {
    session: Session,
    batch: Batch,
}

impl CorePeer {
    /// A peer that has been asked nothing yet.
    pub fn new() -> Self {
        Self { session: Session::new(), batch: Batch::from([]) }
    }

    /// The answer to one line. A panic is an answer that is no JSON, and the end of the session.
    fn answer(&mut self, line: &str) -> String {
        // The session is thrown away if it panics, so that nobody sees it half changed.
        let session = &mut self.session;
        panic::catch_unwind(AssertUnwindSafe(|| session.answer(line))).unwrap_or_else(|_| {
            self.session = Session::new();
            "the core panicked".to_owned()
        })
    }
}

impl Default for CorePeer {
    fn default() -> Self {
        Self::new()
    }
}

impl Peer for CorePeer {
    fn start(&mut self, requests: Batch) -> Result<(), Error> {
        self.batch = requests;
        Ok(())
    }

    fn finish(&mut self) -> Result<Vec<String>, Error> {
        let batch = Batch::clone(&self.batch);
        Ok(batch.iter().map(|line| self.answer(line)).collect())
    }
}
