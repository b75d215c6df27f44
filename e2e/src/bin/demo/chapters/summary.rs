//! The result, and what to try next.

use std::time::Duration;

use crate::{Args, GroundKind, claims::Claims, print};

pub(crate) fn show(claims: &Claims, took: Duration, args: &Args) {
    print::heading(10, "The end");
    print::text(&format!(
        "{} claims were checked against the API server, and all hold. It took {}.",
        claims.checked(),
        print::seconds(took)
    ));
    let flag = match args.ground_kind() {
        GroundKind::InProcess => "",
        GroundKind::ControlPlane => " --real",
        GroundKind::Node => " --node",
    };
    if !args.keep {
        print::text(&format!("To explore this cluster with kubectl: cargo demo{flag} --keep"));
    }
    if let GroundKind::InProcess = args.ground_kind() {
        print::text("To see the same on a real control plane: cargo demo --real");
    }
}
