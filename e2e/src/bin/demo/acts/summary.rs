//! What was shown, and how to go on.

use std::time::Duration;

use crate::{Args, GroundKind, claims::Claims, print};

pub(crate) fn play(claims: &Claims, took: Duration, args: &Args) {
    print::heading(10, "That was it");
    print::say(&format!(
        "{} claims were checked against the API server, and all of them hold. It took {}.",
        claims.checked(),
        print::seconds(took)
    ));
    let flag = match args.ground_kind() {
        GroundKind::InProcess => "",
        GroundKind::ControlPlane => " --real",
        GroundKind::Node => " --node",
    };
    if !args.keep {
        print::say(&format!(
            "To look around in this cluster with kubectl, have it left running: cargo demo{flag} --keep"
        ));
    }
    if let GroundKind::InProcess = args.ground_kind() {
        print::say("The same on a real control plane: cargo demo --real");
    }
}
