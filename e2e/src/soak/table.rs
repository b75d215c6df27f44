//! What came of a soak, laid out for eyes.

use super::run::{Effort, Outcome};

/// The width of the column that says what is counted, and of the one that says how many.
const COLUMNS: (usize, usize) = (48, 4);

/// The whole table.
pub fn text(effort: Effort, outcome: &Outcome) -> String {
    let tally = &outcome.judgement.tally;
    let done: usize = outcome.switches.iter().map(|(_, count)| count).sum();
    let mut lines = vec![
        format!(
            "{done} of {} switches of {} Workloads, seed {}, in {:.0} s",
            effort.switches,
            effort.workloads,
            effort.seed,
            outcome.took.as_secs_f64()
        ),
        String::new(),
        "switches".to_owned(),
    ];
    lines.extend(outcome.switches.iter().map(|(kind, count)| line(&format!("  {kind}"), count)));
    lines.push("handovers".to_owned());
    lines.extend([
        line("  the temporary manager came to hold a number", tally.begun),
        line("  an autoscaler came to hold a number", tally.completed),
        line("  HandedOver was reported", tally.reported),
        line("  Baton came to hold a number again", tally.taken_back),
    ]);
    lines.push("numbers".to_owned());
    lines.extend([
        line("  values seen", tally.values),
        line("  set by Baton, as the spec says", tally.set),
        line("  scaled up by an autoscaler", tally.scaled_up),
        line("  scaled down by an autoscaler", tally.scaled_down),
        line("  of these late: it was gone, or its limits new", tally.late),
    ]);
    lines.push(String::new());
    let margin = tally.lowest_margin.map_or("–".to_owned(), |margin| margin.to_string());
    lines.push(line("lowest margin", margin));
    lines.push(line("violations", outcome.judgement.violations.len()));
    lines.join("\n") + "\n"
}

fn line(what: &str, how_many: impl std::fmt::Display) -> String {
    let (wide, narrow) = COLUMNS;
    format!("{what:<wide$}{:>narrow$}", how_many.to_string())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::soak::{
        choice::Kind,
        judge::{Judgement, Tally},
    };

    #[test]
    fn counts_stand_under_each_other() {
        let tally = Tally { values: 12, begun: 3, lowest_margin: Some(-2), ..Tally::default() };
        let outcome = Outcome {
            switches: Kind::ALL.map(|kind| (kind, kind as usize)),
            judgement: Judgement { violations: vec![], tally },
            story: None,
            took: Duration::from_millis(99_400),
        };
        let text = text(Effort { switches: 11, workloads: 2, seed: 7 }, &outcome);
        let expected = "\
10 of 11 switches of 2 Workloads, seed 7, in 99 s

switches
  on                                               0
  off, with a number                               1
  off, without a number                            2
  to an external autoscaler                        3
  edit of numbers                                  4
handovers
  the temporary manager came to hold a number      3
  an autoscaler came to hold a number              0
  HandedOver was reported                          0
  Baton came to hold a number again                0
numbers
  values seen                                     12
  set by Baton, as the spec says                   0
  scaled up by an autoscaler                       0
  scaled down by an autoscaler                     0
  of these late: it was gone, or its limits new    0

lowest margin                                     -2
violations                                         0
";
        assert_eq!(text, expected, "\n{text}\n{expected}");
    }
}
