//! The kinds that lead traffic somewhere.

use baton_testbed::Json;

use super::{
    Kind,
    body::{
        Body,
        Chance::{Maybe, Needed, Seldom},
    },
};

pub(super) const KINDS: &[Kind] = &[
    Kind { status: Some(balancer_status), ..Kind::builtin("", "v1", "Service", "services", service) },
    Kind {
        status: Some(balancer_status),
        ..Kind::builtin("networking.k8s.io", "v1", "Ingress", "ingresses", ingress)
    },
    Kind::builtin("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", network_policy),
    Kind::builtin("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", endpoint_slice),
];

fn service(body: &mut Body) -> Json {
    body.object(&[
        ("metadata", Maybe, Body::metadata),
        ("spec", Needed, |body| {
            body.object(&[
                ("ports", Needed, |body| {
                    body.items(&["80", "443", "53"], |body, port| {
                        let name = format!("p{port}");
                        body.object(&[
                            ("targetPort", Maybe, |body| body.literal(&["8080", r#""web""#])),
                            ("protocol", Maybe, |body| body.text(&["TCP", "TCP", "UDP"])),
                            ("appProtocol", Seldom, |body| body.text(&["http", "grpc"])),
                        ])
                        .with("port", port.parse::<i64>().unwrap_or_default())
                        .with("name", name)
                    })
                }),
                ("selector", Maybe, Body::words),
                ("type", Maybe, |body| body.text(&["ClusterIP", "NodePort", "LoadBalancer"])),
                ("sessionAffinity", Maybe, |body| body.text(&["None", "ClientIP"])),
                ("externalIPs", Seldom, |body| body.texts(&["10.1.1.1", "10.1.1.2"])),
                ("internalTrafficPolicy", Seldom, |body| body.text(&["Cluster", "Local"])),
                ("publishNotReadyAddresses", Seldom, Body::flag),
            ])
        }),
    ])
}

fn balancer_status(body: &mut Body) -> Json {
    body.object(&[("loadBalancer", Maybe, |body| {
        body.object(&[("ingress", Maybe, |body| {
            body.literal(&[
                r#"[{"ip":"10.2.0.1"}]"#,
                r#"[{"hostname":"lb.example.com"}]"#,
                r#"[{"hostname":"lb.example.com"},{"hostname":"other.example.com"}]"#,
                "[]",
            ])
        })])
    })])
}

const BACKENDS: &[&str] = &[
    r#"{"service":{"name":"web","port":{"number":80}}}"#,
    r#"{"service":{"name":"web","port":{"name":"http"}}}"#,
    r#"{"service":{"name":"other","port":{"number":80}}}"#,
];

fn ingress(body: &mut Body) -> Json {
    body.object(&[
        ("metadata", Maybe, Body::metadata),
        ("spec", Needed, |body| {
            body.object(&[
                ("defaultBackend", Needed, |body| body.literal(BACKENDS)),
                ("ingressClassName", Maybe, |body| body.text(&["one", "two"])),
                ("rules", Maybe, |body| {
                    body.items(&["a.example.com", "b.example.com"], |body, host| {
                        let path = Json::object()
                            .with("path", body.text(&["/", "/api"]))
                            .with("pathType", body.text(&["Prefix", "Exact"]))
                            .with("backend", body.literal(BACKENDS));
                        Json::object()
                            .with("host", host)
                            .with("http", Json::object().with("paths", vec![path]))
                    })
                }),
                ("tls", Maybe, |body| {
                    body.literal(&[
                        r#"[{"hosts":["a.example.com"],"secretName":"tls"}]"#,
                        r#"[{"hosts":["a.example.com","b.example.com"]}]"#,
                    ])
                }),
            ])
        }),
    ])
}

fn network_policy(body: &mut Body) -> Json {
    body.object(&[
        ("metadata", Maybe, Body::metadata),
        ("spec", Needed, |body| {
            body.object(&[
                ("podSelector", Needed, |body| {
                    body.literal(&[
                        "{}",
                        r#"{"matchLabels":{"app":"web"}}"#,
                        r#"{"matchLabels":{"app":"web","b":"c"}}"#,
                    ])
                }),
                ("policyTypes", Maybe, |body| body.literal(&[r#"["Ingress"]"#, r#"["Egress","Ingress"]"#])),
                ("ingress", Maybe, |body| {
                    body.literal(&[
                        r#"[{"ports":[{"port":80}]}]"#,
                        r#"[{"ports":[{"port":80,"protocol":"TCP"}],"from":[{"podSelector":{}}]}]"#,
                        "[{}]",
                    ])
                }),
                ("egress", Maybe, |body| {
                    body.literal(&[r#"[{"to":[{"ipBlock":{"cidr":"10.0.0.0/8"}}]}]"#, "[]"])
                }),
            ])
        }),
    ])
}

fn endpoint_slice(body: &mut Body) -> Json {
    let slice = body.object(&[
        ("metadata", Maybe, Body::metadata),
        ("endpoints", Needed, |body| {
            body.items(&["10.3.0.1", "10.3.0.2", "10.3.0.3"], |body, address| {
                body.object(&[
                    ("conditions", Maybe, |body| body.literal(&[r#"{"ready":true}"#, "{}"])),
                    ("nodeName", Maybe, |body| body.text(&["node-0", "node-1"])),
                    ("zone", Seldom, |body| body.text(&["a"])),
                ])
                .with("addresses", vec![Json::string(address)])
            })
        }),
        ("ports", Maybe, |body| {
            body.literal(&[
                r#"[{"name":"web","port":80}]"#,
                r#"[{"name":"web","port":80,"protocol":"TCP"},{"name":"tls","port":443}]"#,
            ])
        }),
        ("addressType", Needed, |body| body.text(&["IPv4"])),
    ]);
    if body.whole || slice.get("endpoints").is_some() { slice.with("addressType", "IPv4") } else { slice }
}
