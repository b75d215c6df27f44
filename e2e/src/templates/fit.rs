//! Rules between the parts of a template: mounts and their volumes, ports and their names, and fields that exclude each other. What
//! the generator rarely gets wrong is left to the API server.

use std::collections::BTreeSet;

use serde_json::Value;

/// Removes from a Workload's spec what breaks a rule.
pub(super) fn fit(spec: &mut Value) {
    if let Some(service) = spec.get_mut("service") {
        let is_sticky = service["sessionAffinity"] == "ClientIP";
        let is_outside = service["type"] == "NodePort" || service["type"] == "LoadBalancer";
        remove(
            service,
            [("sessionAffinityTimeoutSeconds", !is_sticky), ("externalTrafficPolicy", !is_outside)],
        );
    }
    let Some(pod) = spec.pointer_mut("/template/spec") else { return };
    let volumes = |is_wanted: &dyn Fn(&Value) -> bool| -> BTreeSet<String> {
        let volumes = pod["volumes"].as_array().into_iter().flatten();
        volumes
            .filter(|volume| is_wanted(volume))
            .filter_map(|volume| volume["name"].as_str().map(str::to_owned))
            .collect()
    };
    let all = volumes(&|_| true);
    let claims =
        volumes(&|volume| volume["persistentVolumeClaim"].is_object() || volume["ephemeral"].is_object());
    for list in ["containers", "initContainers"] {
        for container in pod.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            fit_container(container, &all, &claims);
        }
    }
    let has = |name: &str| pod[name] == true;
    let on_host = ["hostNetwork", "hostPID", "hostIPC"].into_iter().any(has);
    let excluded = [
        ("hostUsers", on_host),
        ("shareProcessNamespace", has("hostPID")),
        ("hostnameOverride", has("hostNetwork") || has("setHostnameAsFQDN")),
        ("resources", !pod["os"].is_null()),
    ];
    remove(pod, excluded);
}

fn fit_container(container: &mut Value, volumes: &BTreeSet<String>, claims: &BTreeSet<String>) {
    let is_of = |item: &Value, names: &BTreeSet<String>| {
        item["name"].as_str().is_some_and(|name| names.contains(name))
    };
    let mut mounted = BTreeSet::new();
    if let Some(mounts) = container.get_mut("volumeMounts").and_then(Value::as_array_mut) {
        mounts.retain(|mount| is_of(mount, volumes));
        mounted.extend(mounts.iter().filter_map(|mount| mount["name"].as_str().map(str::to_owned)));
    }
    if let Some(devices) = container.get_mut("volumeDevices").and_then(Value::as_array_mut) {
        // A volume is either mounted or a device, and a device has one path.
        devices.retain(|device| {
            is_of(device, claims) && mounted.insert(device["name"].as_str().unwrap_or_default().to_owned())
        });
    }
    let mut names = BTreeSet::new();
    for port in container.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        let name = port["name"].as_str().unwrap_or_default().to_owned();
        let is_taken = !name.is_empty() && !names.insert(name);
        remove(port, [("name", is_taken)]);
    }
    if let Some(security) = container.get_mut("securityContext") {
        let privileged = security["privileged"] == true;
        remove(security, [("allowPrivilegeEscalation", privileged)]);
    }
}

fn remove<const N: usize>(object: &mut Value, fields: [(&str, bool); N]) {
    if let Some(members) = object.as_object_mut() {
        for (name, _) in fields.into_iter().filter(|(_, excluded)| *excluded) {
            members.remove(name);
        }
    }
}
