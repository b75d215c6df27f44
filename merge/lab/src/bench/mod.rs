//! Measures the merge core and the Go libraries of a kube-apiserver over the same objects, in turns.
//!
//! [`objects`] makes the objects, [`row`] names what is measured, [`core`] does it in Rust and [`go`] has it done by the
//! oracle in Go, [`run`](mod@run) takes turns and shows what came out. A row is measured only after both sides have made the same
//! of the same object. Nothing here judges: no test hangs on a time.
//!
//! The same counts on both sides, as far as the libraries allow:
//!
//! - Schemas are compiled before, as in a server or operator that runs.
//! - Objects are JSON trees in memory, as a watch cache holds them: `serde_json::Value` here, `map[string]any` there.
//!   Laying one out in an arena counts for every row that begins with an object; Go works on its trees as they are.
//! - A write ends with the merged object and the text of all its field sets. Go also turns these into trees, since its
//!   field manager does.
//! - `compare` and `to_set` begin with typed values on both sides, `union` and the other set rows with field sets.
//! - Times are of the processor, the garbage collector's included: what else the machine does doesn't count.
//! - The arena is used again for every op, as the core's documentation advises.

pub mod core;
pub mod go;
pub mod objects;
pub mod row;
pub mod run;

pub use row::Row;
