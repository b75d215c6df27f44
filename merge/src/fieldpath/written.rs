//! A fast reader of FieldsV1 as a kube-apiserver writes it: without blanks, in order, and with no escapes but the quotes in
//! the names of items.
//!
//! Nearly all text is such, and a general JSON parser is several times slower. Other text is left to the parser, which also
//! makes the error message.

use super::{FieldSet, Node, PathElement, builder::position, plain};
use crate::{
    Arena,
    arena::ArenaVec,
    value::{MAX_DEPTH, plain_length},
};

/// A quote in the name of an item, which is a JSON string itself.
const QUOTE_IN_NAME: &str = "\\\"";

/// Reads the text; `None` if it isn't written so.
pub(super) fn read<'a>(arena: &'a Arena, text: &'a str) -> Option<FieldSet<'a>> {
    /// Fewer bytes than most nodes have.
    const BYTES_A_NODE: usize = 16;
    let nodes = arena.vec_with_capacity(text.len() / BYTES_A_NODE);
    let mut reader = Reader { arena, rest: text, nodes };
    reader.pass("{")?;
    reader.read_level(MAX_DEPTH)?;
    reader.rest.is_empty().then(|| FieldSet::of_nodes(reader.nodes.into_bump_slice()))
}

struct Reader<'a> {
    arena: &'a Arena,
    rest: &'a str,
    nodes: ArenaVec<'a, Node<'a>>,
}

impl<'a> Reader<'a> {
    /// Reads a level after its opening brace; returns whether its element is a member.
    fn read_level(&mut self, depth: usize) -> Option<bool> {
        let depth = depth.checked_sub(1)?;
        if self.pass("}").is_some() {
            return Some(true);
        }
        let mut is_member = false;
        let mut last = None;
        loop {
            if self.pass("\".\":{}").is_some() {
                is_member = true;
            } else {
                let element = self.read_element()?;
                if last.is_some_and(|last| last >= element) {
                    return None;
                }
                last = Some(element);
                let at = self.nodes.len();
                self.nodes.push(Node { element, below: 0, member: true });
                if self.pass("\":{}").is_none() {
                    self.pass("\":{")?;
                    self.nodes[at].member = self.read_level(depth)?;
                    self.nodes[at].below = position(self.nodes.len() - at - 1);
                }
            }
            if self.pass(",").is_none() {
                self.pass("}")?;
                return Some(is_member || last.is_none());
            }
        }
    }

    /// Reads the name of a member up to its closing quote.
    fn read_element(&mut self) -> Option<PathElement<'a>> {
        let (element, rest) = if let Some(rest) = self.rest.strip_prefix("\"f:") {
            let (name, rest) = rest.split_at(plain_length(rest));
            (PathElement::Field(name), rest)
        } else if let Some(rest) = self.rest.strip_prefix("\"k:") {
            let (key, rest) = plain::key_quoted_by(QUOTE_IN_NAME, self.arena, rest)?;
            (PathElement::Key(key), rest)
        } else {
            let (value, rest) = plain::scalar(QUOTE_IN_NAME, self.rest.strip_prefix("\"v:")?)?;
            (PathElement::Value(value), rest)
        };
        self.rest = rest;
        Some(element)
    }

    /// Skips this text, if it comes next.
    fn pass(&mut self, text: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(text)?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_writes_is_read_and_written_alike() {
        let text = concat!(
            r#"{"f:metadata":{"f:labels":{".":{},"f:a.b/c":{}}},"f:spec":{"f:ports":{"#,
            r#""k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}},"k:{\"port\":443,\"protocol\":\"TCP\"}":{}},"#,
            r#""f:set":{"v:\"ä b\"":{},"v:true":{}}}}"#,
        );
        let arena = Arena::new();
        assert_eq!(read(&arena, text).unwrap().to_fields_v1_text(), text);
        assert_eq!(read(&arena, "{}"), Some(FieldSet::default()));
    }

    #[test]
    fn what_is_spelled_otherwise_is_left_to_the_parser() {
        let arena = Arena::new();
        for text in [
            "",
            "{",
            "null",
            "{} ",
            r#"{"f:a": {}}"#,
            r#"{"f:a":null}"#,
            r#"{"f:a":{},}"#,
            r#"{"f:b":{},"f:a":{}}"#,
            r#"{"f:a":{},"f:a":{}}"#,
            r#"{"f:a\n":{}}"#,
            r#"{"f:a":{".":{"f:b":{}}}}"#,
            r#"{"k:{\"a\":\"\\\\\"}":{}}"#,
            r#"{"v:1e3":{}}"#,
            r#"{"i:1":{}}"#,
            r#"{"x:1":{}}"#,
            r#"{"f:a":{}"#,
        ] {
            assert!(read(&arena, text).is_none(), "{text}");
        }
    }
}
