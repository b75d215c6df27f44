//! A cluster where Baton runs, as far as the property needs it: any API server will do, and any way to run Baton.

use baton_testbed::Error;
use kube::Client;
use serde_json::Value;

/// A namespace in a cluster with Baton at work in it.
pub trait Stage {
    /// Of somebody who may edit Workloads there and read and dry-run what they have as children.
    fn client(&self) -> &Client;

    /// The namespace, which nobody else uses.
    fn namespace(&self) -> &str;

    /// Has Baton look at all Workloads of the namespace, of which there are so many, and waits until it has and is at rest.
    fn look_again(&mut self, workloads: usize) -> impl Future<Output = Result<(), Error>>;

    /// Ends Baton and starts it again, and waits until it has looked at so many Workloads and is at rest.
    fn restart(&mut self, workloads: usize) -> impl Future<Output = Result<(), Error>>;

    /// What Baton did since this was asked last.
    fn news(&mut self) -> Result<News, Error>;
}

/// What Baton did for some time.
#[derive(Clone, Debug, Default)]
pub struct News {
    /// The writes of children that it sent, but for dry runs and those that met a newer version of the child.
    pub sent: Vec<Sent>,
    /// What it predicted wrongly.
    pub mismatches: Vec<Mismatch>,
}

/// A write of a child.
#[derive(Clone, Debug)]
pub struct Sent {
    /// The child's kind, such as `Deployment`.
    pub kind: String,
    /// The child's name, which is its Workload's too.
    pub name: String,
    /// The write, in a line.
    pub what: String,
    /// What was applied; absent of other writes.
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
