//! What the server inside the process doesn't play, as far as requests that are compared show it.

use baton_testbed::writes::Kind;

use super::{pair::Answer, requests::Asked};

/// What isn't played: its name, and what there is instead.
pub const NOT_PLAYED: &[(&str, &str)] = &[];

/// What of that explains a difference.
pub(super) fn excuse(_: &Kind, _: &Asked, _: &Answer, _: &Answer) -> Option<&'static str> {
    None
}
