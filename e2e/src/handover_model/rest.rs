//! The operator without disturbances.

use super::{
    cluster::{Cluster, START, Spec},
    operator::{HeldBack, PassStore, Pending, Received},
    server::{Server, ServerResponse, scaler_owns},
};

use baton_controller::decide::child::ChildKind;

/// After so many passes that changed something, the operator should be at rest. A pass goes on until nothing is left to do, so
/// one is enough.
pub(super) const MOST_PASSES: usize = 1;

/// The uid of an autoscaler that is created on the way to rest.
const LAST_UID: u8 = u8::MAX;

/// How the operator alone came to rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest {
    pub(super) cluster: Cluster,
    /// The passes that changed something.
    pub(super) passes: usize,
}

/// Runs passes without disturbances, with caches that show the newest state, until one changes nothing. `None` if the operator
/// doesn't come to rest.
pub(super) fn come_to_rest(start: Cluster, operator: &mut PassStore, server: &mut Server) -> Option<Rest> {
    const ENDLESS: usize = 20;
    let mut cluster = start;
    for passes in 0..ENDLESS {
        let after = pass(cluster, operator, server)?;
        if after == cluster {
            return Some(Rest { cluster, passes });
        }
        cluster = after;
    }
    None
}

/// The cluster after a pass without disturbances.
fn pass(mut cluster: Cluster, operator: &mut PassStore, server: &mut Server) -> Option<Cluster> {
    let mut id = operator.begin(cluster, HeldBack::default(), false, server);
    loop {
        let received = match operator.pending(id) {
            Pending::Done => return Some(cluster),
            Pending::Read(read) => PassStore::shown(read, &cluster),
            Pending::Write(sent) => {
                let object = cluster.child(sent.child);
                let response = server.send(sent.request, *object, LAST_UID);
                match response {
                    ServerResponse::Done(after) => *object = after,
                    ServerResponse::Stale { .. } => {}
                    ServerResponse::Refused => return None,
                }
                Received::Written(response)
            }
        };
        id = operator.receive(id, received, server);
    }
}

/// Whether the replica count has the owner that it should have, once the operator alone has come to rest from a start.
pub(super) fn is_as_it_should_be(start: &Cluster, rest: &Rest, server: &Server) -> bool {
    let Rest { cluster, passes } = rest;
    let Some(replicas) = cluster.deployment.map(|id| server.replicas(id)) else { return false };
    let before = start.deployment.map(|id| server.replicas(id));
    let owners = &replicas.owners;
    let to_resume = start.deployment.and_then(|id| server.judged(id).to_resume);
    let stays = before.is_none_or(|before| match (before.count, cluster.spec) {
        (0, Spec::HandsOff) => replicas.count == to_resume.unwrap_or(0),
        (0, _) => replicas.count == to_resume.unwrap_or(START),
        (count, _) => replicas.count == count,
    });
    let was_scaled = before.is_some_and(|before| !before.owners.scale.is_empty());
    let is_right = match cluster.spec {
        // Another owner's autoscaler scales it, and stays the owner.
        Spec::Number(_) if cluster.theirs && (was_scaled || scaler_owns(replicas)) => stays && !owners.baton,
        Spec::Number(wanted) => replicas.count == wanted && owners.baton && !scaler_owns(replicas),
        Spec::Own => stays && !owners.baton && (cluster.own.is_some() || cluster.theirs),
        Spec::HandsOff | Spec::External => stays && !owners.baton,
        Spec::Suspended => replicas.count == 0 && owners.baton && !scaler_owns(replicas),
    };
    let is_wanted = cluster.spec == Spec::Own;
    let recorded = start.recorded.filter(|number| *number > 0);
    let starts = before.is_some() || cluster.spec != Spec::Own || replicas.count == recorded.unwrap_or(START);
    is_right && starts && (is_wanted || cluster.own.is_none()) && *passes <= MOST_PASSES
}

impl Cluster {
    /// The object of a child.
    pub(super) fn child(&mut self, child: ChildKind) -> &mut Option<super::server::ObjectId> {
        match child {
            ChildKind::Autoscaler => &mut self.own,
            _ => &mut self.deployment,
        }
    }
}
