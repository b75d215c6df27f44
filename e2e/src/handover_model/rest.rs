//! What the operator does where nobody disturbs it.

use super::{
    cluster::{Cluster, START, Spec},
    operator::{HeldBack, PassStore, Pending, Received},
    server::{Server, ServerResponse, is_on_its_way},
};

use baton_controller::decide::child::ChildKind;

/// After so many passes that each changed something the operator should be at rest. A pass goes on until nothing is left to
/// do, so one is enough.
pub(super) const MOST_PASSES: usize = 1;

/// The uid of an autoscaler that is made on the way to rest.
const LAST_UID: u8 = u8::MAX;

/// How the operator alone came to rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rest {
    pub(super) cluster: Cluster,
    /// The passes that changed something.
    pub(super) passes: usize,
}

/// Lets the operator alone, with caches that show what there is, until a pass changes nothing. Nothing where it doesn't come
/// to rest.
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

/// The cluster after a pass that nobody disturbs.
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

/// Whether the number is whose it should be, once the operator alone has come to rest from a start.
pub(super) fn is_as_it_should_be(start: &Cluster, rest: &Rest, server: &Server) -> bool {
    let Rest { cluster, passes } = rest;
    let Some(number) = cluster.deployment.map(|id| server.replicas(id)) else { return false };
    let before = start.deployment.map(|id| server.replicas(id));
    let owners = &number.owners;
    let to_resume = start.deployment.and_then(|id| server.number(id).to_resume);
    let stays = before.is_none_or(|before| match (before.count, cluster.spec) {
        (0, Spec::HandsOff) => number.count == to_resume.unwrap_or(0),
        (0, _) => number.count == to_resume.unwrap_or(START),
        (count, _) => number.count == count,
    });
    let was_scaled = before.is_some_and(|before| !before.owners.scale.is_empty());
    let is_right = match cluster.spec {
        // Somebody else's autoscaler scales it: it stays with that one.
        Spec::Number(_) if cluster.theirs && (was_scaled || is_on_its_way(number)) => stays && !owners.baton,
        Spec::Number(wanted) => number.count == wanted && owners.baton && !is_on_its_way(number),
        Spec::Own => stays && !owners.baton && (cluster.own.is_some() || cluster.theirs),
        Spec::HandsOff | Spec::External => stays && !owners.baton,
        Spec::Suspended => number.count == 0 && owners.baton && !is_on_its_way(number),
    };
    let is_wanted = cluster.spec == Spec::Own;
    let told = start.told.filter(|number| *number > 0);
    let starts = before.is_some() || cluster.spec != Spec::Own || number.count == told.unwrap_or(START);
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
