//! What becomes of what arrives: the fates of writes, refusals, and the mistakes of an operator with a fault in it.

use std::time::Duration;

use baton_testbed::lock;
use bytes::Bytes;
use http::{
    HeaderValue, Request, Response, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE},
};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    event::Aim,
    faulty::{self, About},
    judge::Author,
    network::{Answer, AnswerBody, Item, NoResponse, Process, Reply, Sent, Ticket, What, is_write},
    observer, people, rest,
    world::World,
};
use crate::handover_model::{Fate, Fault, applied_deployment, hands_over};

/// Of the operator's user, as the manifests have it.
const CREDENTIALS: &str = "Bearer system:serviceaccount:baton-system:baton";
/// How many milliseconds it is until a write arrives that its sender has given up.
const LATE: [u64; 4] = [5, 300, 4000, 31_000];

impl World {
    /// Lets something arrive.
    pub(super) async fn deliver(&mut self, ticket: &Ticket, item: Item) {
        match item.what {
            What::Request(sent) => self.arrives(ticket, *sent).await,
            What::Response(answer, reply) => {
                lock(&self.trace).note(self.began.elapsed(), &format!("{ticket}: {}", answer.head.status));
                // Whoever asked may be gone.
                let _ = reply.send(Ok(*answer));
            }
            What::Event(event) => {
                lock(&self.trace).note(self.began.elapsed(), &ticket.to_string());
                let data = match &mut self.faulty {
                    None => Some(event.data.clone()),
                    Some(faulty) => faulty.shows_event(ticket.process, &event),
                };
                event.give(data);
            }
        }
    }

    async fn arrives(&mut self, ticket: &Ticket, mut sent: Sent) {
        let path = sent.request.uri().path();
        let counts = is_write(&sent.request) && !path.contains("/events") && !path.contains("/leases");
        self.tally.requests += 1;
        self.tally.writes += u64::from(counts);
        let fate = if counts { self.fate(&sent.request) } else { Fate::Responded };
        lock(&self.trace).note(self.began.elapsed(), &format!("{ticket}: {fate:?}"));
        if sent.reply.is_some() && self.refuses.0 > 0 && !path.contains("/leases") {
            self.refuses.0 -= 1;
            let answer = refusal(self.refuses.1);
            self.respond(ticket, answer, sent.reply);
            return;
        }
        match fate {
            Fate::Responded => {}
            Fate::Lost => return lose(sent.reply),
            Fate::CrashBefore => return self.kill(ticket.process.slot, false),
            Fate::ResponseLost => {
                let reply = sent.reply.take();
                drop(self.serve(ticket.process, sent, reply.is_none()).await);
                return lose(reply);
            }
            Fate::CrashAfter => {
                let is_late = sent.reply.is_none();
                drop(self.serve(ticket.process, sent, is_late).await);
                return self.kill(ticket.process.slot, false);
            }
            Fate::Late | Fate::CrashLate => {
                let at = Instant::now() + Duration::from_millis(LATE[self.random.usize(..LATE.len())]);
                lose(sent.reply.take());
                let label = format!("late {}", ticket.label);
                self.network.put_later(ticket.process, label, What::Request(Box::new(sent)), Some(at));
                if fate == Fate::CrashLate {
                    self.kill(ticket.process.slot, true);
                }
                return;
            }
        }
        let reply = sent.reply.take().filter(|reply| !reply.is_closed());
        let is_late = reply.is_none();
        if let Some(answer) = self.serve(ticket.process, sent, is_late).await {
            self.respond(ticket, answer, reply);
        }
    }

    fn fate(&mut self, request: &Request<Bytes>) -> Fate {
        let write = faulty::read(request);
        let is_aimed_at = |aim: &mut Aim| match aim {
            Aim::After(0) => true,
            Aim::After(left) => {
                *left -= 1;
                false
            }
            Aim::HandOver => write.as_ref().is_some_and(hands_over),
            Aim::Creation => {
                let applied = write.as_ref().and_then(applied_deployment);
                applied.is_some_and(|body| body["metadata"].get("uid").is_none())
            }
        };
        let met = self.fates.extract_if(.., |(aim, _)| is_aimed_at(aim));
        met.last().map_or(Fate::Responded, |(_, fate)| fate)
    }

    fn respond(&self, ticket: &Ticket, answer: Answer, reply: Option<Reply>) {
        if let Some(reply) = reply {
            let label = format!("response to {}", ticket.label);
            self.network.put(ticket.process, label, What::Response(Box::new(answer), reply));
        }
    }

    /// What comes of a request that has arrived.
    async fn serve(&mut self, process: Process, sent: Sent, is_late: bool) -> Option<Answer> {
        let Sent { request, since, .. } = sent;
        let author = is_write(&request).then(|| author(&request, since, is_late));
        self.observe(None);
        if self.faulty.is_none() {
            return self.carry_out(request, author.as_ref()).await;
        }
        let path = request.uri().path().to_owned();
        let mut answer = None;
        match self.mistakes(process, request).await {
            Mistaken::Told(told) => answer = Some(told),
            Mistaken::Sends(requests, afterwards) => {
                for request in requests {
                    answer = self.carry_out(request, author.as_ref()).await;
                }
                if let Some(request) = afterwards {
                    self.carry_out(request, None).await;
                }
            }
        }
        if let (Some(faulty), Some(answer)) = (&mut self.faulty, &mut answer)
            && let AnswerBody::Whole(body) = &mut answer.body
        {
            *body = faulty.shows_response(process, &path, body);
        }
        answer
    }

