//! Choices by bytes. After the last byte every choice is the first one, which is always one that ends or keeps things
//! small: so each input has a meaning, and short inputs are small cases.

/// A stream of choices, one per byte.
pub(super) struct Choices<'d>(&'d [u8]);

impl<'d> Choices<'d> {
    pub(super) fn new(data: &'d [u8]) -> Self {
        Self(data)
    }

    /// Whether no byte is left.
    pub(super) fn are_over(&self) -> bool {
        self.0.is_empty()
    }

    fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    /// A number below a limit, which is at most 256.
    pub(super) fn below(&mut self, limit: usize) -> usize {
        usize::from(self.byte()) % limit.max(1)
    }

    /// One of these, which aren't empty.
    pub(super) fn one<'s, T>(&mut self, of: &'s [T]) -> &'s T {
        &of[self.below(of.len())]
    }
}
