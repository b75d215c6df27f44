//! Figures, and the one in the middle of several.

use serde::Deserialize;

/// What one op took, on average over one run.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub struct Sample {
    /// Time.
    pub nanoseconds: f64,
    /// How often memory was asked for.
    pub allocations: f64,
    /// How much memory was asked for.
    pub bytes: f64,
}

impl Sample {
    /// The median of each figure.
    pub fn median(samples: &[Self]) -> Self {
        let of = |figure: fn(&Self) -> f64| median(samples.iter().map(figure));
        Self {
            nanoseconds: of(|sample| sample.nanoseconds),
            allocations: of(|sample| sample.allocations),
            bytes: of(|sample| sample.bytes),
        }
    }
}

/// The median; of an even number of figures the mean of the two in the middle, of none zero.
pub fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut figures: Vec<_> = figures.into_iter().collect();
    figures.sort_by(f64::total_cmp);
    let middle = figures.len() / 2;
    match (figures.len() % 2, figures.get(middle)) {
        (0, Some(upper)) => f64::midpoint(figures[middle - 1], *upper),
        (_, Some(figure)) => *figure,
        (_, None) => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_in_the_middle() {
        assert!((median([3.0, 100.0, 1.0]) - 3.0).abs() < f64::EPSILON);
        assert!((median([4.0, 1.0, 2.0, 100.0]) - 3.0).abs() < f64::EPSILON);
        assert!(median([]).abs() < f64::EPSILON);
    }
}
