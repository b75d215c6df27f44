//! The operator is killed at every write of every handover, before the first and after each, and a new one finds its way from
//! there; a watch that saw every stored value of `spec.replicas` holds the promise that none was too low. Then
//! the same with everything else that a network, an API server and etcd do to requests and watches.
//!
//! With `--nocapture` it tells where each run was cut, and how many points there were.
mod every_write;
mod faults;
mod outages;
mod points;
mod scenario;
mod stage;
