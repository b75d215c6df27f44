//! The policy on authors asks for the verbs that Baton then uses: for each field of a spec, and for the label that Baton reads, a
//! change is made, Baton's writes to the children are read from the audit log, and an author who lacks one of their verbs is refused
//! the same change.

use std::collections::BTreeSet;

use baton_controller::decide::child::ChildKind;
use baton_crd::{Workload, labels};
use baton_e2e::{Environment, Operator, OperatorOptions, autoscaler, scenarios, workload};
use baton_testbed::{Cluster, Mark, eventually};
use kube::{
    Api, Client, CustomResourceExt as _,
    api::{Patch, PatchParams},
    core::{ApiResource, DynamicObject},
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::threats::{as_author, entitle, install_policy, rights, verb_on, workloads};

scenarios! {
    only real, because "of admission":
    the_policy_on_authors_asks_for_each_verb_that_baton_uses,
}

/// A change of a Workload, as data.
#[derive(Deserialize)]
struct Case {
    name: String,
    /// What happens before the change: the Workload gets a spec beside its template, or with a `kind`, another manager creates an object
    /// with the Workload's name.
    before: Vec<Value>,
    /// A merge patch.
    change: Value,
    /// Verbs that Baton uses then, beside others.
    uses: Vec<String>,
}

/// The cases, for Workloads whose names end with `twin`.
fn cases(twin: &str) -> Vec<Case> {
    let everything = |field: &str, value: Value| {
        let mut spec = json!({
            "replicas": 2,
            "service": {"ports": [{"port": 80}]},
            "autoscaling": {"maxReplicas": 3},
            "disruptionBudget": {"maxUnavailable": 1},
        });
        spec[field] = value;
        spec
    };
    let all = everything("replicas", json!(2));
    let container = json!({"name": "app", "image": "app:2"});
    let mut paused = everything("mode", json!("Paused"));
    paused["service"] = json!({"ports": [{"port": 81}]});
    let autoscaled = json!({"adoption": "Adopt", "suspend": true, "autoscaling": {"maxReplicas": 3}});
    let their_service = |case: &str| {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"annotations": {"team.example/owner": "shop"}},
            "spec": {"selector": {labels::WORKLOAD: format!("{case}-{twin}")}, "ports": [{"port": 80}]},
        })
    };
    let their_autoscaler =
        |case: &str| autoscaler("", &format!("{case}-{twin}"), json!({"minReplicas": 1, "maxReplicas": 9}));
    // The name, what happens before, the change of the spec, and what Baton then uses.
    let of_the_spec = json!([
        ["template", [{}], {"template": {"spec": {"containers": [container]}}}, ["update deployments"]],
        ["replicas", [{}], {"replicas": 2}, ["update deployments"]],
        ["rollout", [{}], {"rollout": {"minReadySeconds": 1}}, ["update deployments"]],
        ["deployment", [{}], {"deployment": {"labels": {"a": "b"}}}, ["update deployments"]],
        ["service-added", [{}], {"service": {"ports": [{"port": 80}]}}, ["create services"]],
        ["service-changed", [all], {"service": {"ports": [{"port": 81}]}}, ["update services"]],
        ["service-removed", [all], {"service": null}, ["delete services"]],
        ["budget-added", [{}], {"disruptionBudget": {"maxUnavailable": 1}}, ["create poddisruptionbudgets"]],
        ["budget-changed", [all], {"disruptionBudget": {"maxUnavailable": 2}}, ["update poddisruptionbudgets"]],
        ["budget-removed", [all], {"disruptionBudget": null}, ["delete poddisruptionbudgets"]],
        ["autoscaling-added", [{"replicas": 2}], {"autoscaling": {"maxReplicas": 3}},
            ["create horizontalpodautoscalers", "update deployments"]],
        ["autoscaling-changed", [all], {"autoscaling": {"maxReplicas": 4}}, ["update horizontalpodautoscalers"]],
        ["autoscaling-removed", [all], {"autoscaling": null}, ["delete horizontalpodautoscalers"]],
        ["external", [all], {"autoscaling": {"external": {}, "maxReplicas": null}}, ["delete horizontalpodautoscalers"]],
        ["suspended", [all], {"suspend": true}, ["delete horizontalpodautoscalers", "update deployments"]],
        ["resumed", [everything("suspend", json!(true))], {"suspend": false},
            ["create horizontalpodautoscalers", "update deployments"]],
        ["resumed-adopting", [autoscaled, their_autoscaler("resumed-adopting")], {"suspend": false},
            ["update horizontalpodautoscalers"]],
        ["adoption", [their_service("adoption"), all], {"adoption": "Adopt"}, ["update services"]],
        ["retired", [their_service("retired"), everything("adoption", json!("Adopt"))], {"retiredManagers": ["legacy"]},
            ["update services"]],
        ["mode", [all, paused], {"mode": "Enforce"}, ["update services"]],
    ]);
    let mut cases: Vec<Case> = serde_json::from_value(of_the_spec).unwrap();
    for case in &mut cases {
        case.change = json!({"spec": case.change});
    }
    let shard = json!([
        "shard", [all], {"metadata": {"labels": {labels::SHARD: "second"}}},
        ["update deployments", "update services", "update horizontalpodautoscalers", "update poddisruptionbudgets"],
    ]);
    cases.push(serde_json::from_value(shard).unwrap());
    cases
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
        let name = Some(format!("baton-second-{}", env.ns()));
        let options = OperatorOptions { name, ..OperatorOptions::with_flags("--shard=second") };
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

    async fn prepare(&self, name: &str, before: &[Value]) {
        for one in before {
            let Some(kind) = ChildKind::ALL.into_iter().find(|kind| one["kind"] == kind.name()) else {
                self.env.apply_as("user", &workload(name, one)).await.unwrap();
                self.reconciled(name).await;
                continue;
            };
            let mut theirs = one.clone();
            theirs["metadata"]["name"] = json!(name);
            let params = PatchParams::apply("legacy");
            self.env.children(kind).patch(name, &params, &Patch::Apply(theirs)).await.unwrap();
        }
    }

    /// The verbs that both operators have used on the children of this name since then.
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
    for (seen, tried) in cases("seen").into_iter().zip(cases("tried")) {
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

    // A user who may write the Workload may change its other labels. A shard without an installation is no exception.
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
