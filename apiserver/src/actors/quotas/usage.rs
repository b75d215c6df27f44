//! The usage of an object by the names of a quota, after `pkg/quota/v1/evaluator/core`.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::Arc,
};

use baton_merge::quantity::{Precision, canonical};
use serde_json::Value;

use super::class;
use crate::{
    actors::object::{items, text},
    kinds::{Quantity, UNIT},
    registry::{Registry, Resource},
};

const OF_CLASS: &str = ".storageclass.storage.k8s.io/";

/// An amount of a counted resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::actors) struct Amount {
    billionths: i128,
    /// Whether it is printed in powers of 1024.
    is_binary: bool,
}

pub(in crate::actors) type Amounts = BTreeMap<String, Amount>;

impl Amount {
    pub(super) fn read(text: &str) -> Self {
        let Quantity(billionths) = Quantity::parse(text);
        Self { billionths, is_binary: text.ends_with('i') }
    }

    /// In thousandths, rounded up.
    pub(in crate::actors) fn milli(self) -> i64 {
        Quantity(self.billionths).milli().unwrap_or(i64::MAX)
    }

    fn count(count: usize) -> Self {
        let count = i128::try_from(count).unwrap_or(i128::MAX);
        Self { billionths: count.saturating_mul(UNIT), is_binary: false }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        let billionths = self.billionths.saturating_add(other.billionths);
        Self { billionths, is_binary: self.is_binary || other.is_binary }
    }

    pub(super) fn minus(self, other: Self) -> Self {
        Self { billionths: self.billionths.saturating_sub(other.billionths), ..self }
    }

    fn larger(self, other: Self) -> Self {
        if other.billionths > self.billionths { other } else { self }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kibi = UNIT * 1024;
        let text = if self.is_binary && self.billionths % kibi == 0 {
            format!("{}Ki", self.billionths / kibi)
        } else {
            format!("{}n", self.billionths)
        };
        f.write_str(&canonical(&text, Precision::Milli).unwrap_or(text))
    }
}

/// The resource that a quota counts under a name.
pub(super) fn counted(registry: &Registry, name: &str) -> Option<Arc<Resource>> {
    let (plural, group) = match name.strip_prefix("count/") {
        Some(of) => of.split_once('.').unwrap_or((of, "")),
        None => match name {
            "configmaps" | "secrets" | "replicationcontrollers" | "resourcequotas" => (name, ""),
            "services" | "services.loadbalancers" | "services.nodeports" => ("services", ""),
            "persistentvolumeclaims" | "requests.storage" => ("persistentvolumeclaims", ""),
            _ if name.contains(OF_CLASS) => ("persistentvolumeclaims", ""),
            _ => ("pods", ""),
        },
    };
    registry.preferred().find(|of| of.plural == plural && of.gvk.group == group).cloned()
}

/// The usage of an object.
pub(super) fn usage(resource: &Resource, object: &Value) -> Amounts {
    let mut used = Amounts::new();
    used.insert(format!("count/{}", resource.qualified()), Amount::count(1));
    match resource.storage.as_str() {
        "pods" => of_pod(object, &mut used),
        "services" => of_service(object, &mut used),
        "persistentvolumeclaims" => of_claim(object, &mut used),
        _ if resource.gvk.group.is_empty() => {
            used.insert(resource.plural.clone(), Amount::count(1));
        }
        _ => {}
    }
    used
}

fn of_pod(pod: &Value, used: &mut Amounts) {
    if matches!(text(pod, "/status/phase"), "Failed" | "Succeeded") {
        return;
    }
    used.insert("pods".to_owned(), Amount::count(1));
    for (name, amount) in requested(pod) {
        if matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage") || name.starts_with("hugepages-") {
            used.insert(name.clone(), amount);
        }
        used.insert(format!("requests.{name}"), amount);
    }
    for (name, amount) in compute(pod, "limits") {
        if matches!(name.as_str(), "cpu" | "memory" | "ephemeral-storage") {
            used.insert(format!("limits.{name}"), amount);
        }
    }
}

/// The requests of a pod as a whole.
pub(in crate::actors) fn requested(pod: &Value) -> Amounts {
    compute(pod, "requests")
}

