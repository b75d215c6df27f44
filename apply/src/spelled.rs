//! Paths of fields as the API server spells them in its messages, such as `spec.containers[0].image`.

/// A step of such a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step<'s> {
    /// A field.
    Name(&'s str),
    /// The index of an item, or the key of a map.
    InBrackets(&'s str),
}

impl Step<'_> {
    /// Whether it is the index of an item.
    pub(crate) fn is_index(self) -> bool {
        matches!(self, Self::InBrackets(text) if text.parse::<usize>().is_ok())
    }
}

/// The steps of a path.
pub(crate) fn steps(spelled: &str) -> Vec<Step<'_>> {
    let (mut steps, mut rest) = (Vec::new(), spelled);
    while !rest.is_empty() {
        if let Some(bracket) = rest.strip_prefix('[') {
            let (inside, after) = bracket.split_once(']').unwrap_or((bracket, ""));
            steps.push(Step::InBrackets(inside));
            rest = after;
        } else {
            rest = rest.strip_prefix('.').unwrap_or(rest);
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            if end == 0 {
                break;
            }
            steps.push(Step::Name(&rest[..end]));
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
        use Step::{InBrackets, Name};
        let expected = [
            Name("metadata"),
            Name("annotations"),
            InBrackets("example.com/a.b"),
            Name("x"),
            InBrackets("0"),
        ];
        assert_eq!(steps("metadata.annotations[example.com/a.b].x[0]"), expected);
        assert_eq!(expected.map(Step::is_index), [false, false, false, false, true]);
        assert_eq!(steps(""), []);
    }
}
