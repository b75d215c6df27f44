//! Allocation of cluster IPs and node ports. After `pkg/registry/core/service/storage/alloc.go`.

use std::{
    collections::{HashMap, HashSet},
    sync::PoisonError,
};

use baton_merge::{Arena, value::Value};

use crate::{
    field::{FieldError, FieldPath},
    kinds,
    server::{RequestTarget, Server},
    status::Failure,
    store::{ChangeKind, Key, Range, Record, Store},
};

/// The first two bytes of all cluster IPs.
const NETWORK: [u8; 2] = [10, 96];
/// The address of the API server itself.
const API_SERVER: &str = "10.96.0.1";
const PORTS: std::ops::RangeInclusive<i64> = 30000..=32767;
const ATTEMPTS: usize = 1000;

/// All allocated addresses and ports. Each write of a Service updates them from the changes in the store.
#[derive(Default)]
pub(crate) struct Allocated {
    /// The store's version up to which changes are included.
    seen: u64,
    services: HashMap<Key, Own>,
    addresses: HashMap<String, Key>,
    ports: HashMap<i64, Key>,
}

/// The addresses and ports of one Service.
#[derive(Default)]
struct Own {
    addresses: Vec<String>,
    ports: Vec<i64>,
}

impl Own {
    fn of(record: &Record) -> Self {
        let arena = Arena::new();
        let object = Value::from_text(&arena, record.text()).ok();
        let Some(spec) = object.and_then(|object| object.get("spec")) else { return Self::default() };
        let list = |name: &str| spec.get(name).and_then(|list| list.as_list()).unwrap_or_default();
        let addresses = list("clusterIPs").iter().filter_map(|address| address.as_str().map(str::to_owned));
        let ports = list("ports").iter().map(|port| port.get("nodePort"));
        let ports = ports.chain([spec.get("healthCheckNodePort")]).filter_map(number);
        Self { addresses: addresses.collect(), ports: ports.collect() }
    }
}

impl Allocated {
    fn catch_up(&mut self, store: &Store, storage: &str) {
        match store.changes_after(storage, self.seen) {
            Ok((changes, version)) => {
                for change in changes {
                    let record = (change.kind != ChangeKind::Deleted).then_some(&*change.record);
                    self.set(change.key, record);
                }
                self.seen = version;
            }
            Err(_) => {
                *self = Self::default();
                if let Ok(all) = store.list(storage, &Range::default()) {
                    all.objects.into_iter().for_each(|(key, record)| self.set(key, Some(&record)));
                    self.seen = all.version;
                }
            }
        }
    }

    fn set(&mut self, key: Key, record: Option<&Record>) {
        let before = self.services.remove(&key).unwrap_or_default();
        before.addresses.iter().for_each(|address| drop(self.addresses.remove(address)));
        before.ports.iter().for_each(|port| drop(self.ports.remove(port)));
        if let Some(own) = record.map(Own::of) {
            self.addresses.extend(own.addresses.iter().map(|address| (address.clone(), key.clone())));
            self.ports.extend(own.ports.iter().map(|port| (*port, key.clone())));
            self.services.insert(key, own);
        }
    }
}

/// Values that a Service can't get: those of others, and those that it just got.
struct Taken<'t> {
    others: &'t Allocated,
    own: Key,
    addresses: HashSet<String>,
    ports: HashSet<i64>,
    /// In a dry run, ports are made up as the server does: the ports of this Service so far.
    dry_run: Option<Vec<i64>>,
}

impl<'t> Taken<'t> {
    fn by_others(others: &'t Allocated, own: Key, dry_run: bool) -> Self {
        let addresses = HashSet::from([API_SERVER.to_owned()]);
        Self { others, own, addresses, ports: HashSet::new(), dry_run: dry_run.then(Vec::new) }
    }

    /// Takes an address. Returns whether it was free.
    fn take_address(&mut self, address: &str) -> bool {
        let is_free = self.others.addresses.get(address).is_none_or(|key| *key == self.own);
        is_free && self.addresses.insert(address.to_owned())
    }

