//! The pictures of the README. Each is drawn from a recording of a real run, which is kept beside it in `docs/pictures`.
//!
//! `cargo pictures` records. Drawing is a pure function of a recording; a test compares what it gives with the picture.

pub mod ownership;
mod ownership_plot;
pub mod replicas;
mod replicas_plot;
pub(crate) mod svg;
pub mod terminal;

#[cfg(test)]
mod tests {
    use std::{env, fs};

    use baton_testbed::workspace;
    use serde::de::DeserializeOwned;

    use super::*;

    #[test]
    fn each_picture_is_that_of_its_recording() {
        up_to_date("replicas", replicas::svg);
        up_to_date("ownership", ownership::svg);
        up_to_date("demo", terminal::svg);
    }

    /// Compares a picture with what is drawn of the recording beside it, or with `BATON_WRITE_DOCS` draws it again.
    fn up_to_date<R: DeserializeOwned>(name: &str, draw: impl FnOnce(&R) -> String) {
        let folder = workspace().join("docs/pictures");
        let recording = fs::read(folder.join(format!("{name}.json"))).unwrap();
        let drawn = draw(&serde_json::from_slice(&recording).unwrap());
        let path = folder.join(format!("{name}.svg"));
        if env::var_os("BATON_WRITE_DOCS").is_some() {
            fs::write(&path, &drawn).unwrap();
        }
        let kept = fs::read_to_string(&path).unwrap();
        let hint = "BATON_WRITE_DOCS=1 cargo test -p baton-e2e --lib pictures";
        assert!(kept == drawn, "{} is stale: {hint}", path.display());
    }
}
