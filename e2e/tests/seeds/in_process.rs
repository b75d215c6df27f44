//! What isn't played again on the API server inside this process, and why.

use baton_e2e::scenario::Play;
use libtest_mimic::Trial;

/// Scenarios by their names without that of this program, and what they need.
const NOT_IN_PROCESS: &[(&str, &str)] = &[];

pub fn can_be_played(play: &Play) -> bool {
    NOT_IN_PROCESS.iter().all(|(name, _)| *name != super::title(play.name))
}

/// Every scenario that is named here is there.
pub fn list_is_current(plays: &[Play]) -> Trial {
    let is_there = |name: &&str| plays.iter().any(|play| super::title(play.name) == *name);
    let gone: Vec<_> = NOT_IN_PROCESS.iter().map(|(name, _)| *name).filter(|name| !is_there(name)).collect();
    Trial::test("in_process::list_is_current", move || match gone.as_slice() {
        [] => Ok(()),
        gone => Err(format!("there are no such scenarios: {gone:?}").into()),
    })
}
