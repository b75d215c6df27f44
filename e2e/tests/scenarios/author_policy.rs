//! The policy on authors asks for the verbs that Baton then uses: for each field of a spec, and for the label that Baton reads, a
//! change is made, Baton's writes to the children are read from the audit log, and an author who lacks one of their verbs is refused
//! the same change.

use std::collections::BTreeSet;

use baton_controller::decide::child::ChildKind;
use baton_crd::{Workload, labels};
use baton_e2e::{Environment, Operator, OperatorOptions, scenarios, workload};
use baton_testbed::{Cluster, Mark, eventually};
use kube::{
    Api, Client, CustomResourceExt as _,
    api::{Patch, PatchParams},
    core::{ApiResource, DynamicObject},
};
use serde_json::{Value, json};

use crate::threats::{as_author, entitle, install_policy, rights, verb_on, workloads};

scenarios! {
    only real, because "of admission":
    the_policy_on_authors_asks_for_each_verb_that_baton_uses,
}

/// What happens before the change.
enum Before {
    /// The Workload gets this spec beside its template.
    Spec(Value),
    /// Another manager creates this object, with the Workload's name.
    Theirs(Value),
}

/// A change of a Workload.
struct Case {
    name: &'static str,
    before: Vec<Before>,
    /// A merge patch.
    change: Value,
    /// Verbs that Baton uses then, beside others.
    uses: &'static [&'static str],
}

/// A case whose change is one of the spec.
fn spec(name: &'static str, before: Vec<Before>, change: &Value, uses: &'static [&'static str]) -> Case {
    Case { name, before, change: json!({"spec": change}), uses }
}

/// A spec with all children.
fn everything() -> Value {
    json!({
        "replicas": 2,
        "service": {"ports": [{"port": 80}]},
        "autoscaling": {"maxReplicas": 3},
        "disruptionBudget": {"maxUnavailable": 1},
    })
}

fn with(mut spec: Value, field: &str, value: Value) -> Before {
    spec[field] = value;
    Before::Spec(spec)
}

/// A Service that selects the pods of the Workload `name`.
fn their_service(name: &str) -> Before {
    Before::Theirs(json!({
        "apiVersion": "v1", "kind": "Service", "metadata": {"annotations": {"team.example/owner": "shop"}},
        "spec": {"selector": {labels::WORKLOAD: name}, "ports": [{"port": 80}]},
    }))
}

/// An autoscaler of the Deployment `name`.
fn their_autoscaler(name: &str) -> Before {
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name});
    Before::Theirs(json!({
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "spec": {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": 9},
    }))
}

/// Changes of one part of a spec.
fn of_a_part() -> Vec<Case> {
    let everything = || vec![Before::Spec(everything())];
    let nothing = || vec![Before::Spec(json!({}))];
    let container = json!({"name": "app", "image": "app:2"});
    vec![
        spec(
            "template",
            nothing(),
            &json!({"template": {"spec": {"containers": [container]}}}),
            &["update deployments"],
        ),
        spec("replicas", nothing(), &json!({"replicas": 2}), &["update deployments"]),
        spec("rollout", nothing(), &json!({"rollout": {"minReadySeconds": 1}}), &["update deployments"]),
        spec(
            "deployment",
            nothing(),
            &json!({"deployment": {"labels": {"a": "b"}}}),
            &["update deployments"],
        ),
        spec(
            "service-added",
            nothing(),
            &json!({"service": {"ports": [{"port": 80}]}}),
            &["create services"],
        ),
        spec(
            "service-changed",
            everything(),
            &json!({"service": {"ports": [{"port": 81}]}}),
            &["update services"],
        ),
        spec("service-removed", everything(), &json!({"service": null}), &["delete services"]),
        spec(
            "budget-added",
            nothing(),
            &json!({"disruptionBudget": {"maxUnavailable": 1}}),
            &["create poddisruptionbudgets"],
        ),
        spec(
            "budget-changed",
            everything(),
            &json!({"disruptionBudget": {"maxUnavailable": 2}}),
            &["update poddisruptionbudgets"],
        ),
        spec(
            "budget-removed",
            everything(),
            &json!({"disruptionBudget": null}),
            &["delete poddisruptionbudgets"],
        ),
        spec(
            "autoscaling-added",
            vec![Before::Spec(json!({"replicas": 2}))],
            &json!({"autoscaling": {"maxReplicas": 3}}),
            &["create horizontalpodautoscalers", "update deployments"],
        ),
        spec(
            "autoscaling-changed",
            everything(),
            &json!({"autoscaling": {"maxReplicas": 4}}),
            &["update horizontalpodautoscalers"],
        ),
        spec(
            "autoscaling-removed",
            everything(),
            &json!({"autoscaling": null}),
            &["delete horizontalpodautoscalers"],
        ),
    ]
}

