//! Warnings about services. After `k8s.io/kubernetes/pkg/api/service/warnings.go`.

use super::{warn_of_address, warn_of_range};
use crate::kinds::cursor::Cursor;

/// Warns of fields without effect, and of uncommon addresses.
pub(super) fn warn_of_service(service: &Cursor<'_>, warnings: &mut Vec<String>) {
    let spec = service.child("spec");
    let hints = "service.kubernetes.io/topology-aware-hints";
    if service.at(&["metadata", "annotations"]).has(hints) {
        let mode = "service.kubernetes.io/topology-mode";
        warnings.push(format!("annotation {hints} is deprecated, please use {mode} instead"));
    }
    let address = spec.text_of("clusterIP");
    if !address.is_empty() && address != "None" {
        spec.child("clusterIPs").items().for_each(|address| warn_of_address(&address, warnings));
    }
    let kind = spec.text_of("type");
    let is_external = kind == "ExternalName";
    let external = spec.child("externalIPs");
    if kind == "ClusterIP" && address == "None" {
        let ignored = [
            ("loadBalancerIP", !spec.text_of("loadBalancerIP").is_empty()),
            ("externalIPs", external.len() > 0),
            ("SessionAffinity", spec.text_of("sessionAffinity") != "None"),
        ];
        let ignored = ignored.iter().filter(|(_, is_set)| *is_set);
        warnings.extend(ignored.map(|(name, _)| format!("spec.{name} is ignored for headless services")));
    } else if external.len() > 0 && !is_external {
        let text = "spec.externalIPs is deprecated and may no longer be implemented in some clusters";
        warnings.push(text.to_owned());
    }
    external.items().for_each(|address| warn_of_address(&address, warnings));
    warn_of_address(&spec.child("loadBalancerIP"), warnings);
    spec.child("loadBalancerSourceRanges").items().for_each(|range| warn_of_range(&range, warnings));
    if is_external && external.len() > 0 {
        warnings.push(r#"spec.externalIPs is ignored when spec.type is "ExternalName""#.to_owned());
    }
    if !is_external && !spec.text_of("externalName").is_empty() {
        warnings.push(r#"spec.externalName is ignored when spec.type is not "ExternalName""#.to_owned());
    }
    let distribution = spec.child("trafficDistribution");
    if distribution.text() == "PreferClose" {
        distribution.warn(warnings, r#""PreferClose" is deprecated; use "PreferSameZone""#);
    }
}
