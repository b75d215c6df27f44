//! A generator of pod templates, and of edits of them, as JSON: from a seed, without I/O.
//!
//! The parts of a template are data, `grammar.yaml`, with the odd spellings that people use: quantities of all sorts, zeros,
//! empty texts, nulls. [`Templates::first`] makes a Workload's spec from it, and [`Templates::edited`] changes one as people do:
//! a field is set, dropped or emptied, an item moves or is renamed, one source of a volume replaces another.
//! [`smaller`](mod@smaller) leaves parts out of both sides of an edit, to find the cause of a failure.
//!
//! Most templates are valid. Only an API server knows for sure.

mod edit;
mod fit;
mod generate;
mod grammar;
pub mod smaller;

use baton_testbed::Random;
use serde_json::Value;

use self::grammar::Grammar;

/// The generator.
#[derive(Debug)]
pub struct Templates(Grammar);

impl Templates {
    /// The generator of `grammar.yaml`.
    ///
    /// # Panics
    /// When it can't be read, which a test rules out.
    pub fn new() -> Self {
        Self(Grammar::shipped())
    }

    /// The spec of a new Workload.
    pub fn first(&self, random: &mut Random) -> Value {
        let mut spec = generate::value(&self.0, self.0.root(), random);
        fit::fit(&mut spec);
        spec
    }

    /// The spec after an edit, and what was done, for people.
    pub fn edited(&self, random: &mut Random, spec: &Value) -> (Value, Vec<String>) {
        let (mut edited, mut done) = (spec.clone(), Vec::new());
        for _ in 0..=random.weighted(&[6, 3, 1]) {
            done.extend(edit::edit(&self.0, random, &mut edited));
        }
        fit::fit(&mut edited);
        (edited, done)
    }
}

impl Default for Templates {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(seed: u64) -> Vec<Value> {
        let (templates, mut random) = (Templates::new(), Random::new(seed, 0));
        let mut spec = templates.first(&mut random);
        let edits = std::iter::repeat_with(|| {
            spec = templates.edited(&mut random, &spec).0;
            spec.clone()
        });
        edits.take(300).collect()
    }

    #[test]
    fn a_seed_determines_every_template() {
        assert_eq!(some(7), some(7));
        assert_ne!(some(7), some(8));
    }

    #[test]
    fn every_source_of_a_volume_is_generated() {
        let text = serde_json::to_string(&(0..20).map(some).collect::<Vec<_>>()).unwrap();
        for source in Grammar::shipped().members_of("Sources") {
            assert!(text.contains(&format!("{source:?}:")), "{source}");
        }
    }

    #[test]
    fn the_items_of_a_list_have_different_names() {
        for spec in (0..3).flat_map(some) {
            for list in ["/template/spec/containers", "/template/spec/volumes"] {
                let names = |spec: &Value| -> Vec<String> {
                    let items = spec.pointer(list).and_then(Value::as_array).into_iter().flatten();
                    items.map(|item| item["name"].to_string()).collect()
                };
                let mut distinct = names(&spec);
                distinct.sort();
                distinct.dedup();
                assert_eq!(distinct.len(), names(&spec).len(), "{spec:#}");
            }
        }
    }
}