/// Changes that are about several children. `twin` ends the Workload's name.
fn of_several(twin: &str) -> Vec<Case> {
    let everything = || vec![Before::Spec(everything())];
    let of = |case: &str| format!("{case}-{twin}");
    let mut paused = self::everything();
    paused["mode"] = json!("Paused");
    paused["service"] = json!({"ports": [{"port": 81}]});
    vec![
        spec(
            "external",
            everything(),
            &json!({"autoscaling": {"external": {}, "maxReplicas": null}}),
            &["delete horizontalpodautoscalers"],
        ),
        spec(
            "suspended",
            everything(),
            &json!({"suspend": true}),
            &["delete horizontalpodautoscalers", "update deployments"],
        ),
        spec(
            "resumed",
            vec![with(self::everything(), "suspend", json!(true))],
            &json!({"suspend": false}),
            &["create horizontalpodautoscalers", "update deployments"],
        ),
        spec(
            "resumed-adopting",
            vec![
                Before::Spec(
                    json!({"adoption": "Adopt", "suspend": true, "autoscaling": {"maxReplicas": 3}}),
                ),
                their_autoscaler(&of("resumed-adopting")),
            ],
            &json!({"suspend": false}),
            &["update horizontalpodautoscalers"],
        ),
        spec(
            "adoption",
            vec![their_service(&of("adoption")), Before::Spec(self::everything())],
            &json!({"adoption": "Adopt"}),
            &["update services"],
        ),
        spec(
            "retired",
            vec![their_service(&of("retired")), with(self::everything(), "adoption", json!("Adopt"))],
            &json!({"retiredManagers": ["legacy"]}),
            &["update services"],
        ),
        spec(
            "mode",
            vec![Before::Spec(self::everything()), Before::Spec(paused)],
            &json!({"mode": "Enforce"}),
            &["update services"],
        ),
        Case {
            name: "shard",
            before: everything(),
            change: json!({"metadata": {"labels": {labels::SHARD: "second"}}}),
            uses: &[
                "update deployments",
                "update services",
                "update horizontalpodautoscalers",
                "update poddisruptionbudgets",
            ],
        },
    ]
}

/// A Baton without a shard, one with, and an author.
struct TwoShards {
    env: Environment,
    second: Operator,
    author: Client,
}

impl TwoShards {
    async fn new(cluster: &Cluster) -> Self {
        let env = Environment::start(cluster, "author-policy").await;
        install_policy(&env).await;
        let options = OperatorOptions {
            name: Some(format!("baton-second-{}", env.ns())),
            args: vec!["--shard=second".to_owned()],
            ..OperatorOptions::default()
        };
        let second = env.start_operator(options).await.unwrap();
        let author = as_author(&env).await;
        Self { env, second, author }
    }

    /// Waits until Baton has reconciled the Workload.
    async fn reconciled(&self, name: &str) {
        eventually(&format!("{name} to be reconciled"), async || {
            let workload = self.env.workloads().get(name).await.unwrap();
            let observed = workload.status.as_ref().and_then(|status| status.observed_generation);
            if observed == workload.metadata.generation { Ok(()) } else { Err(workload.status) }
        })
        .await;
        self.env.at_rest().await;
    }

    async fn prepare(&self, name: &str, before: &[Before]) {
        for one in before {
            match one {
                Before::Spec(spec) => {
                    self.env.apply_as("user", &workload(name, spec)).await.unwrap();
                    self.reconciled(name).await;
                }
                Before::Theirs(object) => {
                    let mut object = object.clone();
                    object["metadata"]["name"] = json!(name);
                    let kind = ChildKind::ALL.into_iter().find(|kind| kind.name() == object["kind"]).unwrap();
                    let params = PatchParams::apply("legacy");
                    self.env.children(kind).patch(name, &params, &Patch::Apply(object)).await.unwrap();
                }
            }
        }
    }

    /// What both operators have done to the children of this name since then.
    fn used(&self, name: &str, since: Mark) -> BTreeSet<(&'static str, ChildKind)> {
        let audit = self.env.cluster.audit().unwrap();
        let mut used = BTreeSet::new();
        for user in [self.env.operator().user(), self.second.user()] {
            for request in audit.by_since(user, since).unwrap().writes().iter() {
                let is_child =
                    |kind: &ChildKind| request.resource.as_deref() == Some(&*kind.api_resource().plural);
                let Some(kind) = ChildKind::ALL.into_iter().find(is_child) else { continue };
                if request.name.as_deref() != Some(name) {
                    continue;
                }
                match (request.verb.as_str(), request.code) {
                    ("delete", Some(200)) => drop(used.insert(("delete", kind))),
                    ("patch", Some(200)) => drop(used.insert(("update", kind))),
                    ("patch", Some(201)) => drop(used.insert(("create", kind))),
                    _ => {}
                }
            }
        }
        used
    }

