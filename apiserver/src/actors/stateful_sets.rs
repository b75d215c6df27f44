//! StatefulSets: pods with an ordinal and claims of their own, one after another. After `pkg/controller/statefulset`.

use std::{cmp::Reverse, collections::HashMap, time::Duration};

use serde_json::{Value, json};
use tokio::time::Instant;

use super::{
    Controller, Pass,
    claim::claim,
    client::Refused,
    object::{
        controller, hash, int, is_controlled_by, is_deleted, is_ready, items, name, namespace, owners,
        pod_of, reference_to, replicas, text, uid,
    },
    settled::{Controlled, Settled, note, uids},
    view::Object,
};

const REVISION: &str = "controller-revision-hash";

#[derive(Default)]
pub(super) struct StatefulSets {
    /// When each ready pod became ready, by UID.
    ready_since: HashMap<String, Instant>,
    settled: Settled,
}

impl Controller for StatefulSets {
    fn act(&mut self, pass: &mut Pass<'_>) {
        let sets = pass.list("apps", "statefulsets");
        self.settled.keep(&uids(&sets));
        let pods = pass.list("", "pods");
        let ready: Vec<_> = pods.iter().filter(|pod| is_ready(pod)).cloned().collect();
        note(&mut self.ready_since, &ready, pass.now);
        let pods = Controlled::of(pods);
        let claims = pass.list("", "persistentvolumeclaims");
        let revisions = pass.list("apps", "controllerrevisions");
        for set in &sets {
            let is_its = |pod: &Object| ordinal(set, pod).is_some();
            let pods: Vec<_> = pods.candidates(set).into_iter().filter(is_its).collect();
            let claims: Vec<_> =
                claims.iter().filter(|of| namespace(of) == namespace(set)).cloned().collect();
            let revisions: Vec<_> =
                revisions.iter().filter(|of| is_controlled_by(of, set)).cloned().collect();
            let own = [pods.as_slice(), &claims, &revisions].concat();
            self.settled.reconcile(pass, set, &own, |pass| {
                let pods = claim(pass, set, pods);
                let of = Sync { pass, set, claims: &claims, ready_since: &self.ready_since };
                if of.run(pods, revisions).is_err() {
                    pass.retry();
                }
            });
        }
    }
}

/// The ordinal in the name of a set's pod.
fn ordinal(set: &Value, pod: &Value) -> Option<i64> {
    let ordinal = name(pod).strip_prefix(name(set))?.strip_prefix('-')?;
    if ordinal.bytes().all(|byte| byte.is_ascii_digit()) { ordinal.parse().ok() } else { None }
}

fn revision_of(pod: &Value) -> &str {
    pod["metadata"]["labels"][REVISION].as_str().unwrap_or_default()
}

fn is_running_and_ready(pod: &Value) -> bool {
    text(pod, "/status/phase") == "Running" && is_ready(pod)
}

/// One pass over one StatefulSet.
struct Sync<'s, 'p> {
    pass: &'s mut Pass<'p>,
    set: &'s Object,
    claims: &'s [Object],
    ready_since: &'s HashMap<String, Instant>,
}

/// The current and the updated revision of the pods.
struct Revisions {
    current: Value,
    update: Value,
}

impl Sync<'_, '_> {
    fn run(mut self, mut pods: Vec<Object>, mut all: Vec<Object>) -> Result<(), Refused> {
        pods.sort_by_key(|pod| ordinal(self.set, pod));
        all.sort_by_key(|revision| int(revision, "/revision"));
        let revisions = self.revisions(&all)?;
        // The status describes the pods before the changes; they bring another pass.
        let done = if is_deleted(self.set) { Ok(()) } else { self.manage(&pods, &revisions) };
        self.write_status(&pods, &revisions)?;
        self.truncate(&all, &pods, &revisions)?;
        done
    }