    /// Takes a port. Returns whether it was free.
    fn take_port(&mut self, port: i64) -> bool {
        self.others.ports.get(&port).is_none_or(|key| *key == self.own) && self.ports.insert(port)
    }

    /// Whether the Service has an address already. Validation refuses a change.
    fn has_address(&self, address: &str) -> bool {
        let addresses = &self.others.addresses;
        addresses.get(address).is_some_and(|key| *key == self.own)
            || addresses.values().any(|key| *key == self.own)
    }

    fn is_port_of_other(&self, port: i64) -> bool {
        self.others.ports.get(&port).is_some_and(|key| *key != self.own)
    }

    fn address(&mut self) -> Option<String> {
        if self.dry_run.is_some() {
            return Some(format!("{}.{}.0.0", NETWORK[0], NETWORK[1]));
        }
        let random =
            || format!("{}.{}.{}.{}", NETWORK[0], NETWORK[1], fastrand::u8(..), fastrand::u8(1..255));
        (0..ATTEMPTS).map(|_| random()).find(|address| self.take_address(address))
    }

    fn port(&mut self) -> Option<i64> {
        if let Some(own) = &mut self.dry_run {
            let made_up = own.iter().max().map_or(PORTS.end() + 2, |last| last + 1);
            own.push(made_up);
            return Some(made_up);
        }
        (0..ATTEMPTS).map(|_| fastrand::i64(PORTS)).find(|port| self.take_port(*port))
    }
}

fn number(value: Option<Value<'_>>) -> Option<i64> {
    match value {
        Some(Value::Int(number)) if number != 0 => Some(number),
        _ => None,
    }
}

/// Allocates what a Service needs and lacks.
pub(crate) fn allocated<'a>(
    server: &Server,
    arena: &'a Arena,
    target: &RequestTarget,
    service: Value<'a>,
    dry_run: bool,
) -> Result<Value<'a>, Failure> {
    let text = |name: &str| service.at(&["spec", name]).and_then(|value| value.as_str()).unwrap_or_default();
    let kind = text("type");
    if kind == "ExternalName" {
        return Ok(service);
    }
    let refused = |errors: &[FieldError]| Failure::invalid("", "Service", &target.name, errors);
    let is_new = service.at(&["metadata", "resourceVersion"]).is_none();
    let errors = kinds::validate_addresses(service, is_new);
    if !errors.is_empty() {
        return Err(refused(&errors));
    }
    let mut allocated = server.services.lock().unwrap_or_else(PoisonError::into_inner);
    allocated.catch_up(&server.store, &target.resource.storage);
    let mut taken = Taken::by_others(&allocated, target.key(), dry_run);
    let full = || Failure::internal("no more addresses or ports can be allocated");
    let mut service =
        with_address(arena, service, &mut taken).map_err(|error| refused(&[error]))?.ok_or_else(full)?;
    if matches!(kind, "NodePort" | "LoadBalancer") {
        service =
            with_ports(arena, service, &mut taken).map_err(|error| refused(&[error]))?.ok_or_else(full)?;
    }
    let wants_checks = kind == "LoadBalancer" && text("externalTrafficPolicy") == "Local";
    match number(service.at(&["spec", "healthCheckNodePort"])) {
        _ if !wants_checks => {}
        None => {
            let port = taken.port().ok_or_else(full)?;
            service = service.with(arena, &["spec", "healthCheckNodePort"], Some(Value::Int(port)));
        }
        Some(port) if taken.is_port_of_other(port) => {
            let why = "provided port is already allocated";
            return Err(Failure::internal(format!(
                "failed to allocate requested HealthCheck NodePort {port}: {why}"
            )));
        }
        Some(_) => {}
    }
    Ok(service)
}

