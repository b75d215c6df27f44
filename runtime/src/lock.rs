//! Mutexes that can be locked after a panic elsewhere.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a value that is whole between any two calls, so that a panic elsewhere can't leave it wrong.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
