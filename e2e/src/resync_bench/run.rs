//! One operator after the other, over the same Workloads.

use std::time::{Duration, Instant};

use baton_crd::Workload;
use baton_testbed::{Cluster, ControlPlane, Error, wait_for};
use kube::Api;

use super::{
    measure::{Cpu, Effort, Figures, Meter},
    workloads,
};
use crate::{Operator, OperatorOptions, Place};

/// The controllers without which a cluster isn't of use, and those that make a Deployment available. Nobody scales,
/// evicts or collects anything here.
const CONTROLLERS: &str = "--controllers=serviceaccount-controller,node-lifecycle-controller,\
    deployment-controller,replicaset-controller";
/// What is written into the audit log.
const AUDIT_POLICY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/resync_bench/audit-policy.yaml");
/// How long the Workloads may take until all are ready.
const READY: Duration = Duration::from_mins(20);
/// How long to wait before all of them are listed again.
const PAUSE: Duration = Duration::from_secs(1);

/// What is measured twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Writes that would change nothing aren't sent.
    Predicting,
    /// All are sent.
    Sending,
}

impl Side {
    /// In the order of the table.
    pub const ALL: [Self; 2] = [Self::Predicting, Self::Sending];

    /// For the head of a column.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Predicting => "with prediction",
            Self::Sending => "without",
        }
    }

    fn args(self) -> Vec<String> {
        match self {
            Self::Predicting => vec![],
            Self::Sending => ["--predict", "false"].map(str::to_owned).to_vec(),
        }
    }
}

/// What came out for one side.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Which.
    pub side: Side,
    /// What was used each second in which nothing happened, in seconds. It is taken off in what follows.
    pub idle: Cpu,
    /// Each resync.
    pub resyncs: Vec<Figures>,
}

/// Measures both sides. `say` gets a line whenever something takes a while.
pub async fn run(effort: Effort, say: impl Fn(&str)) -> Result<[Outcome; 2], Error> {
    say("starting a control plane");
    let cluster = ControlPlane::options()
        .controller_manager_arg(CONTROLLERS)
        .api_server_arg(format!("--audit-policy-file={AUDIT_POLICY}"))
        .start()
        .await?;
    let cluster = Cluster::from(cluster);
    let place = Place::new(&cluster, "resync").await?;
    let workloads = place.api::<Workload>();
    let start = async |side: Side| {
        say(&format!("{}: starting the operator, from a build if need be", side.name()));
        // The audit policy knows it by this name.
        let name = Some("baton".to_owned());
        place.operator(OperatorOptions { name, args: side.args(), ..OperatorOptions::default() }).await
    };

    let operator = start(Side::Predicting).await?;
    let began = Instant::now();
    workloads::create(&workloads, effort.workloads).await?;
    until_ready(&workloads, effort.workloads, &say).await?;
    say(&format!("{} Workloads are ready after {:.0} s", effort.workloads, began.elapsed().as_secs_f64()));
    let predicting = measure(Side::Predicting, cluster.real(), &operator, effort, &say).await?;
    operator.stop().await?;

    let operator = start(Side::Sending).await?;
    let sending = measure(Side::Sending, cluster.real(), &operator, effort, &say).await?;
    operator.stop().await?;
    Ok([predicting, sending])
}

async fn measure(
    side: Side,
    cluster: &ControlPlane,
    operator: &Operator,
    effort: Effort,
    say: impl Fn(&str),
) -> Result<Outcome, Error> {
    let (name, meter) = (side.name(), Meter::new(cluster, operator)?);
    say(&format!("{name}: waiting until nothing happens any more"));
    meter.settled(effort.workloads).await?;
    say(&format!("{name}: measuring {} s of nothing", effort.idle.as_secs()));
    let idle = meter.idle(effort.idle).await?;
    let mut resyncs = Vec::new();
    for round in 1..=effort.resyncs {
        let figures = meter.resync(effort.workloads, idle).await?;
        let Figures { cpu, wall, requests, writes } = figures;
        say(&format!(
            "{name}: resync {round} took {wall:.2} s, CPU {:.2} s of the operator, {:.2} s of kube-apiserver, {:.2} s of \
             etcd; {requests} requests, {writes} writes",
            cpu.operator, cpu.api_server, cpu.etcd
        ));
        resyncs.push(figures);
    }
    Ok(Outcome { side, idle, resyncs })
}

async fn until_ready(workloads: &Api<Workload>, count: u32, say: impl Fn(&str)) -> Result<(), Error> {
    wait_for("every Workload being ready", READY, async || {
        let ready = workloads::ready(workloads).await?;
        if ready == count as usize {
            return Ok(Ok(()));
        }
        let state = format!("{ready} of {count} Workloads are ready");
        say(&state);
        tokio::time::sleep(PAUSE).await;
        Ok(Err(state))
    })
    .await
}
