//! Choices that bytes make. When the bytes run out every choice is the first one, which is why the first is always one
//! that ends things or keeps them small: so each input means something, and short inputs mean small cases.

/// A stream of choices, one a byte.
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

    /// One of these; there has to be one.
    pub(super) fn one<'s, T>(&mut self, of: &'s [T]) -> &'s T {
        &of[self.below(of.len())]
    }
}
