//! Pods, and the kinds that hold a template of one.

use baton_testbed::Json;

use super::{
    Kind, Shape,
    body::{
        Body,
        Chance::{Always, Maybe, Needed, Seldom},
    },
};

pub(super) const KINDS: &[Kind] = &[
    Kind {
        status: Some(deployment_status),
        scale: true,
        ..Kind::builtin("apps", "v1", "Deployment", "deployments", deployment)
    },
    Kind {
        status: Some(stateful_set_status),
        scale: true,
        ..Kind::builtin("apps", "v1", "StatefulSet", "statefulsets", stateful_set)
    },
    Kind { status: Some(job_status), ..Kind::builtin("batch", "v1", "Job", "jobs", job) },
    Kind { status: Some(cron_job_status), ..Kind::builtin("batch", "v1", "CronJob", "cronjobs", cron_job) },
    Kind {
        status: Some(pod_status),
        shape: Shape::Fixed(&["metadata", "activeDeadlineSeconds"]),
        ..Kind::builtin("", "v1", "Pod", "pods", pod)
    },
];

/// What nobody schedules and nobody runs.
const NOBODY: &str = "nobody";

fn selector(_: &mut Body) -> Json {
    Json::object().with("matchLabels", Json::object().with("app", "web"))
}

fn deployment(body: &mut Body) -> Json {
    body.object(&[
        ("metadata", Maybe, Body::metadata),
        ("spec", Needed, |body| {
            body.object(&[
                ("selector", Needed, selector),
                ("template", Needed, template),
                ("replicas", Maybe, |body| body.number(&[0, 1, 2, 3])),
                ("minReadySeconds", Maybe, |body| body.number(&[0, 5, 10])),
                ("paused", Seldom, Body::flag),
                ("revisionHistoryLimit", Seldom, |body| body.number(&[2, 10])),
                ("progressDeadlineSeconds", Seldom, |body| body.number(&[300, 600])),
                ("strategy", Maybe, |body| {
                    body.literal(&[
                        r#"{"type":"Recreate"}"#,
                        r#"{"type":"RollingUpdate"}"#,
                        r#"{"rollingUpdate":{"maxSurge":1}}"#,
                        r#"{"type":"RollingUpdate","rollingUpdate":{"maxSurge":"25%","maxUnavailable":0}}"#,
                        "{}",
                    ])
                }),
            ])
        }),
    ])
}

