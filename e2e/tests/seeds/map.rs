//! The map from promises to scenarios, without a server: no promise is without a scenario, and what it names is there.

use std::fs;

use baton_e2e::scenario::Promise;
use baton_testbed::workspace;
use libtest_mimic::{Failed, Trial};

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("map::every_promise_is_told_and_shown", every_promise_is_told_and_shown),
        Trial::test("map::no_promise_stands_there_twice", no_promise_stands_there_twice),
        Trial::test("map::tests_of_other_suites_are_there", tests_of_other_suites_are_there),
        Trial::test("map::what_the_tutorial_names_is_there", what_the_tutorial_names_is_there),
    ]
}

fn promises() -> impl Iterator<Item = (&'static str, &'static Promise)> {
    super::sections()
        .into_iter()
        .flat_map(|section| section.promises.iter().map(move |promise| (section.title, promise)))
}

fn none(found: impl Iterator<Item = String>) -> Result<(), Failed> {
    let found: Vec<_> = found.collect();
    if found.is_empty() { Ok(()) } else { Err(found.join("\n").into()) }
}

fn every_promise_is_told_and_shown() -> Result<(), Failed> {
    let is_empty = |promise: &Promise| promise.plays.is_empty() && promise.tests.is_empty();
    let found = promises()
        .filter(|(title, promise)| title.is_empty() || promise.says.is_empty() || is_empty(promise));
    none(found.map(|(title, promise)| format!("{title}: {:?} is a row without content", promise.says)))
}

fn no_promise_stands_there_twice() -> Result<(), Failed> {
    let mut all: Vec<_> = promises().map(|(_, promise)| promise.says).collect();
    all.sort_unstable();
    none(all.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0].to_owned()))
}

fn tests_of_other_suites_are_there() -> Result<(), Failed> {
    let is_there = |test: &str| {
        let (file, name) = test.split_once("::").unwrap_or((test, ""));
        let text = fs::read_to_string(workspace().join(file)).unwrap_or_default();
        text.contains(&format!("fn {name}("))
    };
    let tests = promises().flat_map(|(_, promise)| promise.tests);
    none(tests.filter(|test| !is_there(test)).map(|test| format!("there is no test {test}")))
}

/// A link whose text is code, to a file, is to something in that file.
fn what_the_tutorial_names_is_there() -> Result<(), Failed> {
    let docs = workspace().join("docs");
    let text = fs::read_to_string(docs.join("server-side-apply.md"))?;
    let links = text.split("](").skip(1).zip(text.split("](")).filter_map(|(after, before)| {
        let (target, _) = after.split_once(')')?;
        let (_, shown) = before.rsplit_once('[')?;
        Some((shown, target))
    });
    let is_missing = |(shown, target): &(&str, &str)| {
        let path = docs.join(target);
        let Some(name) = shown.strip_prefix('`').and_then(|name| name.strip_suffix('`')) else {
            return !path.exists();
        };
        let name = name.rsplit("::").next().unwrap_or(name);
        let is_the_file = path.file_stem().is_some_and(|stem| stem == name) || target.ends_with(name);
        !is_the_file && !fs::read_to_string(&path).is_ok_and(|text| text.contains(name))
    };
    none(links.filter(is_missing).map(|(shown, target)| format!("{shown} isn't at {target}")))
}
