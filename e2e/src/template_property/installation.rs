//! The place where Baton runs, for the property: any API server, and any way to run Baton.

use baton_testbed::Error;
use kube::Client;
use serde_json::Value;

/// A namespace in a cluster in which Baton runs.
pub trait Installation {
    /// The client of a user that may edit Workloads there, and read and dry-run their children.
    fn client(&self) -> &Client;

    /// The namespace, for this installation alone.
    fn namespace(&self) -> &str;

    /// Makes Baton reconcile all Workloads of the namespace, and waits until it has reconciled so many and is at rest.
    fn reconcile_all(&mut self, workloads: usize) -> impl Future<Output = Result<(), Error>>;

    /// Restarts Baton, and waits until it has reconciled so many Workloads and is at rest.
    fn restart(&mut self, workloads: usize) -> impl Future<Output = Result<(), Error>>;

    /// Baton's writes and mismatches since the last call.
    fn news(&mut self) -> Result<News, Error>;
}

/// Baton's writes and mismatches of some time.
#[derive(Clone, Debug, Default)]
pub struct News {
    /// The writes of children that it sent, without dry runs and conflicts with a newer version of the child.
    pub sent: Vec<Sent>,
    /// Its wrong predictions.
    pub mismatches: Vec<Mismatch>,
}

/// A write of a child.
#[derive(Clone, Debug)]
pub struct Sent {
    /// The child's kind, such as `Deployment`.
    pub kind: String,
    /// The child's name, which is also its Workload's.
    pub name: String,
    /// The write, in a line.
    pub what: String,
    /// The intent of an apply; absent for other writes.
    pub body: Option<Value>,
}

/// A wrong prediction.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// The child's name.
    pub name: String,
    /// How the response differed.
    pub what: String,
}
