//! Looks for the first question that a driver answers differently from the Go libraries.

use std::{path::Path, sync::Arc};

use super::questions::{Group, Origin, Questions};
use crate::merge_diff::{
    Error, Peer, ProcessPeer,
    compare::{Verdict, compare},
};

/// How often the oracle is asked again whether it has only one answer: some depend on the random order of Go's maps.
const ASKED_AGAIN: usize = 24;

/// The first question whose answer shows that a core is broken.
#[derive(Clone, Debug)]
pub struct Catch {
    /// Where the question is from.
    pub origin: Origin,
    /// How many were asked, this one included.
    pub after: usize,
}

/// Asks the program `driver` one question after the other until it is caught. `oracle` is who decides again where an
/// answer may have been one of several.
pub fn hunt(driver: &Path, oracle: &mut dyn Peer, questions: &Questions) -> Result<Option<Catch>, Error> {
    let mut peer = ProcessPeer::start(vec![driver.display().to_string()])?;
    let mut asked = 0;
    for group in &questions.groups {
        if let Some(position) = differing(&mut peer, oracle, group, true)?.first() {
            return Ok(Some(Catch { origin: group.origin(*position), after: asked + position + 1 }));
        }
        asked += group.requests.len();
    }
    Ok(None)
}

/// Takes out the questions that `driver`, which nobody broke, answers differently already: they show nothing of a broken
/// one. Gives where they are from.
pub fn leave_out_differing(
    driver: &Path,
    oracle: &mut dyn Peer,
    questions: &mut Questions,
) -> Result<Vec<Origin>, Error> {
    let mut peer = ProcessPeer::start(vec![driver.display().to_string()])?;
    let mut origins = Vec::new();
    for group in &mut questions.groups {
        let positions = differing(&mut peer, oracle, group, false)?;
        origins.extend(positions.iter().map(|position| group.origin(*position)));
        for position in positions {
            group.left_out.insert(position);
        }
    }
    Ok(origins)
}

/// The positions of the questions that are answered differently, or only of the first one.
fn differing(
    peer: &mut dyn Peer,
    oracle: &mut dyn Peer,
    group: &Group,
    only_first: bool,
) -> Result<Vec<usize>, Error> {
    peer.start(Arc::clone(&group.requests))?;
    let answers = peer.finish()?;
    let mut positions = Vec::new();
    for (position, (answer, expected)) in answers.iter().zip(&group.answers).enumerate() {
        if group.left_out.contains(&position)
            || answer == expected
            || !matches!(compare(answer, expected), Verdict::Differs { .. })
        {
            continue;
        }
        let again = vec![group.requests[position].clone(); ASKED_AGAIN];
        if oracle.ask(&again)?.iter().all(|other| compare(answer, other) != Verdict::Matched) {
            positions.push(position);
            if only_first {
                break;
            }
        }
    }
    Ok(positions)
}
