//! Text for logs, conditions and Events: errors with their causes, and cuts to a length. Messages of the API server and of webhooks,
//! and names in `managedFields`, may be as long as an object.

use std::error::Error;

/// The longest line of [`with_causes`], in bytes.
const LONGEST: usize = 4096;

/// Marks the end of text that was cut.
const MARK: &str = "…";

/// The error's message and those of its causes on one line, separated by colons. A cause that its effect quotes isn't repeated, and
/// a line that is too long is cut.
pub fn with_causes(error: &dyn Error) -> String {
    let mut line = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let message = cause.to_string();
        if !line.contains(&message) {
            line = format!("{line}: {message}");
        }
        next = cause.source();
    }
    cut(line, LONGEST)
}

/// The text, with at most this many bytes as the API server stores it in JSON; a mark ends text that was cut.
pub fn cut(mut text: String, most: usize) -> String {
    let (mut length, mut end) = (0, 0);
    for (position, character) in text.char_indices() {
        if length + MARK.len() <= most {
            end = position;
        }
        length += stored(character);
        if length > most {
            text.truncate(end);
            text.push_str(MARK);
            break;
        }
    }
    text
}

/// How many bytes the text has as the API server stores it in JSON.
pub fn stored_length(text: &str) -> usize {
    text.chars().map(stored).sum()
}

/// Go's encoder escapes more than JSON requires.
fn stored(character: char) -> usize {
    match character {
        '"' | '\\' | '\n' | '\r' | '\t' => 2,
        '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..' ' => 6,
        other => other.len_utf8(),
    }
}

/// The first few of these, and how many are left out.
pub fn few<T: ToString>(all: impl ExactSizeIterator<Item = T>, most: usize, left_out: &str) -> Vec<String> {
    let more = all.len().saturating_sub(most);
    let mut few: Vec<String> = all.take(most).map(|one| one.to_string()).collect();
    few.extend((more > 0).then(|| format!("and {more} more{left_out}")));
    few
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{message}")]
    struct Link {
        message: &'static str,
        source: Option<Box<Link>>,
    }

    #[test]
    fn causes_follow_their_effect_and_are_not_repeated() {
        let root = Link { message: "connection refused", source: None };
        let quoting = Link { message: "client error (connection refused)", source: Some(Box::new(root)) };
        let top = Link { message: "can't read the Service", source: Some(Box::new(quoting)) };
        assert_eq!(with_causes(&top), "can't read the Service: client error (connection refused)");
        let long = Link { message: "no ".repeat(LONGEST).leak(), source: None };
        assert!(with_causes(&long).len() <= LONGEST);
    }

    #[test]
    fn text_that_fits_stays_as_it_is_and_longer_text_ends_with_a_mark() {
        assert_eq!(cut("abcdef".to_owned(), 6), "abcdef");
        assert_eq!(cut("abcdefg".to_owned(), 6), "abc…");
        assert_eq!(cut("äöüä".to_owned(), 7), "äö…");
        assert_eq!(cut("<<".to_owned(), 11), "<…", "as many bytes as in JSON");
        assert_eq!(cut(String::new(), 3), "");
    }

    #[test]
    fn a_list_names_a_few_and_counts_the_others() {
        assert_eq!(few([1, 2, 3].iter(), 2, " numbers"), ["1", "2", "and 1 more numbers"]);
        assert_eq!(few([1, 2].iter(), 2, ""), ["1", "2"]);
    }

    proptest! {
        #[test]
        fn cut_text_fits_and_is_not_cut_again(text in any::<String>(), most in 3_usize..64) {
            let short = cut(text.clone(), most);
            prop_assert!(serde_json::to_string(&short).unwrap().len() <= most + 2, "{short:?}");
            prop_assert_eq!(cut(short.clone(), most), short.clone());
            prop_assert!(short == text || short.ends_with(MARK));
        }
    }
}
