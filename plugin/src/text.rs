//! Texts of commands and messages.

/// How many characters of a value fit into a table.
const LONGEST: usize = 48;

/// A value as long as a table can have it.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", text[..end].trim_end_matches('…')),
        None => text.to_owned(),
    }
}

/// A text as a shell reads it.
pub(crate) fn quoted(text: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "-_./:=@,+".contains(character);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// The end of an error about a name that wasn't found: similar names, if there are any.
pub(crate) fn did_you_mean(similar: &[String]) -> String {
    match similar {
        [] => String::new(),
        similar => format!("; did you mean {}?", similar.join(" or ")),
    }
}

/// The names that are most similar to what was typed, the most similar first, by a measure in which 1 is equality.
pub(crate) fn most_similar(names: impl Iterator<Item = (f64, String)>, least: f64) -> Vec<String> {
    const MOST_SUGGESTED: usize = 3;
    let mut similar: Vec<_> = names.filter(|(similarity, _)| *similarity >= least).collect();
    similar.sort_by(|(left, _), (right, _)| right.total_cmp(left));
    let mut similar: Vec<_> = similar.into_iter().map(|(_, name)| name).collect();
    similar.dedup();
    similar.truncate(MOST_SUGGESTED);
    similar
}
