//! Custom resources: one with every marker that a schema may have, in three versions, and Baton's own Workload.

use baton_testbed::Json;

use super::{
    Kind, Source,
    body::{
        Body,
        Chance::{Maybe, Needed, Seldom},
    },
};

pub(super) const KINDS: &[Kind] = &[
    Kind {
        others: &["v1beta1", "v1alpha1"],
        status: Some(gadget_status),
        with_status: &["v1", "v1beta1"],
        scale: true,
        source: Source::Crd("merge/tests/corpus/data/gadget.crd.json"),
        ..Kind::builtin("corpus.baton.rs", "v1", "Gadget", "gadgets", gadget)
    },
    Kind {
        status: Some(workload_status),
        with_status: &["v1alpha1"],
        scale: true,
        source: Source::Crd("manifests/crd/workloads.baton.rs.yaml"),
        ..Kind::builtin("baton.rs", "v1alpha1", "Workload", "workloads", workload)
    },
];

fn gadget(body: &mut Body) -> Json {
    body.object(&[("metadata", Maybe, Body::metadata), ("spec", Needed, gadget_spec)])
}

fn gadget_spec(body: &mut Body) -> Json {
    body.object(&[
        ("replicas", Maybe, |body| body.number(&[0, 1, 2, 3])),
        ("paused", Maybe, Body::flag),
        ("ratio", Seldom, |body| body.literal(&["0.5", "1", "1.5"])),
        ("mode", Seldom, |body| body.text(&["auto", "manual"])),
        ("target", Maybe, |body| body.literal(&["80", r#""web""#])),
        ("quantity", Seldom, |body| body.literal(&["1", r#""1""#, "2"])),
        ("granular", Maybe, |body| {
            body.object(&[
                ("a", Maybe, |body| body.text(&["x", "y"])),
                ("b", Maybe, |body| body.number(&[1, 2])),
                ("c", Maybe, |body| {
                    body.object(&[("d", Maybe, |body| body.text(&["x", "y"])), ("e", Maybe, Body::flag)])
                }),
            ])
        }),
        ("atomic", Maybe, |body| body.literal(&[r#"{"a":"x"}"#, r#"{"a":"y","b":1}"#, "{}"])),
        ("words", Maybe, Body::words),
        ("atomicWords", Maybe, Body::words),
        ("nested", Maybe, |body| {
            body.map(&["one", "two"], |body| {
                body.object(&[
                    ("name", Maybe, |body| body.text(&["x", "y"])),
                    ("port", Maybe, |body| body.number(&[80, 443])),
                ])
            })
        }),
        ("plain", Seldom, |body| body.texts(&["x", "y", "z"])),
        ("atomicItems", Seldom, |body| body.items(&["one", "two"], item)),
        ("tags", Maybe, |body| body.texts(&["red", "green", "blue"])),
        ("numbers", Maybe, |body| body.literal(&["[1,2]", "[2,1.5]", "[10,9,1]", "[1.0]"])),
        ("byName", Maybe, |body| body.items(&["one", "two", "three"], item)),
        ("byNameAndPort", Maybe, |body| body.items(&["one", "two"], item)),
        ("byFlag", Maybe, |body| {
            body.items(&["one", "two"], |body, name| {
                body.object(&[
                    ("port", Maybe, |body| body.number(&[80, 443])),
                    ("value", Maybe, |body| body.literal(&["1", r#""x""#])),
                ])
                .with("flag", body.flag())
                .with("name", name)
            })
        }),
        ("anything", Maybe, |body| {
            body.literal(&["{}", r#"{"x":{"y":1}}"#, r#"{"x":{"y":2,"z":null},"list":[1,{"a":2}]}"#])
        }),
        ("someKnown", Maybe, |body| {
            body.literal(&[
                r#"{"a":"x","inner":{"x":1}}"#,
                r#"{"list":["x","y"],"inner":{"x":2}}"#,
                r#"{"a":"y","more":{"b":[1]}}"#,
            ])
        }),
        ("untyped", Seldom, |body| body.literal(&["1", r#""x""#, "[1,2]", r#"{"a":{"b":1}}"#])),
        ("maybe", Seldom, |body| body.literal(&[r#""x""#, "null", r#""y""#])),
        ("when", Seldom, |body| body.text(&["2026-01-02T03:04:05Z", "2027-01-02T03:04:05Z"])),
        ("bytes", Seldom, |body| body.text(&["AA==", "AQ=="])),
        ("embedded", Seldom, |body| {
            body.literal(&[
                r#"{"apiVersion":"v1","kind":"Thing","metadata":{"name":"x","labels":{"a":"b"}},"spec":{"a":"x"}}"#,
                r#"{"apiVersion":"v1","kind":"Thing","metadata":{"name":"y"}}"#,
            ])
        }),
        ("raw", Seldom, |body| {
            body.literal(&[
                r#"{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"b"}}"#,
                r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"c","d":"e"}}"#,
            ])
        }),
    ])
}

fn item(body: &mut Body, name: &str) -> Json {
    body.object(&[
        ("port", Maybe, |body| body.number(&[80, 443, 9])),
        ("value", Maybe, |body| body.text(&["x", "y"])),
        ("sizes", Maybe, |body| body.literal(&["[1,2]", "[2,1,3]", "[]"])),
        ("options", Maybe, Body::words),
    ])
    .with("name", name)
}

fn gadget_status(body: &mut Body) -> Json {
    body.object(&[
        ("replicas", Maybe, |body| body.number(&[1, 2])),
        ("selector", Maybe, |body| body.text(&["a=b", "a=c"])),
        ("observedGeneration", Maybe, |body| body.number(&[1, 2])),
        ("conditions", Maybe, |body| {
            body.items(&["Ready", "Good"], |body, kind| {
                body.object(&[
                    ("status", Maybe, |body| body.text(&["True", "False"])),
                    ("message", Maybe, |body| body.text(&["one", "two"])),
                ])
                .with("type", kind)
            })
        }),
    ])
}

fn workload(body: &mut Body) -> Json {
    body.object(&[
        ("metadata", Maybe, Body::metadata),
        ("spec", Needed, |body| {
            body.object(&[
                ("replicas", Maybe, |body| body.number(&[1, 2, 3])),
                ("template", Needed, |body| {
                    body.object(&[
                        ("metadata", Maybe, |body| body.object(&[("labels", Maybe, Body::words)])),
                        ("spec", Needed, |body| {
                            body.object(&[
                                ("containers", Needed, |body| body.items(&["web", "sidecar"], container)),
                                ("nodeSelector", Seldom, Body::words),
                                ("volumes", Maybe, |body| {
                                    body.items(&["cache", "config"], |_, name| {
                                        Json::object().with("name", name).with("emptyDir", Json::object())
                                    })
                                }),
                            ])
                        }),
                    ])
                }),
                ("rollout", Maybe, |body| {
                    body.object(&[
                        ("minReadySeconds", Maybe, |body| body.number(&[5, 10])),
                        ("strategy", Maybe, |body| {
                            body.literal(&[
                                r#"{"rollingUpdate":{"maxSurge":1,"maxUnavailable":0}}"#,
                                r#"{"type":"Recreate"}"#,
                            ])
                        }),
                    ])
                }),
                ("service", Maybe, |body| {
                    body.object(&[
                        ("ports", Needed, |body| {
                            body.items(&["80", "443"], |body, port| {
                                body.object(&[
                                    ("protocol", Maybe, |body| body.text(&["TCP", "UDP"])),
                                    ("targetPort", Maybe, |body| body.literal(&["8080", r#""web""#])),
                                ])
                                .with("name", format!("p{port}"))
                                .with("port", port.parse::<i64>().unwrap_or_default())
                            })
                        }),
                        ("type", Seldom, |body| body.text(&["ClusterIP", "NodePort"])),
                    ])
                }),
                ("disruptionBudget", Seldom, |body| {
                    body.literal(&[r#"{"minAvailable":1}"#, r#"{"minAvailable":"50%"}"#])
                }),
                ("adoption", Seldom, |body| body.text(&["Refuse", "Adopt"])),
                ("mode", Seldom, |body| body.text(&["Enforce", "Preview", "Paused"])),
            ])
        }),
    ])
}

fn container(body: &mut Body, name: &str) -> Json {
    body.object(&[
        ("image", Needed, |body| body.text(&["example.com/web:1", "example.com/web:2"])),
        ("args", Maybe, |body| body.texts(&["--verbose", "--port=80"])),
        ("env", Maybe, |body| {
            body.items(&["MODE", "LEVEL"], |body, name| {
                Json::object().with("name", name).with("value", body.text(&["a", "b"]))
            })
        }),
        ("ports", Maybe, |body| {
            body.items(&["80", "443"], |body, port| {
                body.object(&[("protocol", Maybe, |body| body.text(&["TCP", "UDP"]))])
                    .with("containerPort", port.parse::<i64>().unwrap_or_default())
            })
        }),
        ("resources", Maybe, |body| {
            body.literal(&[
                r#"{"requests":{"cpu":"100m"}}"#,
                r#"{"limits":{"memory":"64Mi"},"requests":{"cpu":"100m"}}"#,
            ])
        }),
    ])
    .with("name", name)
}

fn workload_status(body: &mut Body) -> Json {
    body.object(&[
        ("observedGeneration", Maybe, |body| body.number(&[1, 2])),
        ("replicas", Maybe, |body| body.number(&[1, 2])),
        ("readyReplicas", Maybe, |body| body.number(&[1, 2])),
    ])
}
