//! The figures of a run, as a file keeps them.

use std::{collections::BTreeMap, fs, io, path::Path, time::Duration};

use baton_testbed::Error;
use clap::ValueEnum;
use serde::{Deserialize, Serialize};

/// Which server the operator talks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerKind {
    /// The API server of this workspace, in the process of the bench.
    InProcess,
    /// etcd, kube-apiserver and kube-controller-manager.
    Real,
}

impl ServerKind {
    /// The name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InProcess => "server in the process",
            Self::Real => "real control plane",
        }
    }
}

/// The phases of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The operator starts in an empty cluster.
    Start,
    /// All Workloads are created as fast as the server allows.
    Create,
    /// Nothing happens.
    Idle,
    /// Some Workloads get a new image, each when the one before is current.
    EditOne,
    /// All Workloads get a new image as fast as the server allows.
    EditAll,
    /// The operator starts in a settled cluster.
    Restart,
    /// The operator reconciles every Workload again, by SIGHUP.
    Resync,
    /// All Workloads are deleted.
    Delete,
}

impl Phase {
    /// All, in their order.
    pub const ALL: [Self; 8] = [
        Self::Start,
        Self::Create,
        Self::Idle,
        Self::EditOne,
        Self::EditAll,
        Self::Restart,
        Self::Resync,
        Self::Delete,
    ];

    /// The name for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Create => "create",
            Self::Idle => "idle",
            Self::EditOne => "edit one",
            Self::EditAll => "edit all",
            Self::Restart => "restart",
            Self::Resync => "resync",
            Self::Delete => "delete",
        }
    }

    /// Whether it is work for each Workload, so that its figures are shown by Workload.
    pub const fn is_by_workload(self) -> bool {
        !matches!(self, Self::Start | Self::Idle)
    }
}

/// The cost of a phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// How many Workloads changed; 0 in phases without changes.
    pub touched: u32,
    /// From the beginning until the goal, in seconds.
    pub seconds: f64,
    /// The operator's CPU until it was quiet, in seconds.
    pub cpu: f64,
    /// The CPU of kube-apiserver and etcd in the same time, in seconds. In a resync, without what they use in idle.
    pub server_cpu: Option<f64>,
    /// The operator's requests.
    pub requests: Requests,
    /// Time to current status.
    pub latency: Option<Latency>,
}

impl Figures {
    /// A figure of all Workloads, divided by their number.
    pub fn each(&self, figure: f64) -> f64 {
        figure / f64::from(self.touched.max(1))
    }
}

/// Requests of an operator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    /// Requests that could change something.
    pub writes: u64,
    /// The other requests.
    pub reads: u64,
}

impl Requests {
    /// The requests since `before`; all, if the operator was restarted since.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            writes: self.writes.saturating_sub(before.writes),
            reads: self.reads.saturating_sub(before.reads),
        }
    }
}

/// The median and the 99th percentile, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Half of them took no longer.
    pub median: f64,
    /// 99 of 100 took no longer.
    pub p99: f64,
}

impl Latency {
    /// By the nearest rank; `None` without measurements.
    pub fn of(mut took: Vec<Duration>) -> Option<Self> {
        took.sort_unstable();
        let percentile = |percent: usize| {
            let rank = (took.len() * percent).div_ceil(100);
            took.get(rank.saturating_sub(1)).map(Duration::as_secs_f64)
        };
        Some(Self { median: percentile(50)?, p99: percentile(99)? })
    }
}

/// The operator's memory at several times, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Residence {
    /// In an empty cluster.
    pub bare: u64,
    /// With all Workloads settled, at the end of the idle phase.
    pub settled: u64,
    /// As `settled`, without the binary's pages.
    pub anonymous: u64,
    /// The most until all were created and edited.
    pub peak: u64,
    /// Settled after the restart.
    pub restarted: u64,
    /// The most during the restart.
    pub restart_peak: u64,
}

impl Residence {
    /// The share of each of so many settled Workloads.
    #[expect(clippy::cast_precision_loss, reason = "no machine has 2^53 bytes")]
    pub fn each(&self, workloads: u32) -> f64 {
        self.settled.saturating_sub(self.bare) as f64 / f64::from(workloads.max(1))
    }
}

/// One operator over so many Workloads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// The operator's name.
    pub operator: String,
    /// The server that it talked to.
    pub server: ServerKind,
    /// How many Workloads there were.
    pub workloads: u32,
    /// The cost of each phase. An operator without a signal for it has no resync.
    pub phases: BTreeMap<Phase, Figures>,
    /// Its memory.
    pub memory: Residence,
}

impl Run {
    fn id(&self) -> (&str, ServerKind, u32) {
        (&self.operator, self.server, self.workloads)
    }
}

/// Adds a run, or replaces the one of the same operator, server and size.
pub fn keep(runs: &mut Vec<Run>, run: Run) {
    runs.retain(|other| other.id() != run.id());
    runs.push(run);
    runs.sort_by(|one, other| one.id().cmp(&other.id()));
}

/// The runs in a file; none if it doesn't exist.
///
/// # Errors
/// When it can't be read or parsed.
pub fn read(path: &Path) -> Result<Vec<Run>, Error> {
    match fs::read_to_string(path) {
        Ok(text) => serde_json::from_str(&text).map_err(Error::parse(path.display().to_string())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Error::file("read", path)(error)),
    }
}

/// Writes runs into a file.
///
/// # Errors
/// When it can't be written.
pub fn write(path: &Path, runs: &[Run]) -> Result<(), Error> {
    let text = serde_json::to_string_pretty(runs).map_err(Error::parse("figures"))? + "\n";
    fs::write(path, text).map_err(Error::file("write", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn latency(took: impl IntoIterator<Item = u64>) -> Option<(f64, f64)> {
        let latency = Latency::of(took.into_iter().map(Duration::from_secs).collect());
        latency.map(|Latency { median, p99 }| (median, p99))
    }

    #[test]
    fn percentiles_are_of_the_nearest_rank() {
        assert_eq!(latency([]), None);
        assert_eq!(latency([3]), Some((3.0, 3.0)));
        assert_eq!(latency([4, 1, 3, 2]), Some((2.0, 4.0)));
        assert_eq!(latency((1..=100).rev()), Some((50.0, 99.0)));
        assert_eq!(latency(1..=1000), Some((500.0, 990.0)));
    }

    fn run(operator: &str, workloads: u32, cpu: f64) -> Run {
        let phases = BTreeMap::from([(Phase::EditAll, Figures { cpu, ..Figures::default() })]);
        let memory = Residence::default();
        Run { operator: operator.to_owned(), server: ServerKind::Real, workloads, phases, memory }
    }

    #[test]
    fn a_new_run_replaces_the_one_of_the_same_operator_server_and_size() {
        let mut runs = vec![run("baton", 1000, 1.0), run("other", 100, 1.0)];
        keep(&mut runs, run("baton", 100, 2.0));
        keep(&mut runs, run("baton", 1000, 3.0));
        assert_eq!(runs, [run("baton", 100, 2.0), run("baton", 1000, 3.0), run("other", 100, 1.0)]);
    }

    #[test]
    fn runs_are_read_as_they_were_written() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let runs = [run("baton", 100, 1.5)];
        write(file.path(), &runs).unwrap();
        assert_eq!(read(file.path()).unwrap(), runs);
        assert_eq!(read(Path::new("/nowhere/at/all")).unwrap(), []);
    }
}
