//! The priority that a new pod gets from its class. After `plugin/pkg/admission/priority`.

use baton_merge::{Arena, value::Value};

use crate::{
    server::{Place, Server},
    status::Failure,
    store::{Key, Range},
};

const CLASSES: &str = "priorityclasses.scheduling.k8s.io";

/// The pod with what its class says, or the default class if it names none. Where there is none of these either, the pod is as it was.
///
/// # Errors
/// When the class that it names isn't there.
pub(crate) fn given<'a>(
    server: &Server,
    arena: &'a Arena,
    place: &Place,
    pod: Value<'a>,
) -> Result<Value<'a>, Failure> {
    let name = pod.at(&["spec", "priorityClassName"]).and_then(|name| name.as_str()).unwrap_or_default();
    let class = if name.is_empty() { default_class(server) } else { class(server, name) };
    let Some(class) = class else {
        if name.is_empty() {
            return Ok(pod);
        }
        let why = format!("no PriorityClass with name {name} was found");
        return Err(Failure::forbidden(&place.resource, &place.name, &why));
    };
    let text = |text: &str| Value::String(arena.copy_text(text));
    let mut pod = pod.with(arena, &["spec", "priority"], Some(Value::Int(class.value)));
    if name.is_empty() {
        pod = pod.with(arena, &["spec", "priorityClassName"], Some(text(&class.name)));
    }
    if pod.at(&["spec", "preemptionPolicy"]).is_none() {
        pod = pod.with(arena, &["spec", "preemptionPolicy"], Some(text(&class.preemption_policy)));
    }
    Ok(pod)
}

/// Refuses the end of a class that no cluster is without.
pub(crate) fn check_mortal(place: &Place) -> Result<(), Failure> {
    let is_class = place.resource.is("scheduling.k8s.io", "PriorityClass");
    if is_class && ["system-cluster-critical", "system-node-critical"].contains(&&*place.name) {
        let why = "this is a system priority class and cannot be deleted";
        return Err(Failure::forbidden(&place.resource, &place.name, why));
    }
    Ok(())
}

struct Class {
    name: String,
    value: i64,
    preemption_policy: String,
    is_default: bool,
}

impl Class {
    fn read(text: &str) -> Option<Self> {
        let arena = Arena::new();
        let object = Value::from_text(&arena, text).ok()?;
        let text = |path: &[&str]| object.at(path).and_then(|value| value.as_str().map(str::to_owned));
        let value = match object.get("value") {
            Some(Value::Int(value)) => value,
            _ => 0,
        };
        Some(Self {
            name: text(&["metadata", "name"])?,
            value,
            preemption_policy: text(&["preemptionPolicy"])
                .unwrap_or_else(|| "PreemptLowerPriority".to_owned()),
            is_default: object.get("globalDefault") == Some(Value::Bool(true)),
        })
    }
}

fn class(server: &Server, name: &str) -> Option<Class> {
    let key = Key { namespace: String::new(), name: name.to_owned() };
    server.store.get(CLASSES, &key).and_then(|record| Class::read(record.text()))
}

/// Of several, the lowest.
fn default_class(server: &Server) -> Option<Class> {
    let all = server.store.list(CLASSES, &Range::default()).ok()?;
    let classes = all.objects.iter().filter_map(|(_, record)| Class::read(record.text()));
    classes.filter(|class| class.is_default).min_by_key(|class| class.value)
}
