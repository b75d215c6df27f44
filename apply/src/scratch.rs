//! Memory that all predictions of a thread share, one after the other. To allocate and free some hundred kilobytes each time would
//! be a large part of the cost of a prediction.

use std::cell::Cell;

use baton_merge::Arena;

/// An arena that has grown beyond this many bytes isn't kept: the next object is rarely as large.
const MOST_KEPT: usize = 1 << 20;

/// Calls this with an empty arena.
pub(crate) fn with_arena<T>(work: impl FnOnce(&Arena) -> T) -> T {
    thread_local! {
        static KEPT: Cell<Option<Arena>> = const { Cell::new(None) };
    }
    let mut arena = KEPT.take().unwrap_or_default();
    let result = work(&arena);
    arena.reset();
    KEPT.set(Some(arena).filter(|arena| arena.allocated_bytes() <= MOST_KEPT));
    result
}
