//! Releases in their various forms.

use baton_merge::Release;

/// Reads a release, writes it, and reads it again.
pub fn release(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(release) = text.parse::<Release>() else { return };
    let written = release.to_string();
    assert_eq!(written.parse::<Release>().ok(), Some(release), "{text:?} was written as {written:?}");
}
