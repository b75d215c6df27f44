//! The pictures of the README. Each is drawn from a recording of a real run, which is kept beside it in `docs/pictures`.
//!
//! `cargo pictures` records. Drawing is a pure function of a recording; a test compares what it gives with the picture.

pub mod ownership;
mod ownership_plot;
pub mod replicas;
mod replicas_plot;
pub(crate) mod svg;
pub mod terminal;

/// The picture of this name in `docs/pictures` is what is drawn of the recording beside it; with `BATON_WRITE_DOCS` it is drawn
/// anew.
#[cfg(test)]
fn up_to_date<R: serde::de::DeserializeOwned>(name: &str, draw: impl FnOnce(&R) -> String) {
    let folder = baton_testbed::workspace().join("docs/pictures");
    let recording = std::fs::read(folder.join(format!("{name}.json"))).unwrap();
    let drawn = draw(&serde_json::from_slice(&recording).unwrap());
    let path = folder.join(format!("{name}.svg"));
    if std::env::var_os("BATON_WRITE_DOCS").is_some() {
        std::fs::write(&path, &drawn).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap();
    let hint = "BATON_WRITE_DOCS=1 cargo test -p baton-e2e --lib pictures";
    assert!(kept == drawn, "{} is stale: {hint}", path.display());
}