/// The requests or limits of a pod's containers.
fn compute(pod: &Value, of: &str) -> Amounts {
    let amounts = |of_whom: Option<&Value>| -> Amounts {
        let all = of_whom.and_then(Value::as_object).into_iter().flatten();
        all.map(|(name, value)| (name.clone(), Amount::read(value.as_str().unwrap_or_default()))).collect()
    };
    let add = |total: &mut Amounts, more: Amounts| {
        for (name, amount) in more {
            let sum = total.entry(name).or_default();
            *sum = sum.plus(amount);
        }
    };
    let own = |container: &Value| amounts(container.pointer(&format!("/resources/{of}")));
    let mut total = Amounts::new();
    for container in items(pod, "/spec/containers") {
        add(&mut total, own(container));
    }
    // Init containers count until they have ended, restartable ones beside the containers.
    let (mut beside, mut most) = (Amounts::new(), Amounts::new());
    for container in items(pod, "/spec/initContainers") {
        let mut needs = own(container);
        if container["restartPolicy"] == "Always" {
            add(&mut total, needs.clone());
            add(&mut beside, needs);
            needs = beside.clone();
        } else {
            add(&mut needs, beside.clone());
        }
        for (name, amount) in needs {
            let highest = most.entry(name).or_default();
            *highest = highest.larger(amount);
        }
    }
    for (name, amount) in most {
        let highest = total.entry(name).or_default();
        *highest = highest.larger(amount);
    }
    // Pod-level resources take precedence.
    for (name, amount) in amounts(pod.pointer(&format!("/spec/resources/{of}"))) {
        total.insert(name, amount);
    }
    add(&mut total, amounts(pod.pointer("/spec/overhead")));
    total
}

fn of_service(service: &Value, used: &mut Amounts) {
    let ports = items(service, "/spec/ports");
    let is_balancer = service["spec"]["type"] == "LoadBalancer";
    let node_ports = match text(service, "/spec/type") {
        "LoadBalancer" if service["spec"]["allocateLoadBalancerNodePorts"] == false => {
            ports.iter().filter(|port| port["nodePort"].as_i64().unwrap_or_default() != 0).count()
        }
        "NodePort" | "LoadBalancer" => ports.len(),
        _ => 0,
    };
    used.insert("services".to_owned(), Amount::count(1));
    used.insert("services.loadbalancers".to_owned(), Amount::count(usize::from(is_balancer)));
    used.insert("services.nodeports".to_owned(), Amount::count(node_ports));
}

fn of_claim(claim: &Value, used: &mut Amounts) {
    let storage = Amount::read(text(claim, "/spec/resources/requests/storage"));
    let prefix = format!("{}{OF_CLASS}", class(claim));
    for (name, amount) in [("persistentvolumeclaims", Amount::count(1)), ("requests.storage", storage)] {
        used.insert(name.to_owned(), amount);
        if !class(claim).is_empty() {
            used.insert(format!("{prefix}{name}"), amount);
        }
    }
}

/// The names that a quota requires of each container, and the containers without them.
pub(super) fn missing<'n>(pod: &Value, names: impl Iterator<Item = &'n str>) -> String {
    const CHECKED: [&str; 6] =
        ["cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory"];
    if pod.pointer("/spec/resources").is_some() {
        return String::new();
    }
    let containers = || items(pod, "/spec/containers").iter().chain(items(pod, "/spec/initContainers"));
    let names: BTreeSet<_> = names.filter(|name| CHECKED.contains(name)).collect();
    let lacking = names.into_iter().filter_map(|name| {
        let (of, what) = name.split_once('.').unwrap_or(("requests", name));
        let has = |container: &&Value| container.pointer(&format!("/resources/{of}/{what}")).is_some();
        let lacking: BTreeSet<_> = containers()
            .filter(|container| !has(container))
            .map(|container| text(container, "/name"))
            .collect();
        let lacking: Vec<_> = lacking.into_iter().collect();
        (!lacking.is_empty()).then(|| format!("{name} for: {}", lacking.join(",")))
    });
    lacking.collect::<Vec<_>>().join("; ")
}
