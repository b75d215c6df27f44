//! One operator over settled Workloads: what it costs to look at all of them again. It doesn't know how the operator was
//! started, and shows nothing.

use std::time::{Duration, Instant};

use baton_testbed::{ControlPlane, Error, assets::Program, cpu_time, wait_for};

use crate::Operator;

/// What a resync leaves behind, such as garbage that is collected, is done in this time.
const AFTERMATH: Duration = Duration::from_secs(1);
/// How long an operator does nothing until it is taken for settled.
const SETTLED: Duration = Duration::from_secs(3);
/// How long one resync, or settling, may take.
const LIMIT: Duration = Duration::from_mins(20);

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// How many Workloads there are.
    pub workloads: u32,
    /// How often all of them are looked at.
    pub resyncs: u32,
    /// How long is measured what is used while nothing happens.
    pub idle: Duration,
}

/// Processor time of each process, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cpu {
    /// Of Baton.
    pub operator: f64,
    /// Of kube-apiserver.
    pub api_server: f64,
    /// Of etcd.
    pub etcd: f64,
}

impl Cpu {
    /// Each figure of the one with that of the other.
    #[must_use]
    pub fn with(self, other: Self, combine: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            operator: combine(self.operator, other.operator),
            api_server: combine(self.api_server, other.api_server),
            etcd: combine(self.etcd, other.etcd),
        }
    }

    /// Each figure by itself.
    #[must_use]
    pub fn map(self, change: impl Fn(f64) -> f64) -> Self {
        self.with(self, |figure, _| change(figure))
    }
}

/// What resyncs took, all together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Processor time, without that of the same span of doing nothing.
    pub cpu: Cpu,
    /// From the signal until the last pass ended, in seconds.
    pub wall: f64,
    /// Requests of the operator.
    pub requests: usize,
    /// Those among them that could change something.
    pub writes: usize,
}

/// Asks what a control plane and an operator beside it have used.
pub struct Meter<'a> {
    cluster: &'a ControlPlane,
    operator: &'a Operator,
    api_server: u32,
    etcd: u32,
}

impl<'a> Meter<'a> {
    /// For these two.
    ///
    /// # Errors
    /// When the control plane was given: it is somewhere else.
    pub fn new(cluster: &'a ControlPlane, operator: &'a Operator) -> Result<Self, Error> {
        let processes = cluster.processes();
        let pid = |program: Program| {
            let found = processes.iter().find(|(name, _)| name == program.name());
            found.map(|(_, pid)| *pid).ok_or(Error::GivenCluster { what: "measuring the control plane" })
        };
        Ok(Self { cluster, operator, api_server: pid(Program::ApiServer)?, etcd: pid(Program::Etcd)? })
    }

    /// Waits until the operator has looked at this many Workloads since it was started, and then does nothing for a
    /// while.
    pub async fn settled(&self, workloads: u32) -> Result<(), Error> {
        let (mut last, mut since) = (0, Instant::now());
        self.poll_until("the operator being done", |passes| {
            if passes != last {
                (last, since) = (passes, Instant::now());
            }
            passes >= u64::from(workloads) && since.elapsed() >= SETTLED
        })
        .await
    }

    /// What is used each second in which nothing happens.
    pub async fn idle(&self, span: Duration) -> Result<Cpu, Error> {
        let (before, began) = (self.cpu()?, Instant::now());
        self.poll_for(span).await?;
        let used = self.cpu()?.with(before, |after, before| after - before);
        let seconds = began.elapsed().as_secs_f64();
        Ok(used.map(|figure| figure / seconds))
    }

    /// Has the operator look at all Workloads once.
    pub async fn resync(&self, workloads: u32, idle: Cpu) -> Result<Figures, Error> {
        let audit = self.cluster.audit()?;
        let mark = audit.mark()?;
        let done = self.passes().await? + u64::from(workloads);
        let (before, began) = (self.cpu()?, Instant::now());
        self.operator.look_again()?;
        self.poll_until("a resync", |passes| passes >= done).await?;
        let wall = began.elapsed().as_secs_f64();
        self.poll_for(AFTERMATH).await?;

        let used = self.cpu()?.with(before, |after, before| after - before);
        let seconds = began.elapsed().as_secs_f64();
        let cpu = used.with(idle, |used, idle| used - idle * seconds);
        let requests = audit.since(mark)?.by(self.operator.user());
        Ok(Figures { cpu, wall, requests: requests.len(), writes: requests.writes().len() })
    }

    fn cpu(&self) -> Result<Cpu, Error> {
        Ok(Cpu {
            operator: self.operator.cpu_time()?.as_secs_f64(),
            api_server: cpu_time(self.api_server)?.as_secs_f64(),
            etcd: cpu_time(self.etcd)?.as_secs_f64(),
        })
    }

    /// How many passes have ended since the operator was started.
    async fn passes(&self) -> Result<u64, Error> {
        Ok(self.operator.metrics().await?.count("baton_reconciles_total", &[]))
    }

    async fn poll_for(&self, span: Duration) -> Result<(), Error> {
        let end = Instant::now() + span;
        self.poll_until("the time passing", |_| Instant::now() >= end).await
    }

    async fn poll_until(&self, what: &str, mut holds: impl FnMut(u64) -> bool) -> Result<(), Error> {
        wait_for(what, LIMIT, async || {
            self.operator.process().check()?;
            let passes = self.passes().await?;
            Ok(if holds(passes) { Ok(()) } else { Err(format!("{passes} passes have ended")) })
        })
        .await
    }
}
