//! The fields that the server drops from a Service whose type changes, in the same write, whoever owns them:
//! `dropTypeDependentFields` in pkg/registry/core/service/strategy.go. The owners stay in `managedFields` until the next
//! write.

use crate::{
    Arena,
    value::{Map, Value},
};

/// Whether a Service needs some fields.
type Needs = fn(Value<'_>) -> bool;

/// Fields of the spec that are dropped if the old Service needs them and the new one doesn't. Those of a row are dropped
/// together, and only if the write doesn't change them.
const TYPE_DEPENDENT: &[(Needs, &[&str])] = &[
    (needs_address, &["clusterIP", "clusterIPs"]),
    (needs_address, &["ipFamilies"]),
    (needs_address, &["ipFamilyPolicy"]),
    (needs_address, &["internalTrafficPolicy"]),
    (needs_health_check, &["healthCheckNodePort"]),
    (is_load_balancer, &["allocateLoadBalancerNodePorts"]),
    (is_load_balancer, &["loadBalancerClass"]),
    (is_external, &["externalTrafficPolicy"]),
];
const PORTS: [&str; 2] = ["spec", "ports"];
const LOAD_BALANCER: [&str; 2] = ["status", "loadBalancer"];

/// Drops the fields of an updated Service that only its old type needed.
pub fn without_what_the_type_lacks<'a>(arena: &'a Arena, new: Value<'a>, old: Value<'a>) -> Value<'a> {
    let mut service = new;
    for (needs, fields) in TYPE_DEPENDENT {
        let is_unchanged = |field: &&str| new.at(&["spec", field]) == old.at(&["spec", field]);
        if needs(old) && !needs(new) && fields.iter().all(is_unchanged) {
            for field in fields.iter().filter(|field| new.at(&["spec", field]).is_some()) {
                service = service.with(arena, &["spec", field], None);
            }
        }
    }
    let known: Vec<_> = node_ports(old).collect();
    let ports = || node_ports(new).collect::<Vec<_>>();
    if needs_node_ports(old) && !needs_node_ports(new) && ports().iter().all(|port| known.contains(port)) {
        let ports = items(service, &PORTS).iter().map(|port| match port.get("nodePort") {
            Some(_) => port.with(arena, &["nodePort"], None),
            None => *port,
        });
        service = service.with(arena, &PORTS, Some(Value::List(arena.list(ports))));
    }
    if !is_load_balancer(new) && new.at(&LOAD_BALANCER).is_some() {
        service = service.with(arena, &LOAD_BALANCER, Some(Value::Map(Map::default())));
    }
    service
}

/// Drops the settings of an affinity that is `None`: `SetDefaults_Service` in pkg/apis/core/v1/defaults.go.
pub fn without_unused_affinity<'a>(arena: &'a Arena, service: Value<'a>) -> Value<'a> {
    match service.at(&["spec", "sessionAffinity"]) {
        Some(Value::String("None")) => service.with(arena, &["spec", "sessionAffinityConfig"], None),
        _ => service,
    }
}

/// The type, by default `ClusterIP`.
fn type_of(service: Value<'_>) -> &str {
    match service.at(&["spec", "type"]).and_then(|value| value.as_str()) {
        None | Some("") => "ClusterIP",
        Some(of_type) => of_type,
    }
}

fn needs_address(service: Value<'_>) -> bool {
    type_of(service) != "ExternalName"
}

fn is_load_balancer(service: Value<'_>) -> bool {
    type_of(service) == "LoadBalancer"
}

fn needs_node_ports(service: Value<'_>) -> bool {
    matches!(type_of(service), "NodePort" | "LoadBalancer")
}

fn needs_health_check(service: Value<'_>) -> bool {
    let policy = service.at(&["spec", "externalTrafficPolicy"]);
    is_load_balancer(service) && policy.and_then(|policy| policy.as_str()) == Some("Local")
}

/// Whether it has external traffic.
fn is_external(service: Value<'_>) -> bool {
    let has_addresses = || !items(service, &["spec", "externalIPs"]).is_empty();
    needs_node_ports(service) || (type_of(service) == "ClusterIP" && has_addresses())
}

