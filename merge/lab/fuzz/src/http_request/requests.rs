//! A text of requests, as editors have it in `.http` files.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Method, Request, Uri};

/// Between two requests, on a line of its own.
const SEPARATOR: &[u8] = b"###";

/// The requests of a text, without those that no HTTP server would read.
pub(super) fn of(text: &[u8]) -> impl Iterator<Item = Request<Bytes>> {
    parts(text).into_iter().filter_map(request)
}

/// The parts between the separators. The line break before one belongs to it, so that a body can end without.
fn parts(text: &[u8]) -> Vec<&[u8]> {
    let mut parts = Vec::new();
    let (mut begin, mut at) = (0, 0);
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let end = at + line.len();
        if line.trim_ascii_end() == SEPARATOR {
            parts.push(&text[begin..at.saturating_sub(1).max(begin)]);
            begin = end;
        }
        at = end;
    }
    parts.push(&text[begin..]);
    parts
}

/// A request: `METHOD path`, headers, an empty line, the body.
fn request(part: &[u8]) -> Option<Request<Bytes>> {
    let (first, mut rest) = line(part);
    let space = first.iter().position(|byte| *byte == b' ')?;
    let method = Method::from_bytes(&first[..space]).ok()?;
    let uri = Uri::try_from(first[space..].trim_ascii()).ok().filter(|uri| uri.path().starts_with('/'))?;
    let mut request = Request::builder().method(method).uri(uri);
    while !rest.is_empty() {
        let (header, after) = line(rest);
        rest = after;
        if header.is_empty() {
            break;
        }
        let colon = header.iter().position(|byte| *byte == b':')?;
        let name = HeaderName::from_bytes(header[..colon].trim_ascii()).ok()?;
        request = request.header(name, HeaderValue::from_bytes(header[colon + 1..].trim_ascii()).ok()?);
    }
    request.body(Bytes::copy_from_slice(rest)).ok()
}

/// The first line, and what is after it.
fn line(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
    let line = &text[..end];
    (line.strip_suffix(b"\r").unwrap_or(line), text.get(end + 1..).unwrap_or_default())
}
