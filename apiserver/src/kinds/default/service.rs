//! The defaults of services.

use baton_merge::{Arena, server::without_unused_affinity, value::Value};

use crate::kinds::edit::{change_each, fill, text};
use crate::kinds::{cursor::Cursor, service};

/// The default timeout of session affinity.
const AFFINITY_SECONDS: i64 = 10800;

pub(super) fn default_service<'a>(arena: &'a Arena, object: Value<'a>) -> Value<'a> {
    let mut object = match text(object, &["spec", "sessionAffinity"]) {
        "ClientIP" => fill(
            arena,
            object,
            &["spec", "sessionAffinityConfig", "clientIP", "timeoutSeconds"],
            Value::Int(AFFINITY_SECONDS),
        ),
        _ => without_unused_affinity(arena, object),
    };
    object = change_each(arena, object, &["spec", "ports"], |port| match port.get("targetPort") {
        None | Some(Value::Int(0) | Value::String("")) => port.with(arena, &["targetPort"], port.get("port")),
        Some(_) => port,
    });
    let cluster = Value::String("Cluster");
    let spec = Cursor::root(object).child("spec");
    if service::is_external(&spec) {
        object = fill(arena, object, &["spec", "externalTrafficPolicy"], cluster);
    }
    if spec.text_of("type") != "ExternalName" {
        object = fill(arena, object, &["spec", "internalTrafficPolicy"], cluster);
    }
    if spec.text_of("type") != "LoadBalancer" {
        return object;
    }
    object = fill(arena, object, &["spec", "allocateLoadBalancerNodePorts"], Value::Bool(true));
    change_each(arena, object, &["status", "loadBalancer", "ingress"], |point| {
        if text(point, &["ip"]).is_empty() {
            point
        } else {
            fill(arena, point, &["ipMode"], Value::String("VIP"))
        }
    })
}