fn stateful_set(body: &mut Body) -> Json {
    body.object(&[
        ("metadata", Maybe, Body::metadata),
        ("spec", Needed, |body| {
            body.object(&[
                ("selector", Needed, selector),
                ("serviceName", Needed, |body| body.text(&["web"])),
                ("template", Needed, template),
                ("replicas", Maybe, |body| body.number(&[0, 1, 2, 3])),
                ("minReadySeconds", Maybe, |body| body.number(&[5, 10])),
                ("updateStrategy", Maybe, |body| {
                    body.literal(&[
                        r#"{"type":"OnDelete"}"#,
                        r#"{"type":"RollingUpdate","rollingUpdate":{"partition":1}}"#,
                    ])
                }),
                ("persistentVolumeClaimRetentionPolicy", Seldom, |body| {
                    body.literal(&[r#"{"whenDeleted":"Delete"}"#, r#"{"whenScaled":"Retain"}"#])
                }),
            ])
        }),
    ])
}

fn job(body: &mut Body) -> Json {
    let mut job = body.object(&[
        ("metadata", Maybe, Body::metadata),
        ("spec", Needed, |body| {
            body.object(&[
                ("template", if_whole(body), |_| {
                    Json::object().with(
                        "spec",
                        Json::object().with("restartPolicy", "Never").with(
                            "containers",
                            vec![Json::object().with("name", "work").with("image", "example.com/work:1")],
                        ),
                    )
                }),
                ("suspend", Maybe, Body::flag),
                ("parallelism", Maybe, |body| body.number(&[0, 1, 2])),
                ("activeDeadlineSeconds", Maybe, |body| body.number(&[60, 120])),
                ("ttlSecondsAfterFinished", Maybe, |body| body.number(&[0, 60])),
                ("backoffLimit", Seldom, |body| body.number(&[0, 6])),
            ])
        }),
    ]);
    if body.whole {
        // A Job without labels gets those of its template whenever it is read, but they aren't stored.
        job.entry("metadata").entry("labels").set("app", "web");
    }
    job
}

/// A template of a Job can't change: it is there in a creation only.
fn if_whole(body: &Body) -> super::body::Chance {
    if body.whole { Always } else { Seldom }
}

fn cron_job(body: &mut Body) -> Json {
    body.object(&[
        ("metadata", Maybe, Body::metadata),
        ("spec", Needed, |body| {
            body.object(&[
                ("schedule", Needed, |body| body.text(&["0 0 1 1 *", "@yearly", "5 4 * * *"])),
                ("jobTemplate", Needed, |body| {
                    body.object(&[
                        ("metadata", Maybe, Body::metadata_of_template),
                        ("spec", Needed, |body| {
                            body.object(&[
                                ("backoffLimit", Maybe, |body| body.number(&[0, 3, 6])),
                                ("template", Needed, |body| {
                                    body.object(&[("spec", Needed, |body| {
                                        pod_spec(body).with("restartPolicy", "OnFailure")
                                    })])
                                }),
                            ])
                        }),
                    ])
                }),
                ("suspend", Maybe, Body::flag),
                ("timeZone", Seldom, |body| body.text(&["Etc/UTC", "Europe/Berlin"])),
                ("concurrencyPolicy", Maybe, |body| body.text(&["Allow", "Forbid", "Replace"])),
                ("startingDeadlineSeconds", Maybe, |body| body.number(&[10, 60])),
                ("successfulJobsHistoryLimit", Maybe, |body| body.number(&[0, 3])),
            ])
        }),
    ])
}

fn pod(body: &mut Body) -> Json {
    let mut pod = body.object(&[
        ("metadata", Maybe, Body::metadata),
        ("spec", Needed, |body| {
            let mut spec = if body.whole {
                pod_spec(body)
            } else {
                body.object(&[
                    ("containers", Maybe, |body| body.items(&["web"], partial_container)),
                    ("activeDeadlineSeconds", Maybe, |body| body.number(&[100, 60, 30])),
                ])
            };
            if body.whole {
                spec.set("schedulerName", NOBODY);
                spec.set("automountServiceAccountToken", false);
            }
            spec
        }),
    ]);
    if let Some(spec) = pod.get_mut("spec") {
        // The server checks that it exists, and adds tolerations of its own to those in an atomic list.
        for name in ["serviceAccountName", "tolerations"] {
            spec.take(name);
        }
    }
    pod
}

fn partial_container(body: &mut Body, name: &str) -> Json {
    Json::object().with("name", name).with("image", body.text(&["example.com/web:1", "example.com/web:2"]))
}

fn template(body: &mut Body) -> Json {
    let mut template =
        body.object(&[("metadata", Needed, Body::metadata_of_template), ("spec", Needed, pod_spec)]);
    if body.whole || template.get("metadata").is_some() {
        // What the selector asks for.
        template.entry("metadata").entry("labels").set("app", "web");
    }
    template
}

fn pod_spec(body: &mut Body) -> Json {
    body.object(&[
        ("containers", Needed, |body| body.items(&["web", "sidecar", "agent"], container)),
        ("initContainers", Seldom, |body| body.items(&["init", "wait"], container)),
        ("volumes", Maybe, |body| {
            body.items(&["cache", "config"], |body, name| {
                let source = body.literal(&[
                    r#"{"emptyDir":{}}"#,
                    r#"{"emptyDir":{"medium":"Memory"}}"#,
                    r#"{"configMap":{"name":"settings"}}"#,
                ]);
                source.with("name", name)
            })
        }),
        ("nodeSelector", Maybe, Body::words),
        ("tolerations", Seldom, |body| {
            body.literal(&[
                r#"[{"key":"a","operator":"Exists"}]"#,
                r#"[{"key":"b","value":"x","effect":"NoSchedule"},{"operator":"Exists"}]"#,
            ])
        }),
        ("hostAliases", Seldom, |body| {
            body.items(&["10.0.0.1", "10.0.0.2"], |body, ip| {
                Json::object().with("ip", ip).with("hostnames", body.texts(&["a.example.com", "b.example.com"]))
            })
        }),
        ("imagePullSecrets", Seldom, |body| {
            body.items(&["pull", "other"], |_, name| Json::object().with("name", name))
        }),
        ("topologySpreadConstraints", Seldom, |body| {
            body.items(&["zone", "host"], |body, key| {
                Json::object()
                    .with("topologyKey", key)
                    .with("maxSkew", body.number(&[1, 2]))
                    .with("whenUnsatisfiable", body.text(&["DoNotSchedule", "ScheduleAnyway"]))
                    .with("labelSelector", selector(body))
            })
        }),
        ("securityContext", Maybe, |body| {
            body.literal(&["{}", r#"{"runAsUser":1000}"#, r#"{"runAsNonRoot":true,"fsGroup":2000}"#])
        }),
        ("affinity", Seldom, |body| {
            body.literal(&[
                "{}",
                r#"{"nodeAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[{"matchExpressions":[{"key":"a","operator":"Exists"}]}]}}}"#,
            ])
        }),
        ("serviceAccountName", Seldom, |body| body.text(&["robot", "default"])),
        ("terminationGracePeriodSeconds", Maybe, |body| body.number(&[0, 10, 30])),
        ("priorityClassName", Seldom, |body| body.text(&[""])),
    ])
}

fn container(body: &mut Body, name: &str) -> Json {
    let container = body.object(&[
        ("image", Needed, |body| body.text(&["example.com/web:1", "example.com/web:2", "example.com/web"])),
        ("args", Maybe, |body| body.texts(&["--verbose", "--port=80", "--quiet"])),
        ("command", Seldom, |body| body.texts(&["/bin/web", "serve"])),
        ("env", Maybe, |body| {
            body.items(&["MODE", "LEVEL", "ADDRESS"], |body, name| {
                let value = body.literal(&[
                    r#"{"value":"a"}"#,
                    r#"{"value":"b"}"#,
                    r#"{"value":""}"#,
                    r#"{"valueFrom":{"fieldRef":{"fieldPath":"status.podIP"}}}"#,
                    r#"{"valueFrom":{"configMapKeyRef":{"name":"settings","key":"a"}}}"#,
                ]);
                value.with("name", name)
            })
        }),
        ("envFrom", Seldom, |body| body.literal(&[r#"[{"configMapRef":{"name":"settings"}}]"#])),
        ("ports", Maybe, |body| {
            body.items(&["80", "443", "53"], |body, port| {
                let mut port = body
                    .object(&[
                        ("name", Seldom, |body| body.text(&["web", "other"])),
                        ("protocol", Maybe, |body| body.text(&["TCP", "TCP", "UDP"])),
                    ])
                    .with("containerPort", port.parse::<i64>().unwrap_or_default());
                if port.get("name").is_some() && body.whole {
                    port.take("name");
                }
                port
            })
        }),
        ("resources", Maybe, |body| {
            body.object(&[
                ("requests", Maybe, |body| {
                    body.literal(&[
                        r#"{"cpu":"100m"}"#,
                        r#"{"cpu":"100m","memory":"64Mi"}"#,
                        r#"{"memory":"32Mi"}"#,
                        "{}",
                    ])
                }),
                ("limits", Maybe, |body| {
                    body.literal(&[r#"{"memory":"64Mi"}"#, r#"{"cpu":"1","memory":"64Mi"}"#])
                }),
            ])
        }),
        ("readinessProbe", Seldom, |body| {
            body.literal(&[
                r#"{"httpGet":{"path":"/","port":80}}"#,
                r#"{"httpGet":{"path":"/ready","port":"web"},"periodSeconds":5}"#,
                r#"{"tcpSocket":{"port":80}}"#,
            ])
        }),
        ("imagePullPolicy", Seldom, |body| body.text(&["Always", "IfNotPresent"])),
        ("securityContext", Seldom, |body| {
            body.literal(&[
                "{}",
                r#"{"capabilities":{"drop":["ALL"],"add":["CHOWN"]}}"#,
                r#"{"privileged":false}"#,
            ])
        }),
        ("workingDir", Seldom, |body| body.text(&["/", ""])),
        ("stdin", Seldom, Body::flag),
    ]);
    container.with("name", name)
}

fn conditions(body: &mut Body) -> Json {
    body.items(&["Available", "Progressing"], |body, kind| {
        body.object(&[
            ("reason", Maybe, |body| body.text(&["Because", "Why"])),
            ("message", Maybe, |body| body.text(&["text", ""])),
        ])
        .with("type", kind)
        .with("status", body.text(&["True", "False"]))
    })
}

fn deployment_status(body: &mut Body) -> Json {
    body.object(&[
        ("observedGeneration", Maybe, |body| body.number(&[1, 2])),
        ("replicas", Maybe, |body| body.number(&[2, 3])),
        ("updatedReplicas", Maybe, |body| body.number(&[0, 2])),
        ("readyReplicas", Maybe, |body| body.number(&[0, 1, 2])),
        ("conditions", Maybe, conditions),
    ])
}

fn stateful_set_status(body: &mut Body) -> Json {
    body.object(&[
        ("replicas", Always, |body| body.number(&[2, 3])),
        ("readyReplicas", Maybe, |body| body.number(&[0, 1, 2])),
        ("currentRevision", Maybe, |body| body.text(&["a", "b"])),
        ("conditions", Maybe, conditions),
    ])
}

fn job_status(body: &mut Body) -> Json {
    body.object(&[
        ("active", Maybe, |body| body.number(&[0, 1, 2])),
        ("failed", Maybe, |body| body.number(&[1, 2])),
        ("ready", Maybe, |body| body.number(&[0])),
    ])
}

fn cron_job_status(body: &mut Body) -> Json {
    body.object(&[
        ("lastScheduleTime", Maybe, |body| body.text(&["2026-01-02T03:04:05Z", "2026-02-02T03:04:05Z"])),
        ("active", Maybe, |body| {
            body.items(&["job-a", "job-b"], |_, name| {
                Json::object().with("kind", "Job").with("name", name).with("apiVersion", "batch/v1")
            })
        }),
    ])
}

fn pod_status(body: &mut Body) -> Json {
    body.object(&[
        ("phase", Maybe, |body| body.text(&["Pending", "Running"])),
        ("message", Maybe, |body| body.text(&["one", "two"])),
        ("conditions", Maybe, |body| {
            body.items(&["Ready", "Initialized", "example.com/gate"], |body, kind| {
                Json::object().with("type", kind).with("status", body.text(&["True", "False"]))
            })
        }),
        ("podIPs", Seldom, |body| body.literal(&[r#"[{"ip":"10.0.0.1"}]"#])),
    ])
}

impl Body {
    /// The metadata of what is made from a template.
    fn metadata_of_template(&mut self) -> Json {
        self.object(&[("labels", Maybe, Self::words), ("annotations", Seldom, Self::words)])
    }
}
