//! What the server hands out to Services: addresses in the cluster and ports of the nodes. After
//! `pkg/registry/core/service/storage/alloc.go`.

use std::collections::HashSet;

use baton_merge::{Arena, value::Value};

use crate::{
    field::{FieldError, FieldPath},
    kinds,
    server::{Place, Server},
    status::Failure,
    store::{Key, Range},
};

/// The first two bytes of all addresses.
const NETWORK: [u8; 2] = [10, 96];
/// The address of the API server itself.
const API_SERVER: &str = "10.96.0.1";
const PORTS: std::ops::RangeInclusive<i64> = 30000..=32767;
const ATTEMPTS: usize = 1000;

/// What other Services have.
#[derive(Default)]
struct Taken {
    addresses: HashSet<String>,
    ports: HashSet<i64>,
    /// In a dry run nothing is chosen, but made up as the server does: the ports of this Service up to now.
    dry_run: Option<Vec<i64>>,
}

impl Taken {
    fn by_others(server: &Server, storage: &str, own: &Key) -> Self {
        let mut taken = Self::default();
        taken.addresses.insert(API_SERVER.to_owned());
        let listed = server.store.list(storage, &Range::default());
        for (_, record) in listed.iter().flat_map(|snapshot| &snapshot.objects).filter(|(key, _)| key != own)
        {
            let arena = Arena::new();
            let Ok(object) = Value::from_text(&arena, record.text()) else { continue };
            let Some(spec) = object.get("spec") else { continue };
            let addresses = spec.get("clusterIPs").and_then(|list| list.as_list()).unwrap_or_default();
            taken
                .addresses
                .extend(addresses.iter().filter_map(|address| address.as_str().map(str::to_owned)));
            let ports = spec.get("ports").and_then(|list| list.as_list()).unwrap_or_default();
            let ports =
                ports.iter().map(|port| port.get("nodePort")).chain([spec.get("healthCheckNodePort")]);
            taken.ports.extend(ports.filter_map(number));
        }
        taken
    }

    fn address(&mut self) -> Option<String> {
        if self.dry_run.is_some() {
            return Some(format!("{}.{}.0.0", NETWORK[0], NETWORK[1]));
        }
        let random =
            || format!("{}.{}.{}.{}", NETWORK[0], NETWORK[1], fastrand::u8(..), fastrand::u8(1..255));
        (0..ATTEMPTS).map(|_| random()).find(|address| self.addresses.insert(address.clone()))
    }

    fn port(&mut self) -> Option<i64> {
        if let Some(own) = &mut self.dry_run {
            let made_up = own.iter().max().map_or(PORTS.end() + 2, |last| last + 1);
            own.push(made_up);
            return Some(made_up);
        }
        (0..ATTEMPTS).map(|_| fastrand::i64(PORTS)).find(|port| self.ports.insert(*port))
    }
}

fn number(value: Option<Value<'_>>) -> Option<i64> {
    match value {
        Some(Value::Int(number)) if number != 0 => Some(number),
        _ => None,
    }
}

/// A Service with what it wants and doesn't have yet.
pub(crate) fn allocated<'a>(
    server: &Server,
    arena: &'a Arena,
    place: &Place,
    service: Value<'a>,
    dry_run: bool,
) -> Result<Value<'a>, Failure> {
    let text = |name: &str| service.at(&["spec", name]).and_then(|value| value.as_str()).unwrap_or_default();
    let kind = text("type");
    if kind == "ExternalName" {
        return Ok(service);
    }
    let refused = |errors: &[FieldError]| Failure::invalid("", "Service", &place.name, errors);
    let is_new = service.at(&["metadata", "resourceVersion"]).is_none();
    let errors = kinds::validate_addresses(service, is_new);
    if !errors.is_empty() {
        return Err(refused(&errors));
    }
    let mut taken = Taken::by_others(server, &place.resource.storage, &place.key());
    taken.dry_run = dry_run.then(Vec::new);
    let full = || Failure::internal("no more addresses or ports can be allocated");
    let mut service =
        with_address(arena, service, &mut taken).map_err(|error| refused(&[error]))?.ok_or_else(full)?;
    if matches!(kind, "NodePort" | "LoadBalancer") {
        service =
            with_ports(arena, service, &mut taken).map_err(|error| refused(&[error]))?.ok_or_else(full)?;
    }
    let wants_checks = kind == "LoadBalancer" && text("externalTrafficPolicy") == "Local";
    if wants_checks && number(service.at(&["spec", "healthCheckNodePort"])).is_none() {
        let port = taken.port().ok_or_else(full)?;
        service = service.with(arena, &["spec", "healthCheckNodePort"], Some(Value::Int(port)));
    }
    Ok(service)
}

/// With an address of its own, and the family of it.
fn with_address<'a>(
    arena: &'a Arena,
    service: Value<'a>,
    taken: &mut Taken,
) -> Result<Option<Value<'a>>, FieldError> {
    let wanted = service.at(&["spec", "clusterIP"]).and_then(|value| value.as_str()).unwrap_or_default();
    let has_own = service.at(&["metadata", "resourceVersion"]).is_some();
    let path = FieldPath::new("spec").child("clusterIPs");
    let address = match wanted {
        "" => match taken.address() {
            Some(address) => arena.copy_text(&address),
            None => return Ok(None),
        },
        "None" => "None",
        other if has_own => other,
        other => {
            let shown = [Value::String(other)];
            if !other.starts_with(&format!("{}.{}.", NETWORK[0], NETWORK[1])) {
                let detail = format!(
                    "failed to allocate IP {other}: the provided network does not match the current range"
                );
                return Err(FieldError::invalid(&path, Value::List(&shown), &detail));
            }
            if !taken.addresses.insert(other.to_owned()) && taken.dry_run.is_none() {
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
    // Who picks no pods and has no address may have any family.
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

/// With a port of the nodes for each port that lacks one.
fn with_ports<'a>(
    arena: &'a Arena,
    service: Value<'a>,
    taken: &mut Taken,
) -> Result<Option<Value<'a>>, FieldError> {
    let of_load_balancer = service.at(&["spec", "type"]) == Some(Value::String("LoadBalancer"));
    let allocates = service.at(&["spec", "allocateLoadBalancerNodePorts"]) != Some(Value::Bool(false));
    let ports = service.at(&["spec", "ports"]).and_then(|list| list.as_list()).unwrap_or_default();
    let has_own = service.at(&["metadata", "resourceVersion"]).is_some();
    let mut made: Vec<Value<'a>> = Vec::with_capacity(ports.len());
    for (position, port) in ports.iter().enumerate() {
        // The same port by another protocol is reached at the same port of the nodes.
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
            if !taken.ports.insert(own) && !is_shared && !has_own {
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