/// With a cluster IP and its family.
fn with_address<'a>(
    arena: &'a Arena,
    service: Value<'a>,
    taken: &mut Taken<'_>,
) -> Result<Option<Value<'a>>, FieldError> {
    let wanted = service.at(&["spec", "clusterIP"]).and_then(|value| value.as_str()).unwrap_or_default();
    let path = FieldPath::new("spec").child("clusterIPs");
    let address = match wanted {
        "" => match taken.address() {
            Some(address) => arena.copy_text(&address),
            None => return Ok(None),
        },
        "None" => "None",
        other if taken.has_address(other) => other,
        other => {
            let shown = [Value::String(other)];
            if !other.starts_with(&format!("{}.{}.", NETWORK[0], NETWORK[1])) {
                let detail = format!(
                    "failed to allocate IP {other}: the provided network does not match the current range"
                );
                return Err(FieldError::invalid(&path, Value::List(&shown), &detail));
            }
            if !taken.take_address(other) && taken.dry_run.is_none() {
                let detail = format!("failed to allocate IP {other}: provided IP is already allocated");
                return Err(FieldError::invalid(&path, Value::List(&shown), &detail));
            }
            other
        }
    };
    let list = |text| Value::List(arena.list([Value::String(text)]));
    let mut service = service.with(arena, &["spec", "clusterIP"], Some(Value::String(address))).with(
        arena,
        &["spec", "clusterIPs"],
        Some(list(address)),
    );
    let is_set = |service: Value<'_>, name| service.at(&["spec", name]).is_some();
    // A headless Service without a selector may have any family.
    let is_free = address == "None" && !is_set(service, "selector");
    if !is_set(service, "ipFamilyPolicy") {
        let policy = if is_free { "RequireDualStack" } else { "SingleStack" };
        service = service.with(arena, &["spec", "ipFamilyPolicy"], Some(Value::String(policy)));
    }
    if !is_set(service, "ipFamilies") {
        let is_single = service.at(&["spec", "ipFamilyPolicy"]) == Some(Value::String("SingleStack"));
        let both = [Value::String("IPv4"), Value::String("IPv6")];
        let families = if is_free && !is_single { Value::List(arena.list(both)) } else { list("IPv4") };
        service = service.with(arena, &["spec", "ipFamilies"], Some(families));
    }
    Ok(Some(service))
}

