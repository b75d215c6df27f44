//! The operator is killed at every write of every handover, before the first and after each, and a new one continues from
//! there. A watch that sees every stored value of `spec.replicas` shows that none was too low. Then the same with other faults
//! of a network, an API server and etcd.
//!
//! With `--nocapture` the tests print where each run was cut, and how many points there were.
mod attempt;
mod cases;
mod every_write;
mod faults;
mod points;
