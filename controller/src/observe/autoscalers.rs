//! The HorizontalPodAutoscalers by what they scale, Baton's or not. Only what is asked for is cached of them: anyone may make large
//! ones.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use baton_apply::{
    LiveObject,
    cache::{Cache, Changed, Feed, NamespacedName},
};
use baton_runtime::lock;
use kube::runtime::watcher::{self, Event};

use crate::decide::replicas::{Autoscaler, ScaleTarget};

type Scaling = (ScaleTarget, Autoscaler);

/// The HorizontalPodAutoscalers that scale Deployments. Clones share them.
#[derive(Clone)]
pub(super) struct Autoscalers {
    all: Cache<Scaling>,
    /// Sorted by name.
    by_target: Arc<Mutex<HashMap<ScaleTarget, Vec<Arc<Scaling>>>>>,
}

impl Autoscalers {
    /// Empty. The function reads what an object scales, if it is a Deployment.
    pub(super) fn new(read: impl Fn(&LiveObject) -> Option<Scaling> + Send + Sync + 'static) -> Self {
        Self { all: Cache::keeping(read), by_target: Arc::default() }
    }

    pub(super) fn watch(&self, namespace: Option<&str>) -> Feed<Scaling> {
        self.all.watch(namespace)
    }

    /// Delivers an event; returns the names of the Deployments that are scaled differently now.
    pub(super) fn deliver(
        &self,
        feed: &mut Feed<Scaling>,
        event: &watcher::Result<Event<LiveObject>>,
    ) -> Vec<NamespacedName> {
        feed.deliver(event).into_iter().flat_map(|changed| self.index(changed)).collect()
    }

    fn index(&self, Changed { before, after, .. }: Changed<Scaling>) -> Vec<NamespacedName> {
        let mut by_target = lock(&self.by_target);
        if let Some((target, before)) = before.as_deref()
            && let Some(scaling) = by_target.get_mut(target)
        {
            scaling.retain(|one| one.1.name != before.name);
            if scaling.is_empty() {
                by_target.remove(target);
            }
        }
        if let Some(after) = &after {
            let scaling = by_target.entry(after.0.clone()).or_default();
            let at = scaling.partition_point(|one| one.1.name < after.1.name);
            // There is rarely more than one.
            scaling.reserve_exact(1);
            scaling.insert(at, after.clone());
        }
        let targets = before.iter().chain(&after).map(|scaling| &scaling.0);
        let mut names: Vec<_> = targets
            .map(|target| NamespacedName {
                namespace: target.namespace.clone(),
                name: target.deployment.clone(),
            })
            .collect();
        names.dedup();
        names
    }

    /// Those that scale this Deployment.
    pub(super) fn of(&self, namespace: String, deployment: String) -> Vec<Autoscaler> {
        let by_target = lock(&self.by_target);
        let scaling = by_target.get(&ScaleTarget { namespace, deployment });
        scaling.into_iter().flatten().map(|scaling| scaling.1.clone()).collect()
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty() && lock(&self.by_target).is_empty()
    }
}
