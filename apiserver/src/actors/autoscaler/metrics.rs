//! The replica count that an autoscaler's metrics ask for, after `replica_calculator.go`.

use baton_merge::quantity::{Precision, canonical};
use serde_json::{Value, json};

use super::{AutoscalerPass, target_of};
use crate::{
    actors::{
        Load,
        object::{int, is_deleted, is_ready, items, name, namespace, text, uid},
        quotas::{Amount, requested},
        view::Object,
    },
    kinds::Quantity,
    selector::LabelSelector,
};

/// A quantity in thousandths, rounded up.
fn milli(text: &str) -> Option<i64> {
    Some(text).filter(|text| !text.is_empty()).and_then(Quantity::read)?.milli()
}

/// The usage ratio may differ from 1 by this much without scaling.
const TOLERANCE: f64 = 0.1;

/// The message for a target whose pods have no metrics.
const NO_METRICS: &str =
    "unable to get metrics for resource cpu: no metrics returned from resource metrics API";

/// The replica count that the metrics ask for.
pub(super) struct Proposal {
    pub(super) replicas: i64,
    /// The metric that asks for the most replicas.
    pub(super) name: String,
    pub(super) statuses: Vec<Value>,
}

/// The reason and the message of a condition that reports missing metrics.
type Unable = (&'static str, String);

impl AutoscalerPass<'_, '_> {
    /// The load that a test has set for the target.
    pub(super) fn load(&self) -> Option<Load> {
        let reference = &self.autoscaler["spec"]["scaleTargetRef"];
        let registry = self.pass.server.registry();
        let kind =
            target_of(&registry, reference).map_or(text(reference, "/kind"), |resource| &resource.gvk.kind);
        let target = [namespace(self.autoscaler), kind, text(reference, "/name")];
        self.pass.settings.loads.get(&target.map(str::to_owned).into()).copied()
    }

    /// The pods of a scale.
    pub(super) fn pods(&mut self, scale: &Value) -> Vec<Object> {
        let Ok(selector) = LabelSelector::parse(text(scale, "/status/selector")) else { return Vec::new() };
        if selector.is_everything() {
            return Vec::new();
        }
        let space = namespace(self.autoscaler);
        let is_own = |pod: &Object| {
            if namespace(pod) != space {
                return false;
            }
            let arena = baton_merge::Arena::new();
            let labels = pod.pointer("/metadata/labels").map(ToString::to_string).unwrap_or_default();
            let labels = baton_merge::value::Value::from_text(&arena, arena.copy_text(&labels)).ok();
            selector.matches(labels.and_then(|labels| labels.as_map()))
        };
        self.pass.list("", "pods").into_iter().filter(is_own).collect()
    }

    /// Other autoscalers whose targets select one of these pods.
    fn rivals(&mut self, pods: &[Object]) -> Vec<String> {
        let all = self.pass.list_version("autoscaling", "v2", "horizontalpodautoscalers");
        let others = all.iter().filter(|other| {
            uid(other) != uid(self.autoscaler) && namespace(other) == namespace(self.autoscaler)
        });
        let mut rivals = Vec::new();
        for other in others {
            let mut other_pass = AutoscalerPass { pass: self.pass, autoscaler: other };
            let selected =
                other_pass.target().map(|target| other_pass.pods(&target.scale)).unwrap_or_default();
            if selected.iter().any(|pod| pods.iter().any(|own| uid(own) == uid(pod))) {
                rivals.push(format!("{{{} {}}}", name(other), namespace(other)));
            }
        }
        rivals
    }

    /// The largest replica count that any metric asks for.
    pub(super) fn proposals(&mut self, scale: &Value) -> Result<Proposal, Unable> {
        let selector = text(scale, "/status/selector");
        if selector.is_empty() {
            return Err(("InvalidSelector", "the HPA target's scale is missing a selector".to_owned()));
        }
        let pods = self.pods(scale);
        let rivals = self.rivals(&pods);
        if !rivals.is_empty() {
            let own = [format!("{{{} {}}}", name(self.autoscaler), namespace(self.autoscaler))];
            let mut all: Vec<_> = own.into_iter().chain(rivals).collect();
            all.sort();
            let all = all.join(" ");
            let message = format!("pods by selector {selector} are controlled by multiple HPAs: [{all}]");
            return Err(("AmbiguousSelector", message));
        }
        let current = int(scale, "/spec/replicas");
        let mut best = Proposal { replicas: 0, name: String::new(), statuses: Vec::new() };
        let mut first_failure = None;
        for metric in items(self.autoscaler, "/spec/metrics") {
            match self.proposal(metric, &pods, current) {
                Ok((replicas, name, status)) => {
                    if best.name.is_empty() || replicas > best.replicas {
                        (best.replicas, best.name) = (replicas, name);
                    }
                    best.statuses.push(status);
                }
                Err(unable) => {
                    first_failure.get_or_insert(unable);
                    best.statuses.push(json!({"type": ""}));
                }
            }
        }
        match first_failure {
            // A metric without a value might ask for more, so nothing is scaled down.
            Some(unable) if best.name.is_empty() || best.replicas < current => Err(unable),
            None if best.name.is_empty() => Err(unable("InvalidMetricSourceType", "there are no metrics")),
            _ => Ok(best),
        }
    }

    fn proposal(
        &self,
        metric: &Value,
        pods: &[Object],
        current: i64,
    ) -> Result<(i64, String, Value), Unable> {
        let resource = text(metric, "/resource/name");
        match (text(metric, "/type"), resource) {
            ("Resource", "cpu") => {}
            ("Resource", _) => {
                return Err(unable(
                    "FailedGetResourceMetric",
                    &format!(
                        "failed to get {resource} utilization: unable to get metrics for resource {resource}: no metrics returned from resource metrics API"
                    ),
                ));
            }
            (kind, _) => {
                let reason = match kind {
                    "Pods" => "FailedGetPodsMetric",
                    "Object" => "FailedGetObjectMetric",
                    "External" => "FailedGetExternalMetric",
                    "ContainerResource" => "FailedGetContainerResourceMetric",
                    _ => "InvalidMetricSourceType",
                };
                return Err(unable(
                    reason,
                    &format!("metrics of type {kind} aren't implemented by this server"),
                ));
            }
        }
        let target = &metric["resource"]["target"];
        let average = target.get("averageValue").and_then(Value::as_str).and_then(milli);
        let what = if average.is_some() { "usage" } else { "utilization" };
        let fail = |why: String| {
            unable("FailedGetResourceMetric", &format!("failed to get {resource} {what}: {why}"))
        };
        let load = self.load().ok_or_else(|| fail(NO_METRICS.to_owned()))?;
        let usage = Usage::of(load, pods, average.is_none()).map_err(fail)?;
        let each = format!("{}m", usage.milli / usage.ready.max(1));
        let mut status = json!({"averageValue": canonical(&each, Precision::Milli).unwrap_or(each)});
        let name;
        let ratio = if let Some(average) = average {
            name = format!("{resource} resource");
            ratio(usage.milli / usage.ready.max(1), average)
        } else {
            name = format!("{resource} resource utilization (percentage of request)");
            status["averageUtilization"] = usage.percent.into();
            ratio(usage.percent, int(target, "/averageUtilization"))
        };
        let replicas = usage.replicas(ratio, self.tolerances(), current);
        let status = json!({"type": "Resource", "resource": {"name": resource, "current": status}});
        Ok((replicas, name, status))
    }

    /// The tolerances of the usage ratio, down and up.
    #[allow(clippy::cast_precision_loss)] // Thousandths of a share.
    fn tolerances(&self) -> (f64, f64) {
        let of = |direction: &str| {
            let own = text(self.autoscaler, &format!("/spec/behavior/{direction}/tolerance"));
            milli(own).map_or(TOLERANCE, |thousandths| thousandths as f64 / 1000.0)
        };
        (of("scaleDown"), of("scaleUp"))
    }
}

fn unable(reason: &'static str, why: &str) -> Unable {
    (reason, format!("the HPA was unable to compute the replica count: {why}"))
}

#[allow(clippy::cast_precision_loss)] // No machine has that many processors.
fn ratio(usage: i64, target: i64) -> f64 {
    usage as f64 / target.max(1) as f64
}

/// The usage of a target's pods.
struct Usage {
    /// The sum of the counted pods, in thousandths.
    milli: i64,
    /// The share of their requests, in percent.
    percent: i64,
    /// The number of counted pods.
    ready: i64,
    unready: i64,
}

impl Usage {
    /// The usage of a target's pods under a load. With `is_utilization` it is compared with the pods' requests.
    fn of(load: Load, pods: &[Object], is_utilization: bool) -> Result<Self, String> {
        // Only running pods have metrics.
        if !pods.iter().any(|pod| text(pod, "/status/phase") == "Running") {
            return Err(NO_METRICS.to_owned());
        }
        let counted = pods.iter().filter(|pod| !is_deleted(pod) && text(pod, "/status/phase") != "Failed");
        let (ready, unready): (Vec<_>, Vec<_>) = counted.partition(|pod| is_ready(pod));
        if ready.is_empty() {
            return Err("did not receive metrics for targeted pods (pods might be unready)".to_owned());
        }
        let needs_requests = is_utilization || matches!(load, Load::Percent(_));
        let requested: i64 = if needs_requests {
            // Uncounted pods need a request as well.
            pods.iter().try_for_each(|pod| requests(pod).map(drop))?;
            ready.iter().map(|pod| requests(pod)).sum::<Result<_, _>>()?
        } else {
            0
        };
        if is_utilization && requested == 0 {
            return Err("no metrics returned matched known pods".to_owned());
        }
        let (milli, percent) = match load {
            Load::Percent(percent) => {
                let percent = i64::from(percent);
                (requested.saturating_mul(percent) / 100, percent)
            }
            Load::Millicores(milli) => {
                let milli = i64::from(milli);
                (milli, milli.saturating_mul(100).checked_div(requested).unwrap_or_default())
            }
        };
        Ok(Self { milli, percent, ready: count(ready.len()), unready: count(unready.len()) })
    }

    /// The replica count that brings the usage to the target.
    #[allow(clippy::cast_possible_truncation, clippy::cast_precision_loss)] // As the controller computes it.
    fn replicas(&self, ratio: f64, (down, up): (f64, f64), current: i64) -> i64 {
        let is_within = |ratio: f64| 1.0 - down <= ratio && ratio <= 1.0 + up;
        if self.unready == 0 || ratio <= 1.0 {
            return if is_within(ratio) { current } else { (ratio * self.ready as f64).ceil() as i64 };
        }
        // Pods that aren't ready count as idle: they will take a share of the load.
        let all = (self.ready + self.unready) as f64;
        let damped = ratio * self.ready as f64 / all;
        let replicas = (damped * all).ceil() as i64;
        if is_within(damped) || damped < 1.0 || replicas < current { current } else { replicas }
    }
}

fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// The CPU request of a pod, in thousandths.
fn requests(pod: &Value) -> Result<i64, String> {
    let of_pod = pod.pointer("/spec/resources/requests").and_then(Value::as_object);
    if of_pod.is_some_and(|requests| !requests.is_empty()) {
        let cpu = requested(pod).remove("cpu").map(Amount::milli);
        return cpu.ok_or_else(|| format!("missing pod-level request for cpu in Pod {}", name(pod)));
    }
    let is_sidecar = |container: &&Value| container["restartPolicy"] == "Always";
    let containers = items(pod, "/spec/containers").iter();
    let all = containers.chain(items(pod, "/spec/initContainers").iter().filter(is_sidecar));
    all.map(|container| {
        milli(text(container, "/resources/requests/cpu")).ok_or_else(|| {
            format!("missing request for cpu in container {} of Pod {}", text(container, "/name"), name(pod))
        })
    })
    .sum()
}
