//! Paths of fields as the API server spells them in its messages, such as `spec.containers[0].image`.

/// A step of such a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SpelledStep<'s> {
    /// A field.
    Name(&'s str),
    /// The index of an item or, from the merge, its keys or its value, as in `[name="web"]`; or the key of a map.
    InBrackets(&'s str),
}

impl SpelledStep<'_> {
    /// Whether it leads to an item of a list. No map has a key with `=`.
    pub(crate) fn is_item(self) -> bool {
        matches!(self, Self::InBrackets(text) if text.contains('=') || text.parse::<usize>().is_ok())
    }
}

/// The steps of a path.
pub(crate) fn steps(spelled: &str) -> Vec<SpelledStep<'_>> {
    let (mut steps, mut rest) = (Vec::new(), spelled);
    while !rest.is_empty() {
        if let Some(bracket) = rest.strip_prefix('[') {
            let (inside, after) = bracket.split_once(']').unwrap_or((bracket, ""));
            steps.push(SpelledStep::InBrackets(inside));
            rest = after;
        } else {
            rest = rest.strip_prefix('.').unwrap_or(rest);
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            if end == 0 {
                break;
            }
            steps.push(SpelledStep::Name(&rest[..end]));
            rest = &rest[end..];
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_as_the_server_spells_them() {
        use SpelledStep::{InBrackets, Name};
        let expected = [
            Name("metadata"),
            Name("annotations"),
            InBrackets("example.com/a.b"),
            Name("x"),
            InBrackets("0"),
        ];
        assert_eq!(steps("metadata.annotations[example.com/a.b].x[0]"), expected);
        assert_eq!(expected.map(SpelledStep::is_item), [false, false, false, false, true]);
        let of_the_merge = steps(r#".spec.containers[name="web"]"#);
        assert_eq!(of_the_merge, [Name("spec"), Name("containers"), InBrackets(r#"name="web""#)]);
        assert!(of_the_merge[2].is_item());
        assert_eq!(steps(""), []);
    }
}
