//! Digests of values, in this process.

use std::{
    hash::{BuildHasher as _, Hash},
    sync::LazyLock,
};

use foldhash::quality::RandomState;

/// Outside of this process, no one can predict which values have the same hash.
static CHANCE: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// A digest of values.
pub(crate) fn digest_of(parts: impl Hash) -> u64 {
    CHANCE.hash_one(parts)
}
