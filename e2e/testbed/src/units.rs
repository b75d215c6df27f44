//! Figures for people: three digits and the unit that suits them.

/// Nanoseconds in the unit that suits them.
pub fn time(nanoseconds: f64) -> String {
    with_unit(nanoseconds, &[(1e6, "ms"), (1e3, "µs"), (1.0, "ns")])
}

/// Bytes in the unit that suits them.
pub fn bytes(bytes: f64) -> String {
    with_unit(bytes, &[(1e6, "MB"), (1e3, "kB"), (1.0, "B")])
}

fn with_unit(figure: f64, units: &[(f64, &str)]) -> String {
    let (size, unit) =
        units.iter().find(|(size, _)| figure >= *size).or(units.last()).copied().unwrap_or((1.0, ""));
    let figure = figure / size;
    let digits = if figure >= 100.0 || size <= 1.0 { 0 } else { usize::from(figure < 10.0) + 1 };
    format!("{figure:.digits$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_a_unit() {
        assert_eq!([0.0, 7.0, 812.4].map(time), ["0 ns", "7 ns", "812 ns"]);
        assert_eq!(
            [1_234.0, 45_678.0, 912_345.0, 2e6].map(time),
            ["1.23 µs", "45.7 µs", "912 µs", "2.00 ms"]
        );
        assert_eq!(bytes(1e6), "1.00 MB");
    }
}
