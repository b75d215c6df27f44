//! Every HorizontalPodAutoscaler in Baton's scope, by the Deployment that it scales, whoever made it.
//!
//! A pure index, fed with a watch's events; it keeps of each autoscaler just what is asked of it. What follows from
//! an autoscaler being there is [`crate::handover`]'s.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use baton_crd::Workload;
use kube::{ResourceExt, runtime::watcher::Event};

use crate::{child::ChildKind, live::Live};

/// A HorizontalPodAutoscaler that scales a Deployment.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Autoscaler {
    /// Its name.
    pub name: String,
    /// The least number it may choose.
    pub min_replicas: i32,
    /// The kind and the uid of its controller, such as KEDA's `ScaledObject`.
    pub controller: Option<(String, String)>,
}

impl Autoscaler {
    /// Whether the object with this uid is its controller.
    pub fn is_controlled_by(&self, uid: &str) -> bool {
        self.controller.as_ref().is_some_and(|(_, controller)| controller == uid)
    }

    /// Whether it does nothing while the number is zero. An autoscaler that may not choose zero itself takes it for a wish to
    /// be left out; whoever controls the autoscaler, as KEDA does, may bring the number back all the same.
    pub fn rests_at_zero(&self) -> bool {
        self.min_replicas > 0 && self.controller.is_none()
    }

    /// Reads it off a live HorizontalPodAutoscaler, with the Deployment that it scales; none where it scales something else.
    pub fn of(live: &Live) -> Option<(Target, Self)> {
        let target = |field| live.get(&["spec", "scaleTargetRef", field])?.as_str();
        let (group, _) = target("apiVersion")?.split_once('/')?;
        if (group, target("kind")?) != ("apps", ChildKind::Deployment.name()) {
            return None;
        }
        let controller = live.owner_references().iter().find(|owner| owner.controller == Some(true));
        let autoscaler = Self {
            name: live.name_any(),
            // The API server fills it in; 1 is its default.
            min_replicas: live.number(&["spec", "minReplicas"]).unwrap_or(1),
            controller: controller.map(|owner| (owner.kind.clone(), owner.uid.clone())),
        };
        let namespace = live.namespace().unwrap_or_default();
        Some((Target { namespace, deployment: target("name")?.to_owned() }, autoscaler))
    }
}

/// A Deployment that is scaled.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub deployment: String,
}

impl Target {
    /// The Deployment of a Workload.
    pub fn of(workload: &Workload) -> Self {
        Self { namespace: workload.namespace().unwrap_or_default(), deployment: workload.name_any() }
    }
}

/// The namespace and the name of an autoscaler.
type Key = (String, String);

/// The autoscalers by the Deployment that they scale.
#[derive(Debug, Default)]
pub struct Autoscalers {
    by_target: BTreeMap<Target, BTreeSet<Autoscaler>>,
    targets: HashMap<Key, (Target, Autoscaler)>,
    /// While the watch lists anew: those that it hasn't named yet.
    unlisted: BTreeSet<Key>,
}

impl Autoscalers {
    /// Those that scale this Deployment, by name.
    pub fn of(&self, target: &Target) -> Vec<Autoscaler> {
        self.by_target.get(target).into_iter().flatten().cloned().collect()
    }

    /// Takes in an event; returns the Deployments that are scaled differently by it.
    pub fn take(&mut self, event: &Event<Live>) -> Vec<Target> {
        match event {
            Event::Apply(live) | Event::InitApply(live) => {
                self.unlisted.remove(&key(live));
                self.put(live)
            }
            Event::Delete(live) => self.remove(&key(live)).into_iter().collect(),
            Event::Init => {
                self.unlisted = self.targets.keys().cloned().collect();
                Vec::new()
            }
            Event::InitDone => {
                let gone = std::mem::take(&mut self.unlisted);
                gone.iter().filter_map(|key| self.remove(key)).collect()
            }
        }
    }

    fn put(&mut self, live: &Live) -> Vec<Target> {
        let key = key(live);
        let now = Autoscaler::of(live);
        if self.targets.get(&key) == now.as_ref() {
            return Vec::new();
        }
        let before = self.remove(&key);
        let after = now.map(|(target, autoscaler)| {
            self.by_target.entry(target.clone()).or_default().insert(autoscaler.clone());
            self.targets.insert(key, (target.clone(), autoscaler));
            target
        });
        let mut touched: Vec<Target> = before.into_iter().chain(after).collect();
        touched.dedup();
        touched
    }

    fn remove(&mut self, key: &Key) -> Option<Target> {
        let (target, autoscaler) = self.targets.remove(key)?;
        if let Some(scaling) = self.by_target.get_mut(&target) {
            scaling.remove(&autoscaler);
            if scaling.is_empty() {
                self.by_target.remove(&target);
            }
        }
        Some(target)
    }
}

fn key(live: &Live) -> Key {
    (live.namespace().unwrap_or_default(), live.name_any())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn autoscaler(name: &str, target: &Value) -> Live {
        let object = json!({
            "metadata": {"name": name, "namespace": "ns"},
            "spec": {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 5},
        });
        Live::from_json(object).unwrap()
    }

    fn deployment(name: &str) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name})
    }

    fn names(index: &Autoscalers, deployment: &str) -> Vec<String> {
        let target = Target { namespace: "ns".into(), deployment: deployment.into() };
        index.of(&target).into_iter().map(|autoscaler| autoscaler.name).collect()
    }

    fn told(touched: Vec<Target>) -> Vec<String> {
        touched.into_iter().map(|target| target.deployment).collect()
    }

    #[test]
    fn autoscalers_are_found_by_what_they_scale_whatever_their_names() {
        let mut index = Autoscalers::default();
        index.take(&Event::Apply(autoscaler("keda-hpa-web", &deployment("web"))));
        index.take(&Event::Apply(autoscaler("mine", &deployment("web"))));
        let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web"});
        index.take(&Event::Apply(autoscaler("of-a-set", &set)));
        assert_eq!(names(&index, "web"), ["keda-hpa-web", "mine"]);
    }

    #[test]
    fn one_that_turns_to_another_deployment_concerns_both() {
        let mut index = Autoscalers::default();
        assert_eq!(told(index.take(&Event::Apply(autoscaler("a", &deployment("web"))))), ["web"]);
        assert_eq!(told(index.take(&Event::Apply(autoscaler("a", &deployment("db"))))), ["web", "db"]);
        assert_eq!((names(&index, "web"), names(&index, "db")), (vec![], vec!["a".to_owned()]));
    }

    #[test]
    fn one_that_is_as_it_was_concerns_nobody() {
        let mut index = Autoscalers::default();
        index.take(&Event::Apply(autoscaler("a", &deployment("web"))));
        assert_eq!(
            told(index.take(&Event::Apply(autoscaler("a", &deployment("web"))))),
            Vec::<String>::new()
        );
    }

    #[test]
    fn what_a_new_list_does_not_name_is_gone() {
        let mut index = Autoscalers::default();
        index.take(&Event::Apply(autoscaler("a", &deployment("web"))));
        index.take(&Event::Apply(autoscaler("b", &deployment("web"))));
        index.take(&Event::Init);
        index.take(&Event::InitApply(autoscaler("b", &deployment("web"))));
        assert_eq!(told(index.take(&Event::InitDone)), ["web"]);
        assert_eq!(names(&index, "web"), ["b"]);
    }
}