    /// The revision of the current template, created if it is new, and the revision of the last completed rollout.
    fn revisions(&self, all: &[Object]) -> Result<Revisions, Refused> {
        let mut template = self.set["spec"]["template"].clone();
        template["$patch"] = "replace".into();
        let data = json!({"spec": {"template": template}});
        let next = all.last().map_or(1, |last| int(last, "/revision") + 1);
        let update = match all.iter().rev().find(|revision| revision["data"] == data) {
            Some(latest) if int(latest, "/revision") + 1 == next => (**latest).clone(),
            Some(earlier) => {
                let mut again = (**earlier).clone();
                again["revision"] = next.into();
                self.pass.update(&again, "")?
            }
            None => {
                let hash = hash(&data, int(self.set, "/status/collisionCount"));
                let mut metadata = json!({
                    "name": format!("{}-{hash}", name(self.set)), "namespace": namespace(self.set),
                    "labels": self.set["spec"]["template"]["metadata"]["labels"],
                    "annotations": self.set["metadata"]["annotations"],
                    "ownerReferences": [reference_to(self.set)],
                });
                metadata["labels"]["controller.kubernetes.io/hash"] = hash.into();
                self.pass.create(&json!({
                    "apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": metadata,
                    "data": data, "revision": next,
                }))?
            }
        };
        let current = text(self.set, "/status/currentRevision");
        let current = all.iter().find(|revision| name(revision) == current);
        let current = current.map_or_else(|| update.clone(), |current| (**current).clone());
        Ok(Revisions { current, update })
    }

    /// Deletes the oldest unused revisions.
    fn truncate(&self, all: &[Object], pods: &[Object], revisions: &Revisions) -> Result<(), Refused> {
        let is_live = |revision: &&Object| {
            [name(&revisions.current), name(&revisions.update)].contains(&name(revision))
                || pods.iter().any(|pod| revision_of(pod) == name(revision))
        };
        let old: Vec<_> = all.iter().filter(|revision| !is_live(revision)).collect();
        let limit = self.set.pointer("/spec/revisionHistoryLimit").and_then(Value::as_i64).unwrap_or(10);
        let kept = usize::try_from(limit).unwrap_or(usize::MAX);
        for revision in old.iter().take(old.len().saturating_sub(kept)) {
            self.pass.delete(revision, json!({}))?;
        }
        Ok(())
    }

    fn start(&self) -> i64 {
        int(self.set, "/spec/ordinals/start")
    }

    fn is_wanted(&self, ordinal: i64) -> bool {
        (self.start()..self.start() + replicas(self.set)).contains(&ordinal)
    }

    /// Whether a pod has been ready for `minReadySeconds`; otherwise the set is due when it has.
    fn is_available(&mut self, pod: &Value) -> bool {
        let wait = Duration::from_secs(int(self.set, "/spec/minReadySeconds").unsigned_abs());
        let since = self.ready_since.get(uid(pod)).filter(|_| is_running_and_ready(pod));
        let Some(at) = since.and_then(|since| since.checked_add(wait)) else { return false };
        if at > self.pass.now {
            self.pass.wake_at(at);
        }
        at <= self.pass.now
    }

