//! What was shown, and how to go on.

use std::time::Duration;

use crate::{claims::Claims, print};

pub(crate) fn play(claims: &Claims, took: Duration, kept: bool) {
    print::heading(10, "That was it");
    print::say(&format!(
        "{} claims were checked against the API server, and all of them hold. It took {}.",
        claims.checked(),
        print::seconds(took)
    ));
    if !kept {
        print::say("To look around in this cluster with kubectl, have it left running: cargo demo --keep");
    }
}
