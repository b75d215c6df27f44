//! The API server's writes to single objects: the guards are written here, the merge is the merge core's.
//!
//! Each object is kept once, by its content, and the content decides the `resourceVersion`, so that equal states are equal whatever
//! led to them. So a guard accepts a write that was planned from an equal object, where a real server might refuse it; such a write
//! does what it was planned to do. All times are the same moment.

use std::collections::HashMap;

use baton_apply::{
    ApiError, Change, Guard, LiveObject, Prediction, PredictionError, Request, Schemas, Target,
    openapi::document_path,
};
use baton_controller::decide::{child::ChildKind, replicas::Replicas};
use baton_crd::labels::REPLICAS_BEFORE_SUSPEND;
use baton_merge::{
    Arena, Release,
    server::{Live, Resources, Spelling, Write},
    value::Value,
};
use jiff::Timestamp;
use kube::{ResourceExt as _, core::Status};
use serde_json::{Value as Json, json};

use super::cluster::RESET;

/// A manager that force-applies a replica count, though it shouldn't.
pub(super) const ROGUE: &str = "rogue";

/// The name of the Workload and of its children.
pub(super) const NAME: &str = "web";
pub(super) const NAMESPACE: &str = "shop";

/// An object with one content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(u16);

/// A request with one content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(u16);

/// How a request ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ServerResponse {
    /// The object is like this now, or gone.
    Done(Option<ObjectId>),
    /// The object has changed since it was read.
    Stale {
        /// Whether the cause is that others own an applied field.
        conflict: bool,
    },
    /// Refused for good.
    Refused,
}

/// An object as a tree.
fn tree(live: &LiveObject) -> &Json {
    live.as_json().expect("the model's objects are shallow")
}

/// Whether the replica count has an owner.
pub(crate) fn is_owned(replicas: &Replicas) -> bool {
    replicas.owners.baton || replicas.owners.shared()
}

/// Whether an autoscaler, `kubectl scale` or the temporary manager owns the replica count.
pub(crate) fn scaler_owns(replicas: &Replicas) -> bool {
    replicas.owners.temporary || !replicas.owners.scale.is_empty()
}

struct Object {
    live: LiveObject,
    replicas: Replicas,
    to_resume: Option<i32>,
}

/// The part of a Deployment that is judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JudgedReplicas<'a> {
    pub(crate) replicas: &'a Replicas,
    /// The replica count to restore, if it is suspended.
    pub(crate) to_resume: Option<i32>,
}

pub(super) struct Server {
    schemas: Schemas,
    objects: Vec<Object>,
    by_content: HashMap<String, ObjectId>,
    requests: Vec<Request>,
    by_text: HashMap<String, RequestId>,
    responses: HashMap<(RequestId, Option<ObjectId>, u8), ServerResponse>,
    scaled: HashMap<(ObjectId, &'static str, i32), ObjectId>,
}

impl Server {
    pub(super) fn new() -> Self {
        Self {
            schemas: schemas(),
            objects: Vec::new(),
            by_content: HashMap::new(),
            requests: Vec::new(),
            by_text: HashMap::new(),
            responses: HashMap::new(),
            scaled: HashMap::new(),
        }
    }

    pub(super) fn live(&self, id: ObjectId) -> &LiveObject {
        &self.objects[usize::from(id.0)].live
    }

    /// A Deployment's replica count, and who owns it.
    pub(super) fn replicas(&self, id: ObjectId) -> &Replicas {
        &self.objects[usize::from(id.0)].replicas
    }

    pub(super) fn judged(&self, id: ObjectId) -> JudgedReplicas<'_> {
        let Object { replicas, to_resume, .. } = &self.objects[usize::from(id.0)];
        JudgedReplicas { replicas, to_resume: *to_resume }
    }

    pub(super) fn request(&self, id: RequestId) -> &Request {
        &self.requests[usize::from(id.0)]
    }

