//! The query of a request's URI. It doesn't know what the parameters mean.

use std::fmt::Write as _;

/// The value of the first parameter of this name, with its escapes resolved.
pub fn value(uri: &str, key: &str) -> Option<String> {
    let (_, query) = uri.split_once('?')?;
    query.split('&').find_map(|pair| {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        (unescape(name) == key).then(|| unescape(value))
    })
}

/// A value as it may stand in a query: everything but what never means anything there is escaped.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
                escaped.push(char::from(byte));
            }
            _ => {
                let _ = write!(escaped, "%{byte:02X}");
            }
        }
    }
    escaped
}

/// Resolves `%2F` and `+` of a query. What isn't well-formed stays as it is.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = match (first, tail) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)).map(|(high, low)| high * 16 + low),
            _ => None,
        };
        if let Some(byte) = escaped {
            bytes.push(byte);
            rest = &tail[2..];
        } else {
            bytes.push(if *first == b'+' { b' ' } else { *first });
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).and_then(|value| u8::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_escaped_is_read_back() {
        for text in ["a b&c=d", "100%", "\"é\" + ü"] {
            assert_eq!(value(&format!("/?x=1&name={}", escape(text)), "name").as_deref(), Some(text));
        }
    }

    #[test]
    fn what_is_not_an_escape_stays() {
        for (text, plain) in [("100%", "100%"), ("%zz", "%zz"), ("a%C3%A9", "aé"), ("%2", "%2")] {
            assert_eq!(unescape(text), plain);
        }
    }
}
