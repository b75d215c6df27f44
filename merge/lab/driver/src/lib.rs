//! The merge driver protocol: one JSON object a line for a request to the merge core, one a line for its response.
//!
//! Any implementation of the merge core can speak it, so that two can be asked the same and compared; the Go libraries
//! behind server-side apply do, as this project's oracle. Three levels: typed values, the updater, and what an API server
//! does to one write.
//!
//! [`Session`] is the merge core's side of it. [`compare()`] says when two responses to one request are the same, and
//! [`corpus`] reads requests that are recorded with the responses of the Go libraries. How to merge is [`baton_merge`]'s.
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

/// A conversation: keeps what was compiled from schemas, by their content.
#[derive(Default)]
pub struct Session {
    sources: Sources,
    arena: Arena,
    checks: bool,
}

impl Session {
    /// A conversation that has not begun.
    pub fn new() -> Self {
        Self::default()
    }

    /// One that also checks the laws of every apply. Where the merge core breaks one, [`respond`](Self::respond)
    /// panics.
    pub fn checked() -> Self {
        Self { checks: true, ..Self::default() }
    }

    /// Responds to any line with a line.
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