    /// The schemas of the operator's predictions.
    pub(super) fn schemas(&self) -> &Schemas {
        &self.schemas
    }

    /// A response as a client sees it.
    pub(super) fn response(&self, response: ServerResponse) -> Result<Option<LiveObject>, ApiError> {
        let refusal = |code: u16, reason: &str| {
            let details = json!({"causes": [{"reason": reason}]});
            let details = serde_json::from_value(details).expect("these are details of a failure");
            let status =
                Status::failure("refused by the model", reason).with_code(code).with_details(details);
            Err(ApiError::Response(status.boxed()))
        };
        match response {
            ServerResponse::Done(object) => Ok(object.map(|object| self.live(object).clone())),
            ServerResponse::Stale { conflict: true } => refusal(409, "FieldManagerConflict"),
            ServerResponse::Stale { conflict: false } => refusal(409, "Conflict"),
            ServerResponse::Refused => refusal(422, "Invalid"),
        }
    }

    /// The id of a request.
    pub(super) fn know(&mut self, request: Request) -> RequestId {
        let text = format!("{request:?}");
        *self.by_text.entry(text).or_insert_with(|| {
            self.requests.push(request);
            RequestId(
                u16::try_from(self.requests.len() - 1).expect("the model makes fewer requests than that"),
            )
        })
    }

    /// Carries out a request. An object that it creates gets this uid.
    pub(super) fn send(&mut self, id: RequestId, live: Option<ObjectId>, uid: u8) -> ServerResponse {
        let key = (id, live, uid);
        if let Some(response) = self.responses.get(&key) {
            return *response;
        }
        let response = self.carry_out(&self.request(id).clone(), live, uid);
        self.responses.insert(key, response);
        response
    }

    fn carry_out(&mut self, request: &Request, before: Option<ObjectId>, uid: u8) -> ServerResponse {
        const STALE: ServerResponse = ServerResponse::Stale { conflict: false };
        let live = before.map(|id| self.live(id).clone());
        match &request.change {
            Change::Apply { body, .. } if !is_met(body, live.as_ref()) => return STALE,
            Change::Patch { .. } if live.is_none() => return ServerResponse::Refused,
            Change::Apply { .. } | Change::Patch { .. } => {}
            Change::Delete(revision) => {
                let is_met = live.is_none_or(|live| {
                    let now = live.revision();
                    let same_version = revision.resource_version.is_empty()
                        || revision.resource_version == now.resource_version;
                    revision.uid == now.uid && same_version
                });
                return if is_met { ServerResponse::Done(None) } else { STALE };
            }
        }
        match self.schemas.predict(request, live.as_ref(), moment()) {
            Ok(Prediction::NoOp) => ServerResponse::Done(before),
            Ok(Prediction::Stored(stored)) if !stored.changed => ServerResponse::Done(before),
            Ok(Prediction::Stored(stored)) => {
                let uid = live.map_or_else(|| format!("uid-{uid}"), |live| live.revision().uid);
                ServerResponse::Done(Some(self.store(tree(&stored.object).clone(), &uid)))
            }
            Ok(Prediction::Deleted) => ServerResponse::Done(None),
            Ok(Prediction::Conflicts(_)) => ServerResponse::Stale { conflict: true },
            // The guard of a JSON patch failed.
            Err(PredictionError::Patch(_)) => STALE,
            Ok(Prediction::Refused(_)) | Err(_) => ServerResponse::Refused,
        }
    }

