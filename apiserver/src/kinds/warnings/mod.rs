//! Warnings about valid objects: fields without effect, deprecated values, and values that hide each other. After
//! `WarningsOnCreate` and `WarningsOnUpdate` of the kinds' strategies in `k8s.io/kubernetes/pkg/registry`.

mod address;
mod claim;
mod container;
mod node_label;
mod pod;
mod service;
mod volume;

use baton_merge::{schema::kinds::GroupVersionKind, value::Value};

use self::{
    address::{warn_of_address, warn_of_range},
    claim::{warn_of_claim, warn_of_volume},
    pod::{warn_of_pod, warn_of_template},
    service::warn_of_service,
};
use super::{cursor::Cursor, format, quantity::Quantity};

/// A written object, with the old one of an update.
struct Written<'a> {
    new: Cursor<'a>,
    old: Option<Cursor<'a>>,
    warnings: Vec<String>,
}

/// The warnings about a built-in kind's object.
pub(crate) fn warnings(
    gvk: &GroupVersionKind,
    subresource: &str,
    new: Value<'_>,
    old: Option<Value<'_>>,
) -> Vec<String> {
    let mut written = Written { new: Cursor::root(new), old: old.map(Cursor::root), warnings: Vec::new() };
    match subresource {
        // A write of a scale is one of the scaled object.
        "" | "scale" => written.whole(gvk),
        "status" => written.status(&gvk.kind),
        _ => {}
    }
    written.warnings
}

impl Cursor<'_> {
    fn warn(&self, warnings: &mut Vec<String>, text: &str) {
        warnings.push(format!("{}: {text}", self.path));
    }
}