fn items<'a>(object: Value<'a>, path: &[&str]) -> &'a [Value<'a>] {
    object.at(path).and_then(|list| list.as_list()).unwrap_or_default()
}

fn node_ports(service: Value<'_>) -> impl Iterator<Item = Value<'_>> {
    let ports = items(service, &PORTS).iter().filter_map(|port| port.get("nodePort"));
    ports.filter(|port| *port != Value::Int(0))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn cleared(old: &Json, new: &Json) -> Json {
        let arena = Arena::new();
        let [new, old] = [new, old].map(|object| Value::from_json(&arena, object).unwrap());
        without_what_the_type_lacks(&arena, new, old).to_json()
    }

    fn load_balancer() -> Json {
        json!({
            "spec": {
                "type": "LoadBalancer", "clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"],
                "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster", "externalTrafficPolicy": "Local",
                "healthCheckNodePort": 30001, "allocateLoadBalancerNodePorts": true, "loadBalancerClass": "example.com/a",
                "sessionAffinity": "None", "ports": [{"port": 80, "nodePort": 30080}, {"port": 81}],
            },
            "status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.1"}]}},
        })
    }

    fn of_type(of_type: Option<&str>) -> Json {
        let mut service = load_balancer();
        match of_type {
            Some(of_type) => service["spec"]["type"] = of_type.into(),
            None => drop(service["spec"].as_object_mut().unwrap().remove("type")),
        }
        service
    }

    #[test]
    fn each_type_keeps_what_it_needs() {
        let cases: [(Option<&str>, &[&str]); 4] = [
            (Some("LoadBalancer"), &[]),
            (
                Some("NodePort"),
                &["healthCheckNodePort", "allocateLoadBalancerNodePorts", "loadBalancerClass"],
            ),
            (
                None,
                &[
                    "healthCheckNodePort",
                    "allocateLoadBalancerNodePorts",
                    "loadBalancerClass",
                    "externalTrafficPolicy",
                ],
            ),
            (
                Some("ExternalName"),
                &[
                    "clusterIP",
                    "clusterIPs",
                    "ipFamilies",
                    "ipFamilyPolicy",
                    "internalTrafficPolicy",
                    "healthCheckNodePort",
                    "allocateLoadBalancerNodePorts",
                    "loadBalancerClass",
                    "externalTrafficPolicy",
                ],
            ),
        ];
        for (wanted, gone) in cases {
            let mut expected = of_type(wanted);
            let spec = expected["spec"].as_object_mut().unwrap();
            spec.retain(|field, _| !gone.contains(&field.as_str()));
            if !matches!(wanted, Some("LoadBalancer" | "NodePort")) {
                spec["ports"][0].as_object_mut().unwrap().remove("nodePort");
            }
            if wanted != Some("LoadBalancer") {
                expected["status"]["loadBalancer"] = json!({});
            }
            assert_eq!(cleared(&load_balancer(), &of_type(wanted)), expected, "{wanted:?}");
        }
    }

    #[test]
    fn what_the_write_changes_stays_for_the_validation() {
        let mut new = of_type(Some("ClusterIP"));
        new["spec"]["externalTrafficPolicy"] = json!("Cluster");
        new["spec"]["ports"][0]["nodePort"] = json!(30081);
        let cleared = cleared(&load_balancer(), &new);
        assert_eq!(cleared["spec"]["externalTrafficPolicy"], "Cluster");
        assert_eq!(cleared["spec"]["ports"], new["spec"]["ports"]);
    }

    #[test]
    fn the_settings_of_an_affinity_go_with_it() {
        let arena = Arena::new();
        let stored = |affinity: &str| {
            let config = json!({"clientIP": {"timeoutSeconds": 5}});
            let service = json!({"spec": {"sessionAffinity": affinity, "sessionAffinityConfig": config}});
            without_unused_affinity(&arena, Value::from_json(&arena, &service).unwrap()).to_json()
        };
        assert_eq!(stored("None"), json!({"spec": {"sessionAffinity": "None"}}));
        assert!(stored("ClientIP")["spec"].get("sessionAffinityConfig").is_some());
    }
}
