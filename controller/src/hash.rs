//! Digests of values, in this process.

use std::{
    hash::{BuildHasher as _, Hash},
    sync::LazyLock,
};

use foldhash::quality::{FoldHasher, RandomState};

/// Outside of this process, no one can predict which values have the same hash.
static CHANCE: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// One number for several.
pub(crate) fn digest_of(parts: impl Hash) -> u64 {
    CHANCE.hash_one(parts)
}

/// For one number that is made step by step.
pub(crate) fn hasher() -> FoldHasher<'static> {
    CHANCE.build_hasher()
}
