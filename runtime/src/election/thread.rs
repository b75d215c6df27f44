//! The thread that renews the Lease.

use std::io;

use tokio::runtime::{self, Handle, Runtime};

/// A thread of its own for the Lease, whose renewal then waits for nothing else. It ends with this.
#[derive(Debug)]
pub struct LeaseThread {
    handle: Handle,
    runtime: Option<Runtime>,
}

impl LeaseThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// When the system allows no other thread.
    pub fn start() -> io::Result<Self> {
        let mut builder = runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(1).thread_name("lease").enable_all().build()?;
        Ok(Self { handle: runtime.handle().clone(), runtime: Some(runtime) })
    }

    /// The thread's runtime, for [`Election::stand`](super::Election::stand).
    pub fn handle(&self) -> &Handle {
        &self.handle
    }
}

impl Drop for LeaseThread {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            // It may be dropped by a task, which can't wait.
            runtime.shutdown_background();
        }
    }
}
