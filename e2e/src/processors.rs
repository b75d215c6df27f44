//! Work that is spread over the processors.

use std::{
    num::NonZero,
    panic::resume_unwind,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use baton_testbed::{Error, lock};

/// Does all pieces of work in their order, as many at once as there are processors. After an error it begins no other piece.
pub(crate) fn on_all<P: Send>(
    pieces: impl Iterator<Item = P> + Send,
    work: impl Fn(P) -> Result<(), Error> + Sync,
) -> Result<(), Error> {
    let (pieces, has_failed) = (Mutex::new(pieces), AtomicBool::new(false));
    let take = || if has_failed.load(Ordering::Relaxed) { None } else { lock(&pieces).next() };
    let work_on = || {
        while let Some(piece) = take() {
            work(piece).inspect_err(|_| has_failed.store(true, Ordering::Relaxed))?;
        }
        Ok(())
    };
    thread::scope(|scope| {
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work_on)).collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}
