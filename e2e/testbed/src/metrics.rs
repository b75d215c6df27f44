//! The metrics of a program, parsed from the text format of `OpenMetrics` or Prometheus.

/// All samples at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metrics(Vec<Sample>);

#[derive(Clone, Debug, PartialEq)]
struct Sample {
    name: String,
    labels: Vec<(String, String)>,
    value: f64,
}

impl Metrics {
    /// The sum of all samples of this name that have these labels, among others; zero if there is none.
    pub fn value(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let has = |sample: &&Sample| {
            let carries = |(name, value): &(&str, &str)| {
                sample.labels.iter().any(|(label, text)| label == name && text == value)
            };
            sample.name == name && labels.iter().all(carries)
        };
        self.0.iter().filter(has).map(|sample| sample.value).sum()
    }

    /// As [`value`](Self::value), of what is counted in whole numbers.
    pub fn count(&self, name: &str, labels: &[(&str, &str)]) -> u64 {
        let value = self.value(name, labels).round();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count is neither huge nor negative"
        )]
        let count = value as u64;
        count
    }

    /// Reads a whole exposition. Comments, timestamps and exemplars are passed over.
    ///
    /// # Errors
    /// The first line that isn't a sample.
    pub fn parse(text: &str) -> Result<Self, String> {
        let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
        let read = |line: &str| sample(line).ok_or_else(|| format!("not a sample: {line:?}"));
        lines.map(read).collect::<Result<_, _>>().map(Self)
    }
}

/// `name value` or `name{label="text",…} value`, and after that anything.
fn sample(line: &str) -> Option<Sample> {
    let (name, mut rest) = line.split_at(line.find(['{', ' '])?);
    let mut labels = Vec::new();
    if let Some(inner) = rest.strip_prefix('{') {
        rest = inner;
        while !rest.starts_with('}') {
            let (label, after) = rest.trim_start_matches(',').split_once("=\"")?;
            let (text, after) = quoted(after)?;
            labels.push((label.to_owned(), text));
            rest = after;
        }
        rest = &rest[1..];
    }
    let value = rest.split_whitespace().next()?.parse().ok()?;
    Some(Sample { name: name.to_owned(), labels, value })
}

/// The text up to the closing quote, with its escapes resolved, and what follows the quote.
fn quoted(rest: &str) -> Option<(String, &str)> {
    let mut text = String::new();
    let mut letters = rest.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((text, &rest[at + 1..])),
            '\\' => match letters.next()?.1 {
                'n' => text.push('\n'),
                escaped => text.push(escaped),
            },
            plain => text.push(plain),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"# HELP baton_applies Applies by kind and outcome.
# TYPE baton_applies counter
baton_applies_total{kind="Deployment",outcome="sent"} 3
baton_applies_total{kind="Deployment",outcome="skipped"} 40 1700000000.5
baton_applies_total{outcome="sent",kind="Service"} 2 # {trace="x"} 1.0
baton_takeovers_total{kind="Deployment",manager="a \"b\", {c}\\\n"} 1

baton_leader 0
baton_bucket{le="+Inf"} +Inf
# EOF
"#;

    fn assert_value(name: &str, labels: &[(&str, &str)], expected: f64) {
        let value = Metrics::parse(TEXT).unwrap().value(name, labels);
        assert!((value - expected).abs() < f64::EPSILON, "{name} {labels:?}: {value}");
    }

    #[test]
    fn samples_with_these_labels_are_summed_even_if_they_have_others() {
        assert_value("baton_applies_total", &[("kind", "Deployment"), ("outcome", "sent")], 3.0);
        assert_value("baton_applies_total", &[("outcome", "sent")], 5.0);
        assert_value("baton_applies_total", &[], 45.0);
        assert_value("baton_applies_total", &[("outcome", "rejected")], 0.0);
        assert_value("baton_applies", &[], 0.0);
        assert_value("baton_leader", &[], 0.0);
    }

    #[test]
    fn counts_are_whole() {
        assert_eq!(Metrics::parse(TEXT).unwrap().count("baton_applies_total", &[("outcome", "sent")]), 5);
    }

    #[test]
    fn a_label_may_hold_anything() {
        assert_value("baton_takeovers_total", &[("manager", "a \"b\", {c}\\\n")], 1.0);
    }

    #[test]
    fn values_may_be_infinite() {
        assert!(Metrics::parse(TEXT).unwrap().value("baton_bucket", &[]).is_infinite());
    }

    #[test]
    fn what_is_not_a_sample_is_refused_with_its_line() {
        for wrong in ["name", "name x", "name{a=\"b} 1", "name{a=b} 1", "<html>"] {
            let error = Metrics::parse(&format!("ok 1\n{wrong}\n")).unwrap_err();
            assert!(error.contains(&format!("{wrong:?}")), "{error}");
        }
    }
}
