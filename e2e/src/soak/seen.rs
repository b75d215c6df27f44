//! What a stored write shows, as far as the number of replicas is concerned. Read from the objects as the API server gives
//! them, not by the operator's own reader, so that one doesn't share the other's mistakes.

use std::{fmt, time::Duration};

use serde_json::Value;

/// A stored write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// The resourceVersion, which is etcd's revision: of all writes, whatever of, the later has the greater one.
    pub revision: u64,
    /// When it was seen, since the soak began.
    pub at: Duration,
    /// The Workload that it is about.
    pub workload: String,
    /// What it shows.
    pub seen: Seen,
}

/// An object as a write left it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The Workload itself.
    Workload {
        /// Its `metadata.generation`: the version of its spec.
        generation: i64,
        /// What that version asks for.
        wish: Wish,
        /// The version that the operator has last reported on; 0 if none.
        observed: i64,
        /// The phase of the handover that the operator reports.
        phase: Option<String>,
    },
    /// Its Deployment.
    Deployment {
        /// `spec.replicas`.
        replicas: i32,
        /// Who owns that field.
        holders: Vec<Holder>,
    },
    /// An autoscaler whose target is the Deployment.
    Autoscaler {
        /// Its name.
        name: String,
        /// Between which numbers it may choose.
        limits: Limits,
    },
    /// An autoscaler that was deleted.
    AutoscalerGone {
        /// Its name.
        name: String,
    },
}

/// What a version of a Workload's spec says of the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    /// `spec.replicas`.
    pub replicas: Option<i32>,
    /// `spec.autoscaling`.
    pub scaling: Scaling,
}

/// `spec.autoscaling`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// Absent.
    Nobody,
    /// An autoscaler of Baton's.
    Own(Limits),
    /// An autoscaler of somebody else's.
    External,
}

/// Between which numbers an autoscaler may choose, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `minReplicas`.
    pub min: i32,
    /// `maxReplicas`.
    pub max: i32,
}

/// An owner of `spec.replicas`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// `baton`, by apply.
    Baton,
    /// `handover-to-hpa`, by apply.
    Temporary,
    /// Whoever wrote the `scale` subresource.
    Scale(String),
    /// Anybody else.
    Other(String),
}

impl Limits {
    /// Whether an autoscaler with these limits may choose this number.
    pub fn contain(&self, number: i32) -> bool {
        (self.min..=self.max).contains(&number)
    }
}

impl Wish {
    /// The number that counts as long as this is the spec: where nobody scales.
    pub fn fixed(&self) -> Option<i32> {
        self.replicas.filter(|_| self.scaling == Scaling::Nobody)
    }

    /// The number with which a Deployment is created.
    pub fn start(&self) -> Option<i32> {
        self.replicas.or(match self.scaling {
            Scaling::Own(limits) => Some(limits.min),
            Scaling::Nobody | Scaling::External => None,
        })
    }
}

/// A Workload. `None` where it isn't one.
pub(super) fn workload(object: &Value) -> Option<Seen> {
    let (spec, status) = (&object["spec"], &object["status"]);
    let scaling = match &spec["autoscaling"] {
        Value::Null => Scaling::Nobody,
        autoscaling if !autoscaling["external"].is_null() => Scaling::External,
        autoscaling => Scaling::Own(limits(autoscaling)?),
    };
    let phase = status["replicaOwnership"]["phase"].as_str().map(str::to_owned);
    Some(Seen::Workload {
        generation: object["metadata"]["generation"].as_i64()?,
        wish: Wish { replicas: number(&spec["replicas"]), scaling },
        observed: status["observedGeneration"].as_i64().unwrap_or_default(),
        phase,
    })
}

/// A Deployment. `None` where it isn't one.
pub(super) fn deployment(object: &Value) -> Option<Seen> {
    let entries = object["metadata"]["managedFields"].as_array();
    let holders = entries.into_iter().flatten().filter_map(holder).collect();
    Some(Seen::Deployment { replicas: number(&object["spec"]["replicas"])?, holders })
}

/// An autoscaler with the name of its target. `None` where it isn't one.
pub(super) fn autoscaler(object: &Value) -> Option<(String, Seen)> {
    let target = object["spec"]["scaleTargetRef"]["name"].as_str()?.to_owned();
    let name = object["metadata"]["name"].as_str()?.to_owned();
    Some((target, Seen::Autoscaler { name, limits: limits(&object["spec"])? }))
}

fn limits(spec: &Value) -> Option<Limits> {
    // The API server's default.
    let min = number(&spec["minReplicas"]).unwrap_or(1);
    Some(Limits { min, max: number(&spec["maxReplicas"])? })
}

