//! Choices that bytes make. When the bytes run out every choice is the first one, which is why the first is always the
//! one that ends things: so each input means something, and short inputs mean small cases.

use arbitrary::Unstructured;

/// A stream of choices.
pub(super) struct Choices<'d>(Unstructured<'d>);

impl<'d> Choices<'d> {
    pub(super) fn new(data: &'d [u8]) -> Self {
        Self(Unstructured::new(data))
    }

    /// Whether no byte is left.
    pub(super) fn are_over(&self) -> bool {
        self.0.is_empty()
    }

    /// A number below a limit, which is at most 256.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        self.0.int_in_range(0..=limit.saturating_sub(1)).unwrap_or_default()
    }

    /// Whether something happens that does so once in `n` times.
    pub(super) fn once_in(&mut self, n: usize) -> bool {
        self.below(n) == n - 1
    }

    /// One of these; there has to be one.
    pub(super) fn one<'s, T>(&mut self, of: &'s [T]) -> &'s T {
        &of[self.below(of.len())]
    }
}
