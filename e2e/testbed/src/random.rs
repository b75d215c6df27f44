//! Choices made from a seed: the same seed, the same choices, on every machine.

/// A source of choices.
#[derive(Clone, Debug)]
pub struct Random(fastrand::Rng);

impl Random {
    /// The choices of the `number`-th scenario of a run.
    pub fn new(seed: u64, number: u64) -> Self {
        // The numbers of neighbours are spread over all 64 bits, since small generators start alike from seeds alike.
        let mut seeds = fastrand::Rng::with_seed(seed);
        let mut numbers = fastrand::Rng::with_seed(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Self(fastrand::Rng::with_seed(seeds.u64(..) ^ numbers.u64(..).rotate_left(17)))
    }

    /// True once in `n` times.
    pub fn one_in(&mut self, n: u32) -> bool {
        self.0.u32(..n.max(1)) == 0
    }

    /// True in that many of a hundred cases.
    pub fn percent(&mut self, percent: u32) -> bool {
        self.0.u32(..100) < percent
    }

    /// A number below `n`; 0 where there is none.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 { 0 } else { self.0.usize(..n) }
    }

    /// One of `options`, which must not be empty.
    pub fn pick<'a, T: ?Sized>(&mut self, options: &'a [&'a T]) -> &'a T {
        options[self.below(options.len())]
    }

    /// One of `items`, if there are any.
    pub fn choose<'a, T>(&mut self, items: &'a [T]) -> Option<&'a T> {
        items.get(self.below(items.len()))
    }

    /// A random index of `weights`, in proportion to them.
    pub fn weighted(&mut self, weights: &[u32]) -> usize {
        let mut left = self.0.u32(..weights.iter().sum::<u32>().max(1));
        for (i, weight) in weights.iter().enumerate() {
            if left < *weight {
                return i;
            }
            left -= weight;
        }
        0
    }

    /// A float of up to 17 digits, neither very large nor very small.
    pub fn float(&mut self) -> f64 {
        // The bits of a float: a sign, an exponent of 11 bits, and the digits.
        let exponent = self.0.u64(1023 - 80..1023 + 80);
        f64::from_bits((self.0.u64(..2) << 63) | (exponent << 52) | self.0.u64(..1 << 52))
    }

    /// Puts `items` into any order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        self.0.shuffle(items);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_and_a_number_determine_every_choice() {
        let choices = |seed, number| {
            let mut random = Random::new(seed, number);
            (0..20).map(|_| random.below(1000)).collect::<Vec<_>>()
        };
        assert_eq!(choices(1, 2), choices(1, 2));
        assert_ne!(choices(1, 2), choices(1, 3));
        assert_ne!(choices(1, 2), choices(2, 2));
        assert_ne!(choices(1, 2), choices(2, 1));
    }

    #[test]
    fn weights_are_kept() {
        let mut random = Random::new(1, 1);
        let mut seen = [0; 3];
        for _ in 0..1000 {
            seen[random.weighted(&[1, 0, 9])] += 1;
        }
        assert!(seen[1] == 0 && seen[0] > 50 && seen[2] > 800, "{seen:?}");
    }
}
