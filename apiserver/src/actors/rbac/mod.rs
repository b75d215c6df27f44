//! RBAC: requests are checked against the roles in the store. After `plugin/pkg/auth/authorizer/rbac`.

mod aggregation;
mod attributes;
mod escalation;
mod reviews;
mod rules;
mod user;

pub(super) use self::aggregation::Aggregation;
pub(crate) use self::{attributes::Attributes, user::User};
pub(crate) use self::{escalation::check_grant, reviews::review};
use super::Actor;
use crate::{http::Request, server::Server, status::Failure};

/// The bootstrap roles and bindings without which clients can't work.
pub(crate) const BOOTSTRAP: &str = include_str!("bootstrap.yaml");

struct Decision {
    allowed: bool,
    reason: String,
}

fn decide(server: &Server, user: &User, attributes: &Attributes) -> Decision {
    if !server.actors.is_active(Actor::AccessControl) || user.is_in("system:masters") {
        return Decision { allowed: true, reason: String::new() };
    }
    rules::decide(server, user, attributes)
}

/// Refuses a request that its user may not make.
pub(crate) fn check(server: &Server, request: &Request) -> Result<(), Failure> {
    if !server.actors.is_active(Actor::AccessControl) {
        return Ok(());
    }
    check_attributes(server, request, &Attributes::of(request))
}

/// Refuses an update or apply that creates an object, if the user may not create it.
pub(crate) fn check_creation(server: &Server, request: &Request) -> Result<(), Failure> {
    if !server.actors.is_active(Actor::AccessControl) {
        return Ok(());
    }
    let attributes = Attributes { verb: "create".to_owned(), ..Attributes::of(request) };
    check_attributes(server, request, &attributes)
}

fn check_attributes(server: &Server, request: &Request, attributes: &Attributes) -> Result<(), Failure> {
    let user = User::of(request);
    let decision = decide(server, &user, attributes);
    if decision.allowed { Ok(()) } else { Err(attributes.forbidden(&user, &decision.reason)) }
}
