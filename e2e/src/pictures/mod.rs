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
    use serde::de::DeserializeOwned;

    use super::*;
    use crate::generated;

    #[test]
    fn each_picture_is_that_of_its_recording() {
        up_to_date("replicas", replicas::svg);
        up_to_date("ownership", ownership::svg);
        up_to_date("demo", terminal::svg);
    }

    fn up_to_date<R: DeserializeOwned>(name: &str, draw: impl FnOnce(&R) -> String) {
        let recording = generated::read(&format!("docs/pictures/{name}.json")).unwrap();
        let drawn = draw(&serde_json::from_str(&recording).unwrap());
        generated::up_to_date(
            &format!("docs/pictures/{name}.svg"),
            &drawn,
            "test -p baton-e2e --lib pictures",
        )
        .unwrap();
    }
}
