//! The pictures of the README. Each is drawn from a recording of a real run, which is kept beside it in `docs/pictures`.
//!
//! `cargo pictures` records. Drawing is a pure function of a recording; a test compares what it gives with the picture.

pub mod replicas;
mod replicas_plot;
pub(crate) mod svg;