    /// Gives the author all rights on children but this one.
    async fn entitle_without(&self, lacking: Option<(&str, ChildKind)>) {
        let mut rules = vec![workloads()];
        for kind in ChildKind::ALL {
            let resource = kind.api_resource();
            let lacks = |verb: &str| match lacking {
                Some(("update", of)) if of == kind => ["update", "patch"].contains(&verb),
                Some((lacking, of)) => of == kind && lacking == verb,
                None => false,
            };
            let verbs: Vec<&str> =
                ["create", "update", "patch", "delete"].into_iter().filter(|verb| !lacks(verb)).collect();
            rules.push(rights(&[&resource.group], &[&resource.plural], &verbs));
        }
        entitle(&self.env, &json!(rules)).await;
    }

    /// Waits until the author's dry run of this change is refused with this text, or accepted if there is none.
    async fn expect(&self, name: &str, change: &Value, text: Option<&str>) {
        let workloads: Api<DynamicObject> =
            Api::namespaced_with(self.author.clone(), self.env.ns(), &ApiResource::erase::<Workload>(&()));
        let params = PatchParams { dry_run: true, ..PatchParams::default() };
        eventually(&format!("the refusal {text:?} of {name}: {change}"), async || {
            match (workloads.patch(name, &params, &Patch::Merge(change)).await, text) {
                (Ok(_), None) => Ok(()),
                (Err(kube::Error::Api(refusal)), Some(text))
                    if [403, 422].contains(&refusal.code) && refusal.message.contains(text) =>
                {
                    Ok(())
                }
                (response, _) => Err(response.map(|object| object.data)),
            }
        })
        .await;
    }
}

/// All fields of a spec.
fn fields() -> BTreeSet<String> {
    let crd = serde_json::to_value(Workload::crd()).unwrap();
    let spec = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";
    crd.pointer(spec).unwrap().as_object().unwrap().keys().cloned().collect()
}

async fn the_policy_on_authors_asks_for_each_verb_that_baton_uses(cluster: Cluster) {
    let shards = TwoShards::new(&cluster).await;
    let mut changed = BTreeSet::new();
    // One Workload is changed to see what Baton does, and its twin is what the author tries to change.
    let cases = |twin| of_a_part().into_iter().chain(of_several(twin));
    for (seen, tried) in cases("seen").zip(cases("tried")) {
        let [of_seen, of_tried] = ["seen", "tried"].map(|twin| format!("{}-{twin}", seen.name));
        shards.prepare(&of_seen, &seen.before).await;
        shards.prepare(&of_tried, &tried.before).await;
        changed.extend(seen.change["spec"].as_object().into_iter().flatten().map(|(field, _)| field.clone()));

        let begin = shards.env.mark();
        let workloads: Api<Workload> = shards.env.api();
        let patch = Patch::Merge(&seen.change);
        workloads.patch(&of_seen, &PatchParams::default(), &patch).await.unwrap();
        let used = eventually(&format!("what Baton does: {}", seen.name), async || {
            let used = shards.used(&of_seen, begin);
            let names: Vec<String> =
                used.iter().map(|(verb, kind)| format!("{verb} {}", kind.api_resource().plural)).collect();
            let is_all = seen.uses.iter().all(|wanted| names.iter().any(|name| name == wanted));
            if is_all { Ok(used) } else { Err(names) }
        })
        .await;

        for (verb, kind) in used {
            let resource = kind.api_resource();
            shards.entitle_without(Some((verb, kind))).await;
            let text = verb_on(verb, &resource.group, &resource.plural);
            shards.expect(&of_tried, &tried.change, Some(&text)).await;
        }
        shards.entitle_without(None).await;
        shards.expect(&of_tried, &tried.change, None).await;
    }
    assert_eq!(changed, fields(), "each field of a spec has a case");

    // Whoever may write the Workload may change its other labels. A shard that nobody has is no exception.
    entitle(&shards.env, &json!([workloads()])).await;
    let name = "template-tried";
    shards.expect(name, &json!({"metadata": {"labels": {"team": "shop"}}}), None).await;
    let parked = json!({"metadata": {"labels": {labels::SHARD: "nowhere"}}});
    shards.expect(name, &parked, Some("\"create\" on deployments.apps")).await;

    // No right is enough for a shard that no installation can have.
    shards.entitle_without(None).await;
    let nameless = json!({"metadata": {"labels": {labels::SHARD: ""}}});
    shards.expect(name, &nameless, Some("the label baton.rs/shard has no value")).await;
}