    /// Creates and deletes pods: missing ones in order, surplus ones in reverse order; pods of another revision are
    /// replaced last.
    fn manage(&mut self, pods: &[Object], revisions: &Revisions) -> Result<(), Refused> {
        let set = self.set;
        let one_by_one = text(set, "/spec/podManagementPolicy") != "Parallel";
        let pod_at = |at| pods.iter().find(|pod| ordinal(set, pod) == Some(at));
        for at in self.start()..self.start() + replicas(set) {
            let Some(pod) = pod_at(at) else {
                self.create(at, revisions)?;
                if one_by_one {
                    return Ok(());
                }
                continue;
            };
            if matches!(text(pod, "/status/phase"), "Failed" | "Succeeded") {
                if !is_deleted(pod) {
                    self.pass.delete(pod, json!({}))?;
                }
            } else {
                if text(pod, "/status/phase") == "Pending" {
                    self.create_claims(at)?;
                }
                if is_running_and_ready(pod) && !is_deleted(pod) {
                    self.retain_claims(at, pod)?;
                }
            }
            if one_by_one && (is_deleted(pod) || !self.is_available(pod)) {
                return Ok(());
            }
        }
        let is_surplus = |pod: &&Object| ordinal(set, pod).is_some_and(|at| !self.is_wanted(at));
        let mut surplus: Vec<_> = pods.iter().filter(is_surplus).collect();
        surplus.sort_by_key(|pod| Reverse(ordinal(set, pod)));
        for pod in &surplus {
            self.retain_claims(ordinal(set, pod).unwrap_or_default(), pod)?;
        }
        let first_unavailable =
            surplus.iter().rev().find(|pod| is_deleted(pod) || !self.is_available(pod)).map(|pod| uid(pod));
        for pod in surplus {
            let waits = !self.is_available(pod) && first_unavailable != Some(uid(pod));
            if one_by_one && (is_deleted(pod) || waits) {
                return Ok(());
            }
            if !is_deleted(pod) {
                self.pass.delete(pod, json!({}))?;
                if one_by_one {
                    return Ok(());
                }
            }
        }
        if text(set, "/spec/updateStrategy/type") == "OnDelete" {
            return Ok(());
        }
        let first = self.start() + int(set, "/spec/updateStrategy/rollingUpdate/partition");
        for at in (first..self.start() + replicas(set)).rev() {
            let Some(pod) = pod_at(at) else { return Ok(()) };
            if revision_of(pod) != name(&revisions.update) && !is_deleted(pod) {
                return self.pass.delete(pod, json!({})).map(drop);
            }
            if is_deleted(pod) || !self.is_available(pod) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Creates the claims of a pod, then the pod.
    fn create(&self, at: i64, revisions: &Revisions) -> Result<(), Refused> {
        let pod_name = format!("{}-{at}", name(self.set));
        let is_stale = |claim: &Value| {
            owners(claim).iter().any(|owner| owner["kind"] == "Pod" && owner["name"] == pod_name.as_str())
        };
        if self.claims_at(at).any(|(_, live)| live.is_some_and(|live| is_stale(live))) {
            // The revision is deleted with its last pod.
            return Ok(());
        }
        self.create_claims(at)?;
        let partition = int(self.set, "/spec/updateStrategy/rollingUpdate/partition");
        let revision = if at < self.start() + partition { &revisions.current } else { &revisions.update };
        let mut pod = pod_of(self.set, &revision["data"]["spec"]["template"]);
        let labels = &mut pod["metadata"]["labels"];
        labels["statefulset.kubernetes.io/pod-name"] = pod_name.as_str().into();
        labels["apps.kubernetes.io/pod-index"] = at.to_string().into();
        labels[REVISION] = name(revision).into();
        let templates = items(self.set, "/spec/volumeClaimTemplates").iter();
        let volumes = templates.zip(self.claims_at(at)).map(|(template, (claim, _))| {
            json!({"name": name(template), "persistentVolumeClaim": {"claimName": name(&claim)}})
        });
        let mut volumes: Vec<_> = volumes.collect();
        let others = items(&pod, "/spec/volumes").iter();
        let others = others.filter(|other| !volumes.iter().any(|own| own["name"] == other["name"]));
        let others: Vec<_> = others.cloned().collect();
        volumes.extend(others);
        if !volumes.is_empty() {
            pod["spec"]["volumes"] = volumes.into();
        }
        pod["metadata"]["generateName"] = format!("{}-", name(self.set)).into();
        pod["metadata"]["name"] = pod_name.as_str().into();
        pod["spec"]["hostname"] = pod_name.into();
        if let Some(service) = self.set.pointer("/spec/serviceName") {
            pod["spec"]["subdomain"] = service.clone();
        }
        match self.pass.create(&pod) {
            Err(refused) if refused.in_terminating => Ok(()),
            made => made.map(drop),
        }
    }

    /// The claims of a pod's template, each with the live one.
    fn claims_at(&self, at: i64) -> impl Iterator<Item = (Value, Option<&Object>)> {
        items(self.set, "/spec/volumeClaimTemplates").iter().map(move |template| {
            let mut claim = template.clone();
            let full = format!("{}-{}-{at}", name(template), name(self.set));
            claim["apiVersion"] = "v1".into();
            claim["kind"] = "PersistentVolumeClaim".into();
            claim["metadata"]["namespace"] = namespace(self.set).into();
            let selected = self.set.pointer("/spec/selector/matchLabels").and_then(Value::as_object);
            for (name, value) in selected.into_iter().flatten() {
                claim["metadata"]["labels"][name] = value.clone();
            }
            let live = self.claims.iter().find(|live| name(live) == full);
            claim["metadata"]["name"] = full.into();
            (claim, live)
        })
    }

    fn create_claims(&self, at: i64) -> Result<(), Refused> {
        for (claim, live) in self.claims_at(at) {
            if live.is_none() {
                self.pass.create(&claim)?;
            }
        }
        Ok(())
    }

    /// Sets the owners of a pod's claims by the set's retention policy.
    fn retain_claims(&self, at: i64, pod: &Value) -> Result<(), Refused> {
        let deletes = |when: &str| self.set["spec"]["persistentVolumeClaimRetentionPolicy"][when] == "Delete";
        let is_scaled_down = deletes("whenScaled") && !self.is_wanted(at);
        let wanted = match (is_scaled_down, deletes("whenDeleted")) {
            (true, _) => Some(reference_to(pod)),
            (false, true) => Some(reference_to(self.set)),
            (false, false) => None,
        };
        for live in self.claims_at(at).filter_map(|(_, live)| live) {
            let is_own = |owner: &Value| [uid(self.set), uid(pod)].contains(&text(owner, "/uid"));
            if controller(live).is_some_and(|other| !is_own(other)) {
                continue;
            }
            let others = owners(live).iter().filter(|owner| !is_own(owner)).cloned();
            let all: Vec<_> = others.chain(wanted.clone()).collect();
            if all != owners(live) {
                self.pass.patch_metadata(live, json!({"ownerReferences": all}))?;
            }
        }
        Ok(())
    }

    fn write_status(&mut self, pods: &[Object], revisions: &Revisions) -> Result<(), Refused> {
        let [mut current, mut updated, mut ready, mut available] = [0; 4];
        let names = [name(&revisions.current), name(&revisions.update)];
        for pod in pods {
            ready += i64::from(is_running_and_ready(pod));
            available += i64::from(self.is_available(pod));
            current += i64::from(!is_deleted(pod) && revision_of(pod) == names[0]);
            updated += i64::from(!is_deleted(pod) && revision_of(pod) == names[1]);
        }
        let count = i64::try_from(pods.len()).unwrap_or(i64::MAX);
        let mut current_name = names[0];
        let is_rolling = text(self.set, "/spec/updateStrategy/type") == "RollingUpdate";
        if is_rolling && [updated, ready, count] == [replicas(self.set); 3] {
            (current, current_name) = (updated, names[1]);
        }
        let mut status = json!({
            "observedGeneration": int(self.set, "/metadata/generation"), "collisionCount": 0,
            "replicas": count, "availableReplicas": available,
            "currentRevision": current_name, "updateRevision": names[1],
        });
        for (field, count) in
            [("readyReplicas", ready), ("currentReplicas", current), ("updatedReplicas", updated)]
        {
            if count > 0 {
                status[field] = count.into();
            }
        }
        if let Some(conditions) = self.set.pointer("/status/conditions") {
            status["conditions"] = conditions.clone();
        }
        if self.set["status"] != status {
            let mut changed = (**self.set).clone();
            changed["status"] = status;
            self.pass.update(&changed, "status")?;
        }
        Ok(())
    }
}
