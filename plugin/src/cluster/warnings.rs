//! The warnings of the API server, in the header `Warning` of its responses.

use std::sync::{Arc, Mutex, PoisonError};

use http::{HeaderMap, header::WARNING};

/// The warnings of a connection that weren't reported yet, each once. Clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Warnings(Arc<Mutex<Vec<String>>>);

impl Warnings {
    /// Notes the warnings of a response.
    pub(super) fn note(&self, headers: &HeaderMap) {
        let texts = headers.get_all(WARNING).iter().filter_map(|value| text_of(value.to_str().ok()?));
        let mut noted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for text in texts {
            if !noted.contains(&text) {
                noted.push(text);
            }
        }
    }

    /// Takes the noted warnings.
    pub(crate) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The text in `299 - "text"`, as RFC 7234 has it: a code, an agent, and a quoted string.
fn text_of(warning: &str) -> Option<String> {
    let quoted = warning.splitn(3, ' ').nth(2)?.strip_prefix('"')?;
    let (mut text, mut characters) = (String::new(), quoted.chars());
    loop {
        match characters.next()? {
            '"' => return Some(text),
            '\\' => text.push(characters.next()?),
            character => text.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_is_noted_once_without_its_quotes() {
        let mut headers = HeaderMap::new();
        for warning in [r#"299 - "a \"b\" is deprecated""#, r#"299 - "a \"b\" is deprecated""#, "none"] {
            headers.append(WARNING, warning.parse().unwrap());
        }
        let warnings = Warnings::default();
        warnings.note(&headers);
        assert_eq!(warnings.take(), [r#"a "b" is deprecated"#]);
        assert!(warnings.take().is_empty());
    }
}
