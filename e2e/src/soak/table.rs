//! The result of a soak as a table for people.

use super::run::{Effort, Outcome};

/// The widths of the two columns: what is counted, and how many.
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
        line("  the temporary manager became an owner", tally.begun),
        line("  an autoscaler became the owner", tally.completed),
        line("  HandedOver was reported", tally.reported),
        line("  Baton became an owner again", tally.taken_back),
    ]);
    lines.push("replica counts".to_owned());
    lines.extend([
        line("  values seen", tally.values),
        line("  set by Baton from the spec", tally.set),
        line("  scaled up by an autoscaler", tally.scaled_up),
        line("  scaled down by an autoscaler", tally.scaled_down),
        line("  late: it was gone, or its limits had changed", tally.late),
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
    fn counts_are_in_one_column() {
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
  off, with replicas                               1
  off, without replicas                            2
  to an external autoscaler                        3
  edit of replicas or limits                       4
handovers
  the temporary manager became an owner            3
  an autoscaler became the owner                   0
  HandedOver was reported                          0
  Baton became an owner again                      0
replica counts
  values seen                                     12
  set by Baton from the spec                       0
  scaled up by an autoscaler                       0
  scaled down by an autoscaler                     0
  late: it was gone, or its limits had changed     0

lowest margin                                     -2
violations                                         0
";
        assert_eq!(text, expected, "\n{text}\n{expected}");
    }
}
