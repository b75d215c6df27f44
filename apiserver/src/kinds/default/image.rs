//! The default pull policy of a container, which depends on its image.

/// The policy for an image: `Always` for the tag `latest`, otherwise `IfNotPresent`.
pub(super) fn pull_policy(image: &str) -> &'static str {
    if is_latest(image) { "Always" } else { "IfNotPresent" }
}

/// Whether an image has the tag `latest`, also by default. Invalid names don't.
fn is_latest(image: &str) -> bool {
    let (rest, digest) = match image.split_once('@') {
        Some((rest, digest)) => (rest, Some(digest)),
        None => (image, None),
    };
    let (name, tag) = match rest.rsplit_once(':') {
        Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
        _ => (rest, None),
    };
    if !is_name(name) || !tag.is_none_or(is_tag) || !digest.is_none_or(is_digest) {
        return false;
    }
    match tag {
        Some(tag) => tag == "latest",
        None => digest.is_none(),
    }
}

fn is_name(name: &str) -> bool {
    const LENGTH: usize = 255;
    const ID_LENGTH: usize = 64;

    let is_id = name.len() == ID_LENGTH && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let path = match name.split_once('/') {
        Some((host, path)) if is_host(host) && !is_path_part(host) => path,
        _ => name,
    };
    !is_id && name.len() <= LENGTH && path.split('/').all(is_path_part)
}

/// Whether it is the host of a registry, with an optional port.
fn is_host(text: &str) -> bool {
    let (host, port) = text.rsplit_once(':').unwrap_or((text, "0"));
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('-')
            && !part.ends_with('-')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    is_number && host.split('.').all(is_part)
}

/// Whether it is a component of the path: lower-case letters and digits, with separators between.
fn is_path_part(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let separators = text.split(|char: char| char.is_ascii_lowercase() || char.is_ascii_digit());
    let is_separator = |separator: &str| {
        matches!(separator, "" | "." | "_" | "__") || separator.bytes().all(|byte| byte == b'-')
    };
    text.bytes().next().is_some_and(is_inner)
        && text.bytes().last().is_some_and(is_inner)
        && separators.into_iter().all(is_separator)
}

fn is_tag(tag: &str) -> bool {
    const LENGTH: usize = 128;

    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    tag.len() <= LENGTH
        && tag.bytes().next().is_some_and(is_word)
        && tag.bytes().all(|byte| is_word(byte) || matches!(byte, b'.' | b'-'))
}

fn is_digest(digest: &str) -> bool {
    const LENGTH: usize = 32;

    let is_hex = |text: &str| text.len() >= LENGTH && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_part = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_alphabetic())
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    digest
        .split_once(':')
        .is_some_and(|(algorithm, hex)| algorithm.split(['-', '_', '+', '.']).all(is_part) && is_hex(hex))
}
