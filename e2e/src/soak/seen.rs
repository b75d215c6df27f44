//! What a stored write shows about the replica count. It is read from the objects of the API server without the operator's own
//! code, so that the two don't share a bug.

use std::{fmt, sync::Arc, time::Duration};

use baton_testbed::{Error, Event, ReplicaOwner};
use kube::{ResourceExt as _, core::DynamicObject};
use serde_json::Value;

/// A stored write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// The resourceVersion, which is etcd's revision: it grows with every write to any object.
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
        asked: Asked,
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
        owners: Vec<ReplicaOwner>,
    },
    /// An autoscaler whose target is the Deployment.
    Autoscaler {
        /// Its name.
        name: String,
        /// The replica counts that it may choose.
        limits: Limits,
    },
    /// An autoscaler that was deleted.
    AutoscalerGone {
        /// Its name.
        name: String,
    },
}

/// What a version of a Workload's spec asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// `spec.replicas`.
    pub replicas: Option<i32>,
    /// `spec.autoscaling`.
    pub scaling: Scaling,
}

/// `spec.autoscaling`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaling {
    /// Absent.
    Absent,
    /// Baton's autoscaler.
    Own(Limits),
    /// An external autoscaler.
    External,
}

/// The lowest and the highest replica count that an autoscaler may choose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `minReplicas`.
    pub min: i32,
    /// `maxReplicas`.
    pub max: i32,
}

impl Limits {
    /// Whether an autoscaler with these limits may choose this replica count.
    pub fn contain(&self, number: i32) -> bool {
        (self.min..=self.max).contains(&number)
    }
}

impl Asked {
    /// The replica count of a spec without autoscaling.
    pub fn fixed(&self) -> Option<i32> {
        self.replicas.filter(|_| self.scaling == Scaling::Absent)
    }

    /// The replica count with which a Deployment is created.
    pub fn start(&self) -> Option<i32> {
        self.replicas.or(match self.scaling {
            Scaling::Own(limits) => Some(limits.min),
            Scaling::Absent | Scaling::External => None,
        })
    }
}

/// What a recording of Workloads, Deployments and autoscalers shows.
pub(super) fn sightings(events: &[Arc<Event>]) -> Result<Vec<Sighting>, Error> {
    let odd = |event: &Event| Error::parse("a recorded object")(format!("{:?}", event.object));
    events.iter().map(|event| sighting(event).ok_or_else(|| odd(event))).collect()
}

fn sighting(event: &Event) -> Option<Sighting> {
    let Event { revision, at, object, gone } = event;
    let name = object.name_any();
    let (workload, seen) = match object.types.as_ref()?.kind.as_str() {
        "Workload" => (name, workload(object)?),
        "Deployment" => (name, deployment(object)?),
        _ => {
            let target = object.data["spec"]["scaleTargetRef"]["name"].as_str()?.to_owned();
            let limits = limits(&object.data["spec"])?;
            (target, if *gone { Seen::AutoscalerGone { name } } else { Seen::Autoscaler { name, limits } })
        }
    };
    Some(Sighting { revision: *revision, at: *at, workload, seen })
}

fn workload(object: &DynamicObject) -> Option<Seen> {
    let (spec, status) = (&object.data["spec"], &object.data["status"]);
    let scaling = match &spec["autoscaling"] {
        Value::Null => Scaling::Absent,
        autoscaling if !autoscaling["external"].is_null() => Scaling::External,
        autoscaling => Scaling::Own(limits(autoscaling)?),
    };
    let phase = status["replicaOwnership"]["phase"].as_str().map(str::to_owned);
    Some(Seen::Workload {
        generation: object.metadata.generation?,
        asked: Asked { replicas: number(&spec["replicas"]), scaling },
        observed: status["observedGeneration"].as_i64().unwrap_or_default(),
        phase,
    })
}

fn deployment(object: &DynamicObject) -> Option<Seen> {
    let replicas = number(&object.data["spec"]["replicas"])?;
    Some(Seen::Deployment { replicas, owners: ReplicaOwner::all(&object.metadata) })
}

fn limits(spec: &Value) -> Option<Limits> {
    // The API server's default.
    let min = number(&spec["minReplicas"]).unwrap_or(1);
    Some(Limits { min, max: number(&spec["maxReplicas"])? })
}

fn number(value: &Value) -> Option<i32> {
    value.as_i64().and_then(|number| i32::try_from(number).ok())
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.min, self.max)
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.replicas {
            Some(number) => write!(f, "replicas {number}, ")?,
            None => f.write_str("no replicas, ")?,
        }
        match self.scaling {
            Scaling::Absent => f.write_str("no autoscaling"),
            Scaling::Own(limits) => write!(f, "autoscaling from {limits}"),
            Scaling::External => f.write_str("external autoscaling"),
        }
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workload { generation, asked, observed, phase } => {
                let phase = phase.as_deref().unwrap_or("-");
                write!(f, "Workload    generation {generation}: {asked}; reported on {observed}, {phase}")
            }
            Self::Deployment { replicas, owners } => {
                write!(f, "Deployment  replicas {replicas}, owned by ")?;
                let owners: Vec<String> = owners.iter().map(ToString::to_string).collect();
                f.write_str(if owners.is_empty() { "no manager" } else { "" })?;
                f.write_str(&owners.join(", "))
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
    fn a_workload_shows_its_spec_and_what_the_operator_has_reported() {
        let read = |spec: Value| {
            let object = json!({"metadata": {"generation": 3}, "spec": spec});
            workload(&serde_json::from_value(object).unwrap()).unwrap()
        };
        let asked = |spec| match read(spec) {
            Seen::Workload { asked, .. } => asked,
            other => panic!("{other}"),
        };
        assert_eq!(asked(json!({"replicas": 3})).fixed(), Some(3));
        assert_eq!(asked(json!({})), Asked { replicas: None, scaling: Scaling::Absent });
        let own = asked(json!({"replicas": 3, "autoscaling": {"minReplicas": 2, "maxReplicas": 5}}));
        assert_eq!((own.fixed(), own.start()), (None, Some(3)));
        assert_eq!(own.scaling, Scaling::Own(Limits { min: 2, max: 5 }));
        assert_eq!(asked(json!({"autoscaling": {"external": {}}})).scaling, Scaling::External);

        let status = json!({"observedGeneration": 2, "replicaOwnership": {"phase": "Fixed"}});
        let object = json!({"metadata": {"generation": 3}, "spec": {}, "status": status});
        let shown = workload(&serde_json::from_value(object).unwrap()).unwrap();
        assert_eq!(
            shown.to_string(),
            "Workload    generation 3: no replicas, no autoscaling; reported on 2, Fixed"
        );
    }
}
