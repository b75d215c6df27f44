//! The Service in front of a Workload's pods.
//!
//! Only what users need to set: Baton sets the selector, and the cluster sets the addresses.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::nulls::{absent, texts};

/// The Service in front of a Workload's pods. It has the Workload's name and selects the Workload's pods.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[x_kube(
    validation = Rule::new("has(self.ports) && dyn(self.ports) != null && size(self.ports) > 0 || has(self.headless) && self.headless")
        .message("a Service needs at least one port: add one to ports, or set headless")
        .field_path(".ports")
        .reason(Reason::FieldValueRequired),
    validation = Rule::new(
        "!has(self.ports) || dyn(self.ports) == null || size(self.ports) <= 1 || self.ports.all(port, has(port.name))"
    )
        .message("with more than one port, each needs a name: set ports[].name")
        .field_path(".ports"),
    validation = Rule::new(
        "!has(self.ports) || dyn(self.ports) == null || self.ports.all(a, !has(a.name) \
         || self.ports.exists_one(b, has(b.name) && a.name == b.name))"
    )
        .message("two ports have the same name: give each port another name")
        .field_path(".ports"),
    validation = Rule::new(
        "(has(self.type) && self.type in ['NodePort', 'LoadBalancer']) || !has(self.ports) \
         || dyn(self.ports) == null || self.ports.all(port, !has(port.nodePort))"
    )
        .message("nodePort needs the type NodePort or LoadBalancer: remove ports[].nodePort, or set the type")
        .field_path(".ports"),
    validation = Rule::new(
        "!(has(self.headless) && self.headless) || !has(self.type) || self.type == 'ClusterIP'"
    )
        .message(
            "a headless Service has no address that is reachable from outside: set the type to ClusterIP, or remove \
             headless"
        )
        .field_path(".headless"),
    validation = Rule::new(
        "(has(self.type) && self.type in ['NodePort', 'LoadBalancer']) \
         || !has(self.externalTrafficPolicy)"
    )
        .message("externalTrafficPolicy needs the type NodePort or LoadBalancer: remove it, or set the type")
        .field_path(".externalTrafficPolicy"),
    validation = Rule::new("(has(self.type) && self.type == 'LoadBalancer') || !has(self.loadBalancerClass)")
        .message("loadBalancerClass needs the type LoadBalancer: remove it, or set the type")
        .field_path(".loadBalancerClass"),
    validation = Rule::new(
        "(has(self.type) && self.type == 'LoadBalancer') || !has(self.loadBalancerSourceRanges) \
         || dyn(self.loadBalancerSourceRanges) == null"
    )
        .message("loadBalancerSourceRanges needs the type LoadBalancer: remove it, or set the type")
        .field_path(".loadBalancerSourceRanges"),
    validation = Rule::new(
        "!has(self.healthCheckNodePort) || (has(self.type) && self.type == 'LoadBalancer') \
         && has(self.externalTrafficPolicy) && self.externalTrafficPolicy == 'Local'"
    )
        .message(
            "healthCheckNodePort needs the type LoadBalancer and externalTrafficPolicy Local: remove it, \
             or set both"
        )
        .field_path(".healthCheckNodePort"),
    validation = Rule::new(
        "!has(self.sessionAffinityTimeoutSeconds) \
         || has(self.sessionAffinity) && self.sessionAffinity == 'ClientIP'"
    )
        .message("sessionAffinityTimeoutSeconds needs sessionAffinity ClientIP: remove it, or set that")
        .field_path(".sessionAffinityTimeoutSeconds"),
    validation = Rule::new(
        "!has(self.ipFamilies) || dyn(self.ipFamilies) == null || size(self.ipFamilies) <= 1 \
         || has(self.ipFamilyPolicy) && self.ipFamilyPolicy != 'SingleStack'"
    )
        .message(
            "two ipFamilies need ipFamilyPolicy PreferDualStack or RequireDualStack: set it, or remove one \
             family"
        )
        .field_path(".ipFamilies"),
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServiceSpec {
    /// Where clients can reach the Service from: `ClusterIP` from inside the cluster, `NodePort` also at a port of every node,
    /// `LoadBalancer` also through a load balancer of the platform. If absent, `ClusterIP`.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ServiceType")]
    pub type_: Option<ServiceType>,

    /// The ports of the Service, one entry for each port number and protocol. Several teams may each apply their own. A Service
    /// that isn't headless needs at least one.
    #[serde(default, deserialize_with = "absent", skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["port".into(), "protocol".into()]))]
    #[schemars(length(max = 100))]
    pub ports: Vec<ServicePort>,

    /// Labels for the Service object itself, in addition to those that Baton sets.
    #[serde(default, deserialize_with = "texts", skip_serializing_if = "BTreeMap::is_empty")]
    #[x_kube(merge_strategy = MapMerge::Granular)]
    pub labels: BTreeMap<String, String>,

    /// Annotations for the Service object itself, such as the settings that a platform's load balancer reads.
    #[serde(default, deserialize_with = "texts", skip_serializing_if = "BTreeMap::is_empty")]
    #[x_kube(merge_strategy = MapMerge::Granular)]
    pub annotations: BTreeMap<String, String>,

    /// Whether the Service has no address of its own, so that its name resolves to the pods' addresses. Only with the type
    /// `ClusterIP`. If absent, false. It can't be changed while the Service exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub headless: Option<bool>,

    /// Whether the Service's name also resolves to pods that aren't ready yet, for headless Services whose members find each other
    /// while they start. If absent, false.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publish_not_ready_addresses: Option<bool>,

    /// The address ranges from which clients may reach the load balancer, in CIDR notation such as `10.0.0.0/8`.
    /// If absent, all. Several teams may each apply their own. Only with the type `LoadBalancer`.
    #[serde(default, deserialize_with = "absent", skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Set)]
    #[schemars(length(max = 500))]
    pub load_balancer_source_ranges: Vec<String>,

    /// The implementation that provides the load balancer, such as `example.com/internal`. If absent, the platform's default. Only
    /// with the type `LoadBalancer`. It can't be changed later.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub load_balancer_class: Option<String>,

    /// Where traffic from outside the cluster may go: `Cluster` (if absent) to any pod, `Local` only to pods on the node that it
    /// arrives at, which keeps the client's address. Only with the types `NodePort` and `LoadBalancer`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "TrafficPolicy")]
    pub external_traffic_policy: Option<TrafficPolicy>,

    /// Where traffic from inside the cluster may go: `Cluster` (if absent) to any pod, `Local` only to pods on the client's node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "TrafficPolicy")]
    pub internal_traffic_policy: Option<TrafficPolicy>,

    /// Which ready pods to prefer: `PreferSameZone` those in the client's zone, `PreferSameNode` those on the client's node.
    /// `PreferClose` is the older name of `PreferSameZone`. If absent, none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "TrafficDistribution")]
    pub traffic_distribution: Option<TrafficDistribution>,

    /// Whether a client's connections all go to the same pod: `ClientIP` by the client's address; `None` (if absent) spreads them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SessionAffinity")]
    pub session_affinity: Option<SessionAffinity>,

    /// How long a client's connections go to the same pod, in seconds, from 1 to 86400 (a day). If absent, 10800 (three hours). Only
    /// with `sessionAffinity: ClientIP`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86400))]
    pub session_affinity_timeout_seconds: Option<i32>,

    /// The port of every node at which the load balancer checks whether the node has pods of this Service. If absent, the API
    /// server picks one. Only with the type `LoadBalancer` and `externalTrafficPolicy: Local`. It can't be changed later.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub health_check_node_port: Option<i32>,

    /// How many IP families the Service uses: `SingleStack` one, `PreferDualStack` both if the cluster has both, `RequireDualStack`
    /// both or none. If absent, a new Service has one, and an existing Service keeps what it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "IpFamilyPolicy")]
    pub ip_family_policy: Option<IpFamilyPolicy>,

    /// The IP families in order of preference. The first can't be changed later. If absent, the cluster's order.
    #[serde(default, deserialize_with = "absent", skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    #[schemars(length(max = 2))]
    pub ip_families: Vec<IpFamily>,
}

