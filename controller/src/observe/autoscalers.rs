//! Every HorizontalPodAutoscaler in Baton's scope, by the Deployment that it scales, whoever made it.
//!
//! A pure index, fed with a watch's events; it keeps of each autoscaler just what is asked of it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use baton_apply::LiveObject;
use kube::{ResourceExt, runtime::watcher::Event};

use crate::decide::replicas::{Autoscaler, ScaleTarget};

/// The namespace and the name of an autoscaler.
type Key = (String, String);

/// The autoscalers by the Deployment that they scale.
#[derive(Debug, Default)]
pub struct Autoscalers {
    by_target: BTreeMap<ScaleTarget, BTreeSet<Autoscaler>>,
    targets: HashMap<Key, (ScaleTarget, Autoscaler)>,
    /// While the watch lists anew: those that it hasn't named yet.
    unlisted: BTreeSet<Key>,
}

impl Autoscalers {
    /// Those that scale this Deployment, by name.
    pub fn of(&self, target: &ScaleTarget) -> Vec<Autoscaler> {
        self.by_target.get(target).into_iter().flatten().cloned().collect()
    }

    /// Takes in an event; returns the Deployments that are scaled differently by it.
    pub fn take(&mut self, event: &Event<LiveObject>) -> Vec<ScaleTarget> {
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

    fn put(&mut self, live: &LiveObject) -> Vec<ScaleTarget> {
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
        let mut touched: Vec<ScaleTarget> = before.into_iter().chain(after).collect();
        touched.dedup();
        touched
    }

    fn remove(&mut self, key: &Key) -> Option<ScaleTarget> {
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

fn key(live: &LiveObject) -> Key {
    (live.namespace().unwrap_or_default(), live.name_any())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn autoscaler(name: &str, target: &Value) -> LiveObject {
        let object = json!({
            "metadata": {"name": name, "namespace": "ns"},
            "spec": {"scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 5},
        });
        LiveObject::from_json(object).unwrap()
    }

    fn deployment(name: &str) -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": name})
    }

    fn names(index: &Autoscalers, deployment: &str) -> Vec<String> {
        let target = ScaleTarget { namespace: "ns".into(), deployment: deployment.into() };
        index.of(&target).into_iter().map(|autoscaler| autoscaler.name).collect()
    }

    fn told(touched: Vec<ScaleTarget>) -> Vec<String> {
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
