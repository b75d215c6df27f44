//! The map from promises to scenarios, without a server: each promise has a scenario, each scenario has a promise, and what the
//! documents name exists.

use std::{collections::BTreeSet, fs};

use baton_e2e::{
    generated,
    scenario::{
        Scenario,
        docs::table::{Row, rows},
    },
};
use baton_testbed::workspace;
use libtest_mimic::{Failed, Trial};

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("map::no_promise_is_listed_twice", no_promise_is_listed_twice),
        Trial::test("map::each_promise_names_existing_scenarios", each_promise_names_existing_scenarios),
        Trial::test("map::each_scenario_shows_a_promise", each_scenario_shows_a_promise),
        Trial::test("map::what_the_tutorial_names_exists", what_the_tutorial_names_exists),
    ]
}

/// Fails with what `find` finds in the rows of the table.
fn none(find: impl FnOnce(&[Row<'_>]) -> Vec<String>) -> Result<(), Failed> {
    let document = generated::read("docs/seeds.md").map_err(|error| error.report())?;
    let found = find(&rows(&document)?);
    if found.is_empty() { Ok(()) } else { Err(found.join("\n").into()) }
}

fn no_promise_is_listed_twice() -> Result<(), Failed> {
    none(|rows| {
        let mut seen = BTreeSet::new();
        rows.iter()
            .map(|row| row.promise)
            .filter(|promise| !seen.insert(*promise))
            .map(str::to_owned)
            .collect()
    })
}

fn each_promise_names_existing_scenarios() -> Result<(), Failed> {
    let titles: BTreeSet<_> = super::scenarios().iter().map(Scenario::title).collect();
    let is_there = |(name, file): &(&str, Option<&str>)| match file {
        None => titles.contains(name),
        Some(file) => {
            let text = fs::read_to_string(workspace().join(file)).unwrap_or_default();
            text.contains(&format!("fn {name}("))
        }
    };
    none(|rows| {
        let all = rows.iter().flat_map(|row| &row.shown_by);
        all.filter(|shown| !is_there(shown)).map(|shown| format!("{shown:?} doesn't exist")).collect()
    })
}

/// A row names a scenario only by its title, so titles have to be unique.
fn each_scenario_shows_a_promise() -> Result<(), Failed> {
    none(|rows| {
        let shown: BTreeSet<_> = rows.iter().flat_map(|row| &row.shown_by).map(|(name, _)| *name).collect();
        let mut titles: Vec<_> = super::scenarios().iter().map(Scenario::title).collect();
        titles.sort_unstable();
        let twice = titles.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]);
        let unnamed = titles.iter().copied().filter(|title| !shown.contains(title));
        twice.chain(unnamed).map(|title| format!("{title} shows no promise, or isn't unique")).collect()
    })
}

/// A link to a file, whose text is code, names something in that file.
fn what_the_tutorial_names_exists() -> Result<(), Failed> {
    let docs = workspace().join("docs");
    let text = fs::read_to_string(docs.join("server-side-apply.md"))?;
    let links = text.split("](").skip(1).zip(text.split("](")).filter_map(|(after, before)| {
        let (target, _) = after.split_once(')')?;
        let (_, shown) = before.rsplit_once('[')?;
        Some((shown, target))
    });
    let is_missing = |(shown, target): &(&str, &str)| {
        let path = docs.join(target);
        // Another test checks other links, on all pages.
        let Some(name) = shown.strip_prefix('`').and_then(|name| name.strip_suffix('`')) else {
            return false;
        };
        let name = name.rsplit("::").next().unwrap_or(name);
        let is_the_file = path.file_stem().is_some_and(|stem| stem == name) || target.ends_with(name);
        !is_the_file && !fs::read_to_string(&path).is_ok_and(|text| text.contains(name))
    };
    none(|_| links.filter(is_missing).map(|(shown, target)| format!("{shown} isn't at {target}")).collect())
}