/// With a node port for each port.
fn with_ports<'a>(
    arena: &'a Arena,
    service: Value<'a>,
    taken: &mut Taken<'_>,
) -> Result<Option<Value<'a>>, FieldError> {
    let of_load_balancer = service.at(&["spec", "type"]) == Some(Value::String("LoadBalancer"));
    let allocates = service.at(&["spec", "allocateLoadBalancerNodePorts"]) != Some(Value::Bool(false));
    let ports = service.at(&["spec", "ports"]).and_then(|list| list.as_list()).unwrap_or_default();
    let has_own = service.at(&["metadata", "resourceVersion"]).is_some();
    let mut made: Vec<Value<'a>> = Vec::with_capacity(ports.len());
    for (position, port) in ports.iter().enumerate() {
        // The same port of another protocol shares the node port.
        let shared = made.iter().chain(ports).find(|other| other.get("port") == port.get("port"));
        let shared = shared.and_then(|other| number(other.get("nodePort")));
        let own = number(port.get("nodePort"));
        if let Some(own) = own {
            let path = FieldPath::new("spec").child("ports").index(position).child("nodePort");
            if !PORTS.contains(&own) {
                let detail =
                    "provided port is not in the valid range. The range of valid ports is 30000-32767";
                return Err(FieldError::invalid(&path, Value::Int(own), detail));
            }
            taken.dry_run.iter_mut().for_each(|own_ports| own_ports.push(own));
            let is_shared = made.iter().any(|other| {
                number(other.get("nodePort")) == Some(own) && other.get("port") == port.get("port")
            });
            if !taken.take_port(own) && !is_shared && (!has_own || taken.is_port_of_other(own)) {
                return Err(FieldError::invalid(
                    &path,
                    Value::Int(own),
                    "provided port is already allocated",
                ));
            }
        }
        let chosen = match own.or(shared) {
            None if of_load_balancer && !allocates => None,
            None => match taken.port() {
                Some(port) => Some(port),
                None => return Ok(None),
            },
            chosen => chosen,
        };
        made.push(match chosen {
            Some(chosen) => port.with(arena, &["nodePort"], Some(Value::Int(chosen))),
            None => *port,
        });
    }
    Ok(Some(service.with(arena, &["spec", "ports"], Some(Value::List(arena.list(made))))))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Service;
    use kube::{
        Api,
        api::{DeleteParams, Patch, PatchParams, PostParams},
    };
    use serde_json::json;

    use crate::ApiServer;

    #[tokio::test]
    async fn an_address_and_a_port_are_given_again_once_their_service_is_gone() {
        let server = ApiServer::builder().start().unwrap();
        let services: Api<Service> = Api::default_namespaced(server.client());
        let create = async |name: &str, address: &str, port: i64| {
            let ports = json!([{"port": 80, "nodePort": port}]);
            let spec = json!({"type": "NodePort", "clusterIP": address, "ports": ports});
            let service = serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap();
            let created = services.create(&PostParams::default(), &service).await;
            created.map(drop).map_err(|error| error.to_string())
        };
        create("first", "10.96.7.7", 30700).await.unwrap();
        for keeps_history in [true, false] {
            server.restart(keeps_history);
            for (address, port, what) in
                [("10.96.7.7", 30701, "provided IP"), ("10.96.7.8", 30700, "provided port")]
            {
                let refused = create("second", address, port).await.unwrap_err();
                assert!(refused.contains(&format!("{what} is already allocated")), "{refused}");
            }
        }
        services.delete("first", &DeleteParams::default()).await.unwrap();
        create("second", "10.96.7.7", 30700).await.unwrap();
    }

    #[tokio::test]
    async fn a_changed_service_cant_take_what_another_one_has() {
        let server = ApiServer::builder().start().unwrap();
        let services: Api<Service> = Api::default_namespaced(server.client());
        for (name, spec) in [
            (
                "a",
                json!({"type": "NodePort", "clusterIP": "10.96.7.7", "ports": [{"port": 80, "nodePort": 30700}]}),
            ),
            ("b", json!({"type": "NodePort", "ports": [{"port": 80, "nodePort": 30701}]})),
            ("external", json!({"type": "ExternalName", "externalName": "example.com"})),
        ] {
            let service = serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap();
            services.create(&PostParams::default(), &service).await.unwrap();
        }
        let patch = async |name: &str, spec: serde_json::Value| {
            let patched =
                services.patch(name, &PatchParams::default(), &Patch::Merge(json!({"spec": spec}))).await;
            patched.map(drop).map_err(|error| error.to_string())
        };
        let inside = |address: &str| json!({"type": "ClusterIP", "externalName": null, "clusterIP": address, "ports": [{"port": 80}]});
        let local = |port: i64| json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "healthCheckNodePort": port});
        for (name, spec, why) in [
            ("b", json!({"ports": [{"port": 80, "nodePort": 30700}]}), "provided port is already allocated"),
            (
                "external",
                inside("10.96.7.7"),
                "failed to allocate IP 10.96.7.7: provided IP is already allocated",
            ),
            ("external", inside("10.97.1.1"), "the provided network does not match the current range"),
            ("b", local(30700), "failed to allocate requested HealthCheck NodePort 30700"),
        ] {
            let refused = patch(name, spec).await.unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
        patch("external", inside("10.96.7.8")).await.unwrap();
        patch("b", json!({"ports": [{"port": 80, "nodePort": 30702}]})).await.unwrap();
        patch("a", json!({"ports": [{"port": 80, "nodePort": 30701}]})).await.unwrap();
    }
}
