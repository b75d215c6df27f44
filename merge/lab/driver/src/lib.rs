//! The merge driver protocol: a JSON object on a line is a request to the merge core, and another one its response.
//!
//! Any implementation of the merge core can speak it, so that two can be compared; the Go libraries behind server-side
//! apply do, as this project's oracle. There are three levels: typed values, the updater, and one write of an API server.
//!
//! [`Session`] is the merge core's side of it. [`compare()`] compares two responses to one request, and [`corpus`] reads
//! requests that are recorded with the responses of the Go libraries. Merging itself is in [`baton_merge`].
//!
//! ```
//! let mut session = baton_merge_driver::Session::new();
//! let response = session.respond(r#"{"do": "to_set", "value": {"a": {"b": 1}}, "id": 7}"#);
//! assert_eq!(response, r#"{"set":{"f:a":{".":{},"f:b":{}}},"id":7}"#);
//! ```

pub mod compare;
pub mod corpus;
mod laws;
mod level1;
mod level2;
mod level3;
mod refusal;
mod request;
mod response;
mod sources;
mod surrogates;

use baton_merge::Arena;

use crate::{refusal::Refusal, request::Request, sources::Sources};
pub use compare::compare;

/// A session, which caches compiled schemas by their content.
#[derive(Default)]
pub struct Session {
    sources: Sources,
    arena: Arena,
    checks: bool,
}

impl Session {
    /// A new session.
    pub fn new() -> Self {
        Self::default()
    }

    /// A session that also checks the laws of every apply. If the merge core breaks one, [`respond`](Self::respond) panics.
    pub fn checked() -> Self {
        Self { checks: true, ..Self::default() }
    }

    /// The response to a line.
    pub fn respond(&mut self, line: &str) -> String {
        let Self { sources, arena, checks } = self;
        arena.reset();
        let line = surrogates::repaired(line);
        let request = Request::parse(&line);
        let asked = request.as_ref().map_err(Refusal::clone);
        let mut out = asked
            .and_then(|request| ask(sources, arena, request, *checks))
            .unwrap_or_else(|refusal| refusal.to_response());
        if let Some(id) = request.ok().and_then(|request| request.raw("id")) {
            out.member("id").push_str(id);
        }
        out.finish()
    }
}

fn ask<'a>(
    sources: &'a mut Sources,
    arena: &'a Arena,
    request: &'a Request<'a>,
    checks: bool,
) -> Result<response::ResponseLine, Refusal> {
    let release = request.release()?;
    match &*request.question()? {
        verb @ ("apply" | "update") if request.has("gvk") => {
            level3::respond(sources, arena, release, verb == "apply", request, checks)
        }
        verb @ ("apply" | "update") => level2::respond(sources, arena, release, verb == "apply", request),
        question => level1::respond(sources, arena, release, question, request),
    }
}
