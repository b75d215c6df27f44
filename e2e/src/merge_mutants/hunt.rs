//! Looks for the first question that a driver answers differently from the Go libraries.

use std::{path::Path, sync::Arc};

use super::questions::{Origin, Questions};
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
    /// In what the answers differ.
    pub at: String,
}

/// Asks the program `driver` one question after the other until it is caught. `oracle` is who decides again where an
/// answer may have been one of several.
pub fn hunt(driver: &Path, oracle: &mut dyn Peer, questions: &Questions) -> Result<Option<Catch>, Error> {
    let mut peer = ProcessPeer::start(vec![driver.display().to_string()])?;
    let mut asked = 0;
    for group in &questions.groups {
        peer.start(Arc::clone(&group.requests))?;
        let answers = peer.finish()?;
        for (position, (answer, expected)) in answers.iter().zip(&group.answers).enumerate() {
            if answer == expected {
                continue;
            }
            let Verdict::Differs { at, .. } = compare(answer, expected) else { continue };
            let again = vec![group.requests[position].clone(); ASKED_AGAIN];
            if oracle.ask(&again)?.iter().all(|other| compare(answer, other) != Verdict::Matched) {
                return Ok(Some(Catch { origin: group.origin(position), after: asked + position + 1, at }));
            }
        }
        asked += group.requests.len();
    }
    Ok(None)
}