impl Written<'_> {
    fn whole(&mut self, gvk: &GroupVersionKind) {
        match (gvk.group.as_str(), gvk.kind.as_str()) {
            ("", "Pod") if self.old.is_none() => {
                self.name("this is used in the Pod's hostname");
                warn_of_pod(&self.new, &mut self.warnings);
            }
            ("", "PodTemplate") => self.template(&["template"]),
            ("", "ReplicationController") => self.replication_controller(),
            ("apps", "Deployment" | "ReplicaSet") => {
                self.name(IN_POD_NAMES);
                self.template(&["spec", "template"]);
            }
            ("apps", "StatefulSet") => self.stateful_set(),
            ("apps", "DaemonSet") => self.daemon_set(),
            ("batch", "Job") => {
                self.name(IN_POD_NAMES);
                self.job(&["spec"]);
            }
            ("batch", "CronJob") => self.cron_job(),
            ("", "Service") => warn_of_service(&self.new, &mut self.warnings),
            ("", "PersistentVolume") => warn_of_volume(&self.new, &mut self.warnings),
            ("", "PersistentVolumeClaim") => {
                claim::warn_of_annotation(&self.new, &mut self.warnings);
                warn_of_claim(&self.new.child("spec"), &mut self.warnings);
            }
            ("", "Endpoints") => self.endpoints(),
            ("", "Node") => self.node(),
            ("", "ResourceQuota") if self.old.is_none() => self.quota(),
            ("discovery.k8s.io", "EndpointSlice") => self.endpoint_slice(),
            ("networking.k8s.io", "Ingress") if self.old.is_none() => self.ingress(),
            ("networking.k8s.io", "NetworkPolicy") => self.network_policy(),
            ("storage.k8s.io", "StorageClass") => self.storage_class(),
            _ => {}
        }
    }

    fn status(&mut self, kind: &str) {
        let warnings = &mut self.warnings;
        let status = self.new.child("status");
        match kind {
            "Service" | "Ingress" => {
                for ingress in status.at(&["loadBalancer", "ingress"]).items() {
                    // The server uses the path of the item.
                    warn_of_address(&ingress.child("ip").shown_at(ingress.path.clone()), warnings);
                }
            }
            "Pod" => {
                for name in ["podIPs", "hostIPs"] {
                    status.child(name).items().for_each(|item| warn_of_address(&item.child("ip"), warnings));
                }
            }
            _ => {}
        }
    }

    /// Warns of the name of a new object, from which others derive theirs.
    fn name(&mut self, used: &str) {
        let name = self.new.at(&["metadata", "name"]);
        let problems = format::dns_label(name.text());
        if self.old.is_none() && !problems.is_empty() {
            let problems = problems.join(" ");
            let text = format!(
                "{used}, which can result in surprising behavior; a DNS label is recommended: [{problems}]"
            );
            name.warn(&mut self.warnings, &text);
        }
    }

    /// Whether it is new or its generation changed.
    fn has_new_generation(&self) -> bool {
        let generation = |object: &Cursor<'_>| object.at(&["metadata", "generation"]).int();
        self.old.as_ref().is_none_or(|old| generation(old) != generation(&self.new))
    }

    fn template(&mut self, path: &[&str]) {
        if self.has_new_generation() {
            warn_of_template(&self.new.at(path), &mut self.warnings);
        }
    }

    fn replication_controller(&mut self) {
        self.name(IN_POD_NAMES);
        // The server reads the old template.
        let of = if self.has_new_generation() { self.old.as_ref().unwrap_or(&self.new) } else { return };
        warn_of_template(&of.at(&["spec", "template"]), &mut self.warnings);
    }

    fn stateful_set(&mut self) {
        self.template(&["spec", "template"]);
        for claim in self.new.at(&["spec", "volumeClaimTemplates"]).items() {
            let path = if self.old.is_some() { claim.path.child("Spec") } else { claim.path.clone() };
            warn_of_claim(&claim.child("spec").shown_at(path), &mut self.warnings);
        }
        let limit = self.new.at(&["spec", "revisionHistoryLimit"]);
        if limit.int() < 0 {
            let text = "a negative value retains all historical revisions; a value >= 0 is recommended";
            limit.warn(&mut self.warnings, text);
        }
    }

    fn daemon_set(&mut self) {
        let template = self.new.at(&["spec", "template"]);
        if self.old.as_ref().is_none_or(|old| old.at(&["spec", "template"]).value != template.value) {
            warn_of_template(&template, &mut self.warnings);
        }
    }

    fn job(&mut self, path: &[&str]) {
        if !self.has_new_generation() {
            return;
        }
        let spec = self.new.at(path);
        if spec.text_of("completionMode") == "Indexed"
            && spec.int_of("completions") > 100_000
            && spec.int_of("parallelism") > 10_000
        {
            let text = "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes \
                        might not be able to track completedIndexes when a big number of indexes fail";
            spec.warn(&mut self.warnings, text);
        }
        warn_of_template(&spec.child("template"), &mut self.warnings);
    }

    fn cron_job(&mut self) {
        self.name(IN_POD_NAMES);
        self.job(&["spec", "jobTemplate", "spec"]);
        if self.old.is_some() && self.new.child("spec").text_of("schedule").contains("TZ") {
            self.warnings.push(
                "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see \
                 https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
                    .to_owned(),
            );
        }
    }

    fn managed_by(&self, label: &str) -> &str {
        self.new.at(&["metadata", "labels"]).text_of(label)
    }

    fn endpoints(&mut self) {
        if self.managed_by("endpoints.kubernetes.io/managed-by") == "endpoint-controller" {
            return;
        }
        for subset in self.new.child("subsets").items() {
            for name in ["addresses", "notReadyAddresses"] {
                let addresses = subset.child(name);
                addresses
                    .items()
                    .for_each(|address| warn_of_address(&address.child("ip"), &mut self.warnings));
            }
        }
    }

    fn endpoint_slice(&mut self) {
        if self.old.is_none() && self.new.text_of("addressType") == "FQDN" {
            self.warnings.push("spec.addressType: FQDN endpoints are deprecated".to_owned());
        }
        let controllers = ["endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"];
        if controllers.contains(&self.managed_by("endpointslice.kubernetes.io/managed-by")) {
            return;
        }
        for endpoint in self.new.child("endpoints").items() {
            let addresses = endpoint.child("addresses");
            addresses.items().for_each(|address| warn_of_address(&address, &mut self.warnings));
        }
    }

    fn ingress(&mut self) {
        let annotation = "kubernetes.io/ingress.class";
        if self.new.at(&["metadata", "annotations"]).has(annotation)
            && !self.new.child("spec").has("ingressClassName")
        {
            self.warnings.push(format!(
                "annotation {annotation:?} is deprecated, please use 'spec.ingressClassName' instead"
            ));
        }
    }

    fn network_policy(&mut self) {
        for (rules, peers) in [("ingress", "from"), ("egress", "to")] {
            for rule in self.new.at(&["spec", rules]).items() {
                for peer in rule.child(peers).items() {
                    let block = peer.child("ipBlock");
                    warn_of_range(&block.child("cidr"), &mut self.warnings);
                    let except = block.child("except");
                    except.items().for_each(|range| warn_of_range(&range, &mut self.warnings));
                }
            }
        }
    }

    fn node(&mut self) {
        let spec = self.new.child("spec");
        if spec.has("configSource") {
            spec.child("configSource").warn(&mut self.warnings, "the feature is removed");
        }
        let external = spec.child("externalID");
        if !external.text().is_empty() {
            external.warn(&mut self.warnings, "this field is deprecated, and is unused by Kubernetes");
        }
        spec.child("podCIDRs").items().for_each(|range| warn_of_range(&range, &mut self.warnings));
    }

    fn quota(&mut self) {
        let hard = self.new.at(&["spec", "hard"]);
        for resource in ["cpu", "memory", "storage", "ephemeral-storage"] {
            let (requests, limits) = (format!("requests.{resource}"), format!("limits.{resource}"));
            let bare = ["cpu", "memory"].contains(&resource).then_some(resource);
            let requests = [Some(requests.as_str()), bare].into_iter().flatten().find(|name| hard.has(name));
            let Some(requests) = requests.filter(|_| hard.has(&limits)) else { continue };
            let (request, limit) = (hard.child(requests), hard.child(&limits));
            if request.quantity() > limit.quantity() {
                self.warnings.push(format!(
                    "ResourceQuota {requests} ({}) should be less than {limits} ({})",
                    request.text(),
                    limit.text()
                ));
            }
        }
    }

    fn storage_class(&mut self) {
        for topology in self.new.child("allowedTopologies").items() {
            for expression in topology.child("matchLabelExpressions").items() {
                let key = expression.child("key");
                if let Some(text) = node_label::deprecated(key.text()) {
                    key.warn(&mut self.warnings, text);
                }
            }
        }
    }
}

const IN_POD_NAMES: &str = "this is used in Pod names and hostnames";

/// Warns of a fractional number of bytes.
fn warn_of_fraction(bytes: &Cursor<'_>, warnings: &mut Vec<String>) {
    let Quantity(billionths) = bytes.quantity();
    let thousandths = billionths.div_euclid(1_000_000) + i128::from(billionths.rem_euclid(1_000_000) > 0);
    if thousandths % 1000 != 0 {
        let text = format!("fractional byte value {:?} is invalid, must be an integer", bytes.text());
        bytes.warn(warnings, &text);
    }
}
