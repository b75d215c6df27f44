//! An `EndpointSlice` with a thousand endpoints: one large atomic list.

use serde_json::{Value, json};

use super::{
    Types,
    story::{Other, Story},
};

pub(super) fn story() -> Story {
    Story {
        name: "EndpointSlice, 1000",
        types: Types::builtin("discovery.k8s.io__v1"),
        intent: json!({
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {
                "name": "shop-x7k2p", "namespace": "store",
                "labels": {"kubernetes.io/service-name": "shop", "endpointslice.kubernetes.io/managed-by": "mesh.example.com"},
            },
            "addressType": "IPv4",
            "endpoints": (0..1000).map(endpoint).collect::<Vec<_>>(),
            "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}, {"name": "grpc", "port": 9090, "protocol": "TCP"}],
        }),
        applier: "mesh-controller",
        defaults: |_| {},
        others: vec![
            Other::Updates {
                manager: "kube-controller-manager",
                subresource: "",
                change: |object| {
                    object["metadata"]["annotations"]["endpoints.kubernetes.io/last-change-trigger-time"] =
                        json!("2026-01-05T08:01:01Z");
                },
            },
            Other::Applies {
                manager: "zone-hints",
                intent: json!({
                    "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
                    "metadata": {"name": "shop-x7k2p", "namespace": "store", "labels": {"hints.example.com/zone": "a"}},
                    "addressType": "IPv4",
                }),
            },
        ],
        next: |intent| intent["endpoints"][500]["conditions"]["ready"] = json!(false),
        updater: "endpointslice-mirror",
        update: |object| {
            object["endpoints"][250]["conditions"]["serving"] = json!(false);
            object["metadata"]["labels"]["mirror.example.com/from"] = json!("west");
        },
    }
}

fn endpoint(at: usize) -> Value {
    json!({
        "addresses": [format!("10.{}.{}.{}", 10 + at / 65_536, at / 256 % 256, at % 256)],
        "conditions": {"ready": true, "serving": true, "terminating": false},
        "nodeName": format!("node-{}", at % 100),
        "zone": format!("eu-west-1{}", ["a", "b", "c"][at % 3]),
        "targetRef": {
            "kind": "Pod", "namespace": "store", "name": format!("shop-5d9c-{at:05}"),
            "uid": format!("7c9e6679-7425-40de-944b-{at:012}"),
        },
    })
}