    /// What an operator with a fault in it sends, or is told, in the place of a request.
    async fn mistakes(&mut self, process: Process, request: Request<Bytes>) -> Mistaken {
        let Some(faulty) = &mut self.faulty else { return Mistaken::Sends(vec![request], None) };
        let about = About::of(&request);
        let seen = match &about {
            Some(about) if is_write(&request) => rest::seen(&self.admin, about.site).await.ok().flatten(),
            _ => None,
        };
        if let Some((status, body)) = faulty.response(process, &request, seen.as_ref()) {
            return Mistaken::Told(told(status, &body));
        }
        let (fault, Some(seen)) = (faulty.fault, seen) else { return Mistaken::Sends(vec![request], None) };
        if fault == Fault::SkipsOwnership
            && let Some(unchanged) = self.changes_no_value(&request).await
        {
            return Mistaken::Told(told(StatusCode::OK, &unchanged));
        }
        let requests = faulty::mistaken(fault, &request, &seen).unwrap_or_else(|| vec![request]);
        let takes = requests.iter().any(faulty::takes_number);
        let postponed = match (&mut self.faulty, about) {
            (Some(faulty), Some(about)) if takes => faulty.postponed.remove(&about.site),
            _ => None,
        };
        Mistaken::Sends(requests, postponed)
    }

    /// The live object, where an apply would change none of its values.
    async fn changes_no_value(&self, request: &Request<Bytes>) -> Option<Value> {
        let query = request.uri().query().filter(|query| query.contains("force="))?;
        let path = request.uri().path();
        let mut dry = request.clone();
        *dry.uri_mut() = format!("{path}?{query}&dryRun=All").parse().ok()?;
        let tried: Value = self.admin.request(dry.map(|body| body.to_vec())).await.ok()?;
        let live: Value = self.admin.request(people::get(path)).await.ok()?;
        let values = |object: &Value| {
            let mut values = object.clone();
            values["metadata"]["managedFields"] = Value::Null;
            values["metadata"]["resourceVersion"] = Value::Null;
            values
        };
        (values(&tried) == values(&live)).then_some(live)
    }

    /// What the server makes of a request.
    async fn carry_out(&mut self, mut request: Request<Bytes>, author: Option<&Author>) -> Option<Answer> {
        request.headers_mut().insert(AUTHORIZATION, HeaderValue::from_static(CREDENTIALS));
        let query = request.uri().query().unwrap_or_default();
        let watched = query
            .contains("watch=")
            .then(|| request.uri().path().rsplit('/').next().unwrap_or_default().to_owned());
        let response: Response<Body> = self.admin.send(request.map(Body::from)).await.ok()?;
        let (head, body) = response.into_parts();
        let body = match watched {
            Some(resource) if head.status.is_success() => AnswerBody::Watch(resource, body),
            _ => AnswerBody::Whole(body.collect_bytes().await.ok()?),
        };
        if let (Some(author), AnswerBody::Whole(body), true) = (author, &body, head.status.is_success()) {
            let stored: Value = serde_json::from_slice(body).unwrap_or_default();
            self.observe(Some((observer::revision(&stored), author)));
        }
        Some(Answer { head, body })
    }
}

/// What becomes of a request of an operator with a fault in it.
enum Mistaken {
    /// The operator is told this, and nothing is sent.
    Told(Answer),
    /// These are sent, of which the operator gets the last response; and one more.
    Sends(Vec<Request<Bytes>>, Option<Request<Bytes>>),
}

/// A connection ends without a response.
fn lose(reply: Option<Reply>) {
    if let Some(reply) = reply {
        // Whoever asked may be gone.
        let _ = reply.send(Err(NoResponse));
    }
}

/// A response without the server.
fn told(status: StatusCode, body: &Value) -> Answer {
    let mut head = Response::new(()).into_parts().0;
    head.status = status;
    head.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Answer { head, body: AnswerBody::Whole(body.to_string().into()) }
}

fn refusal(code: u16) -> Answer {
    let reason = if code == 429 { "TooManyRequests" } else { "InternalError" };
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": "refused by the simulation",
    });
    told(StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), &status)
}

/// What a write says of what it was planned from.
fn author(request: &Request<Bytes>, since: u64, is_late: bool) -> Author {
    let body: Value = serde_json::from_slice(request.body()).unwrap_or_default();
    let tested = body.as_array().into_iter().flatten();
    let tested = tested.filter(|operation| operation["path"] == "/metadata/resourceVersion");
    let guards = tested.map(|operation| &operation["value"]).chain(body.pointer("/metadata/resourceVersion"));
    let planned_from = guards.filter_map(Value::as_str).find_map(|version| version.parse().ok());
    let creates = body.is_object() && body.pointer("/metadata/uid").is_none();
    let hands_over = faulty::read(request).as_ref().is_some_and(hands_over);
    Author { since, planned_from, creates, hands_over, is_late }
}