    /// Stores another replica count through the `scale` subresource, as an autoscaler or `kubectl scale` does it.
    pub(super) fn scale(&mut self, id: ObjectId, manager: &'static str, number: i32) -> ObjectId {
        let key = (id, manager, number);
        if let Some(scaled) = self.scaled.get(&key) {
            return *scaled;
        }
        let live = self.live(id);
        let uid = live.revision().uid;
        let scale = json!({
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": {"name": NAME, "namespace": NAMESPACE, "uid": uid},
            "spec": {"replicas": number},
        });
        let arena = Arena::new();
        let kind = ChildKind::Deployment.api_resource();
        let resource = self.schemas.resource(&kind).expect("the schemas have Deployments");
        let read = |json| Value::from_json(&arena, json).expect("the model's objects can be read");
        let before = Live { object: read(tree(live)), spelling: Spelling::UNKNOWN };
        let write = Write { manager, subresource: "scale", now: moment(), release: self.schemas.release() };
        let stored = resource
            .update(&arena, Some(before), read(&scale), write)
            .expect("a replica count can be scaled");
        let scaled = self.store(stored.to_json(), &uid);
        self.scaled.insert(key, scaled);
        scaled
    }

    /// Stores an object, with the fields that a server fills in.
    fn store(&mut self, mut object: Json, uid: &str) -> ObjectId {
        if object["kind"] == ChildKind::Deployment.name() && object["spec"]["replicas"].is_null() {
            object["spec"]["replicas"] = RESET.into();
        }
        object["metadata"]["namespace"] = NAMESPACE.into();
        object["metadata"]["uid"] = uid.into();
        object["metadata"]["resourceVersion"] = Json::Null;
        let content = object.to_string();
        if let Some(id) = self.by_content.get(&content) {
            return *id;
        }
        let id = u16::try_from(self.objects.len()).expect("the model stores fewer objects than that");
        // Never the version that a creation names.
        object["metadata"]["resourceVersion"] = (id + 2).to_string().into();
        let live = LiveObject::from_json(object).expect("what is stored is an object");
        let replicas = Replicas::of(&live);
        let to_resume =
            live.annotations().get(REPLICAS_BEFORE_SUSPEND).and_then(|number| number.parse().ok());
        self.objects.push(Object { live, replicas, to_resume });
        self.by_content.insert(content, ObjectId(id));
        ObjectId(id)
    }

    /// How many objects and responses there were.
    pub(super) fn sizes(&self) -> (usize, usize) {
        (self.objects.len(), self.responses.len())
    }
}

/// The rogue's forced apply of a replica count; without one, of nothing.
pub(super) fn rogue(number: Option<i32>) -> Request {
    let mut body = json!({
        "apiVersion": ChildKind::Deployment.api_version(),
        "kind": ChildKind::Deployment.name(),
        "metadata": {"name": NAME},
    });
    if let Some(number) = number {
        body["spec"] = json!({"replicas": number});
    }
    let target = Target::new(ChildKind::Deployment.api_resource(), Some(NAMESPACE.to_owned()), NAME);
    Request::apply(target, body, ROGUE, true, &Guard::Nothing)
}

/// Whether the live object passes the guard of an applied body.
fn is_met(body: &Json, live: Option<&LiveObject>) -> bool {
    let guard = |name| body["metadata"].get(name).and_then(Json::as_str);
    let Some(now) = live.map(LiveObject::revision) else {
        return guard("uid").is_none();
    };
    guard("uid").is_none_or(|uid| uid == now.uid)
        && guard("resourceVersion").is_none_or(|version| version == now.resource_version)
}

/// The one moment at which everything happens.
pub(super) fn moment() -> Timestamp {
    Timestamp::UNIX_EPOCH
}

fn schemas() -> Schemas {
    let text = |kind| match kind {
        ChildKind::Autoscaler => include_str!("../../../merge/tests/data/openapi/autoscaling__v2.json"),
        _ => include_str!("../../../merge/tests/data/openapi/apps__v1.json"),
    };
    let document = |kind: ChildKind| {
        let document = serde_json::from_str(text(kind)).expect("the recorded documents are JSON");
        let resources = Resources::from_openapi(&document).expect("the recorded documents are OpenAPI");
        (document_path(&kind.api_resource()), resources.into())
    };
    Schemas::new(Release::new(36, 3), [ChildKind::Deployment, ChildKind::Autoscaler].map(document))
}
