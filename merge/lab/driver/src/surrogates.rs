//! Escapes of lone surrogates, which JSON's grammar allows and no string can hold.

use std::borrow::Cow;

/// The line with escapes of lone surrogates replaced by the replacement character, as Go reads it.
pub(crate) fn repaired(line: &str) -> Cow<'_, str> {
    if !line.contains("\\u") {
        return Cow::Borrowed(line);
    }
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('\\') {
        let (plain, tail) = rest.split_at(at);
        out.push_str(plain);
        let length = match (unit(tail), tail.get(6..).and_then(unit)) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                out.push_str("\\ufffd");
                rest = &tail[6..];
                continue;
            }
            (Some(_), _) => 6,
            // Another escape, or an invalid one, which the parser reports.
            (None, _) => 1 + tail[1..].chars().next().map_or(0, char::len_utf8),
        };
        out.push_str(&tail[..length]);
        rest = &tail[length..];
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// The UTF-16 unit of the escape at the start of the text.
fn unit(text: &str) -> Option<u32> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    u32::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_halves_are_replaced() {
        for (line, expected) in [
            (r#""plain""#, r#""plain""#),
            (r#""\ud83d\ude00""#, r#""\ud83d\ude00""#),
            (r#""\ud83d""#, r#""\ufffd""#),
            (r#""\ude00\ud83dx""#, r#""\ufffd\ufffdx""#),
            (r#""\\ud83d""#, r#""\\ud83d""#),
            (r#""\u00e4\n\"#, r#""\u00e4\n\"#),
        ] {
            assert_eq!(repaired(line), expected);
        }
    }
}
