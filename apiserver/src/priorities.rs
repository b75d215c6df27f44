//! The priority of a new pod. After `plugin/pkg/admission/priority`.

use baton_merge::{Arena, value::Value};

use crate::{
    kinds::SYSTEM_CLASSES,
    server::{RequestTarget, Server},
    status::Failure,
    store::{Key, Range},
};

const CLASSES: &str = "priorityclasses.scheduling.k8s.io";

/// The default preemption policy.
pub(crate) const PREEMPTION_POLICY: &str = "PreemptLowerPriority";

const COMPUTED: &str = "must not be provided in pod spec; priority admission controller computed";

/// Sets the pod's priority by its class or the default class.
///
/// # Errors
/// When the class doesn't exist, or the pod has another priority.
pub(crate) fn with_priority<'a>(
    server: &Server,
    arena: &'a Arena,
    target: &RequestTarget,
    pod: Value<'a>,
) -> Result<Value<'a>, Failure> {
    let name = pod.at(&["spec", "priorityClassName"]).and_then(|name| name.as_str()).unwrap_or_default();
    let forbidden = |why: &str| Failure::forbidden(&target.resource, &target.name, why);
    let class = if name.is_empty() {
        default_class(server).unwrap_or_else(Class::none)
    } else {
        class(server, name)
            .ok_or_else(|| forbidden(&format!("no PriorityClass with name {name} was found")))?
    };
    match pod.at(&["spec", "priority"]) {
        Some(Value::Int(own)) if own != class.value => {
            let computed = format!("{COMPUTED} {} from the given PriorityClass name", class.value);
            return Err(forbidden(&format!("the integer value of priority ({own}) {computed}")));
        }
        _ => {}
    }
    match pod.at(&["spec", "preemptionPolicy"]).and_then(|policy| policy.as_str()) {
        Some(own) if own != class.preemption_policy => {
            let computed =
                format!("{COMPUTED} {} from the given PriorityClass name", class.preemption_policy);
            return Err(forbidden(&format!("the string value of PreemptionPolicy ({own}) {computed}")));
        }
        _ => {}
    }
    let text = |text: &str| Value::String(arena.copy_text(text));
    let pod = pod.with(arena, &["spec", "priority"], Some(Value::Int(class.value)));
    let pod = pod.with(arena, &["spec", "preemptionPolicy"], Some(text(&class.preemption_policy)));
    let gets_name = name.is_empty() && !class.name.is_empty();
    Ok(if gets_name { pod.with(arena, &["spec", "priorityClassName"], Some(text(&class.name))) } else { pod })
}

/// Refuses a second default class.
///
/// # Errors
/// When there is one.
pub(crate) fn check_default(
    server: &Server,
    target: &RequestTarget,
    class: Value<'_>,
) -> Result<(), Failure> {
    if class.get("globalDefault") != Some(Value::Bool(true)) {
        return Ok(());
    }
    match default_class(server).filter(|other| other.name != target.name) {
        Some(other) => {
            let why = format!(
                "PriorityClass {} is already marked as default. Only one default can exist",
                other.name
            );
            Err(Failure::forbidden(&target.resource, &target.name, &why))
        }
        None => Ok(()),
    }
}

/// Refuses the deletion of a system class.
pub(crate) fn check_deletable(target: &RequestTarget) -> Result<(), Failure> {
    let is_class = target.resource.is("scheduling.k8s.io", "PriorityClass");
    if is_class && SYSTEM_CLASSES.iter().any(|(name, ..)| *name == target.name) {
        let why = "this is a system priority class and cannot be deleted";
        return Err(Failure::forbidden(&target.resource, &target.name, why));
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
    /// The values without any class.
    fn none() -> Self {
        let preemption_policy = PREEMPTION_POLICY.to_owned();
        Self { name: String::new(), value: 0, preemption_policy, is_default: false }
    }

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
            preemption_policy: text(&["preemptionPolicy"]).unwrap_or_else(|| PREEMPTION_POLICY.to_owned()),
            is_default: object.get("globalDefault") == Some(Value::Bool(true)),
        })
    }
}

fn class(server: &Server, name: &str) -> Option<Class> {
    let key = Key { namespace: String::new(), name: name.to_owned() };
    server.store.get(CLASSES, &key).and_then(|record| Class::read(record.text()))
}

/// The lowest of several.
fn default_class(server: &Server) -> Option<Class> {
    let all = server.store.list(CLASSES, &Range::default()).ok()?;
    let classes = all.objects.iter().filter_map(|(_, record)| Class::read(record.text()));
    classes.filter(|class| class.is_default).min_by_key(|class| class.value)
}