/// The owner that an entry of `managedFields` names, if it owns the number.
fn holder(entry: &Value) -> Option<Holder> {
    entry.pointer("/fieldsV1/f:spec/f:replicas")?;
    let manager = entry["manager"].as_str().unwrap_or_default();
    let applied = entry["operation"] == "Apply";
    Some(match (entry["subresource"].as_str(), manager) {
        (Some("scale"), manager) => Holder::Scale(manager.to_owned()),
        (None, "baton") if applied => Holder::Baton,
        (None, "handover-to-hpa") if applied => Holder::Temporary,
        (_, manager) => Holder::Other(manager.to_owned()),
    })
}

fn number(value: &Value) -> Option<i32> {
    value.as_i64().and_then(|number| i32::try_from(number).ok())
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.min, self.max)
    }
}

impl fmt::Display for Wish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.replicas {
            Some(number) => write!(f, "replicas {number}, ")?,
            None => f.write_str("no replicas, ")?,
        }
        match self.scaling {
            Scaling::Nobody => f.write_str("no autoscaling"),
            Scaling::Own(limits) => write!(f, "autoscaling from {limits}"),
            Scaling::External => f.write_str("external autoscaling"),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Baton => f.write_str("baton"),
            Self::Temporary => f.write_str("handover-to-hpa"),
            Self::Scale(manager) => write!(f, "{manager} (scale)"),
            Self::Other(manager) => f.write_str(manager),
        }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workload { generation, wish, observed, phase } => {
                let phase = phase.as_deref().unwrap_or("-");
                write!(f, "Workload    generation {generation}: {wish}; reported on {observed}, {phase}")
            }
            Self::Deployment { replicas, holders } => {
                write!(f, "Deployment  replicas {replicas}, held by ")?;
                let holders: Vec<String> = holders.iter().map(ToString::to_string).collect();
                f.write_str(if holders.is_empty() { "nobody" } else { "" })?;
                f.write_str(&holders.join(", "))
            }
            Self::Autoscaler { name, limits } => write!(f, "autoscaler  {name}: from {limits}"),
            Self::AutoscalerGone { name } => write!(f, "autoscaler  {name}: deleted"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_workload_shows_what_it_asks_for_and_how_far_the_operator_is() {
        let read = |spec: Value| workload(&json!({"metadata": {"generation": 3}, "spec": spec})).unwrap();
        let wish = |spec| match read(spec) {
            Seen::Workload { wish, .. } => wish,
            other => panic!("{other}"),
        };
        assert_eq!(wish(json!({"replicas": 3})).fixed(), Some(3));
        assert_eq!(wish(json!({})), Wish { replicas: None, scaling: Scaling::Nobody });
        let own = wish(json!({"replicas": 3, "autoscaling": {"minReplicas": 2, "maxReplicas": 5}}));
        assert_eq!((own.fixed(), own.start()), (None, Some(3)));
        assert_eq!(own.scaling, Scaling::Own(Limits { min: 2, max: 5 }));
        assert_eq!(wish(json!({"autoscaling": {"external": {}}})).scaling, Scaling::External);

        let status = json!({"observedGeneration": 2, "replicaOwnership": {"phase": "Fixed"}});
        let shown = workload(&json!({"metadata": {"generation": 3}, "spec": {}, "status": status})).unwrap();
        assert_eq!(
            shown.to_string(),
            "Workload    generation 3: no replicas, no autoscaling; reported on 2, Fixed"
        );
    }

    #[test]
    fn holders_are_told_apart_by_operation_and_subresource() {
        let entry = |manager: &str, operation: &str, subresource: Option<&str>| {
            json!({
                "manager": manager, "operation": operation, "subresource": subresource,
                "fieldsV1": {"f:spec": {"f:replicas": {}}},
            })
        };
        let object = json!({
            "metadata": {"managedFields": [
                entry("baton", "Apply", None),
                entry("baton", "Update", None),
                entry("handover-to-hpa", "Apply", None),
                entry("keda", "Update", Some("scale")),
                {"manager": "kubectl", "operation": "Apply", "fieldsV1": {"f:spec": {"f:paused": {}}}},
            ]},
            "spec": {"replicas": 4},
        });
        assert_eq!(
            deployment(&object).unwrap().to_string(),
            "Deployment  replicas 4, held by baton, baton, handover-to-hpa, keda (scale)"
        );
        let Some(Seen::Deployment { holders, .. }) = deployment(&object) else { panic!() };
        assert_eq!(holders[1], Holder::Other("baton".to_owned()));
    }
}
