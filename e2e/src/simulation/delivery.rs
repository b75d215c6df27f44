//! The delivery of requests that arrive: lost and late writes, refusals, and the bugs of an operator with a fault.

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
    cluster::SimulatedCluster,
    faulty::{self, About},
    judge::Author,
    network::{Item, NoResponse, Process, Reply, ResponseBody, Sent, ServerResponse, Ticket, What, is_write},
    observer,
    plan::Trigger,
    requests, rest,
};
use crate::handover_model::{Delivery, Fault, applied_deployment, hands_over};

/// The credentials of the operator's user, as in the manifests.
const CREDENTIALS: &str = "Bearer system:serviceaccount:baton-system:baton";
/// The milliseconds until a write arrives after its sender has stopped waiting.
const LATE: [u64; 4] = [5, 300, 4000, 31_000];

impl SimulatedCluster {
    /// Delivers something.
    pub(super) async fn deliver(&mut self, ticket: &Ticket, item: Item) {
        match item.what {
            What::Request(sent) => self.arrives(ticket, *sent).await,
            What::Response(response, reply) => {
                lock(&self.trace).note(self.began.elapsed(), &format!("{ticket}: {}", response.head.status));
                // The sender may be gone.
                let _ = reply.send(Ok(*response));
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
        let delivery = if counts { self.delivery(&sent.request) } else { Delivery::Responded };
        lock(&self.trace).note(self.began.elapsed(), &format!("{ticket}: {delivery:?}"));
        if sent.reply.is_some() && self.refuses.0 > 0 && !path.contains("/leases") {
            self.refuses.0 -= 1;
            let response = refusal(self.refuses.1);
            self.respond(ticket, response, sent.reply);
            return;
        }
        match delivery {
            Delivery::Responded => {}
            Delivery::Lost => return lose(sent.reply),
            Delivery::CrashBefore => return self.kill(ticket.process.operator, false),
            Delivery::ResponseLost => {
                let reply = sent.reply.take();
                drop(self.serve(ticket.process, sent, reply.is_none()).await);
                return lose(reply);
            }
            Delivery::CrashAfter => {
                let is_late = sent.reply.is_none();
                drop(self.serve(ticket.process, sent, is_late).await);
                return self.kill(ticket.process.operator, false);
            }
            Delivery::Late | Delivery::CrashLate => {
                let at = Instant::now() + Duration::from_millis(LATE[self.random.usize(..LATE.len())]);
                lose(sent.reply.take());
                let label = format!("late {}", ticket.label);
                self.network.put_later(ticket.process, label, What::Request(Box::new(sent)), Some(at));
                if delivery == Delivery::CrashLate {
                    self.kill(ticket.process.operator, true);
                }
                return;
            }
        }
        let reply = sent.reply.take().filter(|reply| !reply.is_closed());
        let is_late = reply.is_none();
        if let Some(response) = self.serve(ticket.process, sent, is_late).await {
            self.respond(ticket, response, reply);
        }
    }

    fn delivery(&mut self, request: &Request<Bytes>) -> Delivery {
        let write = faulty::read(request);
        let is_triggered = |trigger: &mut Trigger| match trigger {
            Trigger::After(0) => true,
            Trigger::After(left) => {
                *left -= 1;
                false
            }
            Trigger::HandOver => write.as_ref().is_some_and(hands_over),
            Trigger::Creation => {
                let applied = write.as_ref().and_then(applied_deployment);
                applied.is_some_and(|body| body["metadata"].get("uid").is_none())
            }
        };
        let met = self.deliveries.extract_if(.., |(trigger, _)| is_triggered(trigger));
        met.last().map_or(Delivery::Responded, |(_, delivery)| delivery)
    }

    fn respond(&self, ticket: &Ticket, response: ServerResponse, reply: Option<Reply>) {
        if let Some(reply) = reply {
            let label = format!("response to {}", ticket.label);
            self.network.put(ticket.process, label, What::Response(Box::new(response), reply));
        }
    }

    /// Carries out a request that has arrived.
    async fn serve(&mut self, process: Process, sent: Sent, is_late: bool) -> Option<ServerResponse> {
        let Sent { request, since, .. } = sent;
        let author = is_write(&request).then(|| author(&request, since, is_late));
        self.observe(None);
        if self.faulty.is_none() {
            return self.carry_out(request, author.as_ref()).await;
        }
        let path = request.uri().path().to_owned();
        let mut response = None;
        match self.mistakes(process, request).await {
            Mistaken::Responds(given) => response = Some(given),
            Mistaken::Sends(requests, afterwards) => {
                for request in requests {
                    response = self.carry_out(request, author.as_ref()).await;
                }
                if let Some(request) = afterwards {
                    self.carry_out(request, None).await;
                }
            }
        }
        if let (Some(faulty), Some(response)) = (&mut self.faulty, &mut response)
            && let ResponseBody::Whole(body) = &mut response.body
        {
            *body = faulty.shows_response(process, &path, body);
        }
        response
    }

    /// The request that an operator with a fault sends instead, or the response that it receives.
    async fn mistakes(&mut self, process: Process, request: Request<Bytes>) -> Mistaken {
        let Some(faulty) = &mut self.faulty else { return Mistaken::Sends(vec![request], None) };
        let about = About::of(&request);
        let seen = match &about {
            Some(about) if is_write(&request) => rest::seen(&self.admin, about.workload).await.ok().flatten(),
            _ => None,
        };
        if let Some((status, body)) = faulty.response(process, &request, seen.as_ref()) {
            return Mistaken::Responds(made_up(status, &body));
        }
        let (fault, Some(seen)) = (faulty.fault, seen) else { return Mistaken::Sends(vec![request], None) };
        if fault == Fault::SkipsOwnership
            && let Some(unchanged) = self.changes_no_value(&request).await
        {
            return Mistaken::Responds(made_up(StatusCode::OK, &unchanged));
        }
        let requests = faulty::mistaken(fault, &request, &seen).unwrap_or_else(|| vec![request]);
        let takes_over = requests.iter().any(faulty::takes_over);
        let postponed = match (&mut self.faulty, about) {
            (Some(faulty), Some(about)) if takes_over => faulty.postponed.remove(&about.workload),
            _ => None,
        };
        Mistaken::Sends(requests, postponed)
    }

    /// The live object, if an apply would change none of its values.
    async fn changes_no_value(&self, request: &Request<Bytes>) -> Option<Value> {
        let query = request.uri().query().filter(|query| query.contains("force="))?;
        let path = request.uri().path();
        let mut dry = request.clone();
        *dry.uri_mut() = format!("{path}?{query}&dryRun=All").parse().ok()?;
        let tried: Value = self.admin.request(dry.map(|body| body.to_vec())).await.ok()?;
        let live: Value = self.admin.request(requests::get(path)).await.ok()?;
        let values = |object: &Value| {
            let mut values = object.clone();
            values["metadata"]["managedFields"] = Value::Null;
            values["metadata"]["resourceVersion"] = Value::Null;
            values
        };
        (values(&tried) == values(&live)).then_some(live)
    }

    /// The server's response to a request.
    async fn carry_out(
        &mut self,
        mut request: Request<Bytes>,
        author: Option<&Author>,
    ) -> Option<ServerResponse> {
        request.headers_mut().insert(AUTHORIZATION, HeaderValue::from_static(CREDENTIALS));
        let query = request.uri().query().unwrap_or_default();
        let watched = query
            .contains("watch=")
            .then(|| request.uri().path().rsplit('/').next().unwrap_or_default().to_owned());
        let response: Response<Body> = self.admin.send(request.map(Body::from)).await.ok()?;
        let (head, body) = response.into_parts();
        let body = match watched {
            Some(resource) if head.status.is_success() => ResponseBody::Watch(resource, body),
            _ => ResponseBody::Whole(body.collect_bytes().await.ok()?),
        };
        if let (Some(author), ResponseBody::Whole(body), true) = (author, &body, head.status.is_success()) {
            let stored: Value = serde_json::from_slice(body).unwrap_or_default();
            self.observe(Some((observer::revision(&stored), author)));
        }
        Some(ServerResponse { head, body })
    }
}

/// The delivery of a request of an operator with a fault.
enum Mistaken {
    /// The operator receives this response, and nothing is sent.
    Responds(ServerResponse),
    /// These are sent, and the operator receives the last response; then one more is sent.
    Sends(Vec<Request<Bytes>>, Option<Request<Bytes>>),
}

/// Ends a connection without a response.
fn lose(reply: Option<Reply>) {
    if let Some(reply) = reply {
        // The sender may be gone.
        let _ = reply.send(Err(NoResponse));
    }
}

/// A response that isn't the server's.
fn made_up(status: StatusCode, body: &Value) -> ServerResponse {
    let mut head = Response::new(()).into_parts().0;
    head.status = status;
    head.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    ServerResponse { head, body: ResponseBody::Whole(body.to_string().into()) }
}

fn refusal(code: u16) -> ServerResponse {
    let reason = if code == 429 { "TooManyRequests" } else { "InternalError" };
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": "refused by the simulation",
    });
    made_up(StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), &status)
}

/// The inputs of a write, as far as it shows them.
fn author(request: &Request<Bytes>, since: u64, is_late: bool) -> Author {
    let body: Value = serde_json::from_slice(request.body()).unwrap_or_default();
    let hands_over = faulty::read(request).as_ref().is_some_and(hands_over);
    Author { is_late, ..Author::of(&body, hands_over, since) }
}