/// A port of a Service.
#[derive(Clone, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServicePort {
    /// A name for the port, such as `http`: lower case letters, digits and `-`. With more than one port, each needs its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"))]
    pub name: Option<String>,

    /// The port number of the Service. Together with `protocol` it identifies the entry.
    #[schemars(range(min = 1, max = 65535))]
    pub port: i32,

    /// The protocol. Together with `port` it identifies the entry.
    #[serde(default)]
    pub protocol: Protocol,

    /// The port of the pods, by number or by its name in the template. If absent, the same number as `port`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "crate::schema::port_or_name")]
    pub target_port: Option<IntOrString>,

    /// The port of every node that forwards to this port. If absent, the API server picks one. Only with the types `NodePort` and
    /// `LoadBalancer`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub node_port: Option<i32>,

    /// The application protocol of this port, for load balancers and meshes that use it: an IANA service name such as `https`,
    /// `kubernetes.io/h2c`, `kubernetes.io/ws` or `kubernetes.io/wss`, or a prefixed name of an implementation.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1))]
    pub app_protocol: Option<String>,
}

/// Where clients can reach a Service from.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum ServiceType {
    /// From inside the cluster.
    #[default]
    #[serde(rename = "ClusterIP")]
    ClusterIp,
    /// Also at a port of every node.
    NodePort,
    /// Also through a load balancer of the platform.
    LoadBalancer,
}

/// The protocol of a Service's port.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Protocol {
    /// TCP.
    #[default]
    Tcp,
    /// UDP.
    Udp,
    /// SCTP.
    Sctp,
}

/// Where traffic of a Service may go.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum TrafficPolicy {
    /// To any pod.
    #[default]
    Cluster,
    /// Only to pods on the same node.
    Local,
}

/// Which pods a Service prefers.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum TrafficDistribution {
    /// Those in the client's zone.
    PreferSameZone,
    /// Those on the client's node.
    PreferSameNode,
    /// The older name of [`PreferSameZone`](Self::PreferSameZone).
    PreferClose,
}

/// Whether a client's connections all go to the same pod.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum SessionAffinity {
    /// No: they are spread.
    #[default]
    None,
    /// Yes, by the client's address.
    #[serde(rename = "ClientIP")]
    ClientIp,
}

/// How many IP families a Service uses.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum IpFamilyPolicy {
    /// One.
    #[default]
    SingleStack,
    /// Both, where the cluster has both.
    PreferDualStack,
    /// Both, or not at all.
    RequireDualStack,
}

/// An IP family.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, JsonSchema, PartialEq, Serialize)]
pub enum IpFamily {
    /// IPv4.
    #[serde(rename = "IPv4")]
    Ipv4,
    /// IPv6.
    #[serde(rename = "IPv6")]
    Ipv6,
}
