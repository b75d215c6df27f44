//! The nodes of a document, before their values are resolved.

use std::collections::HashMap;

use granit_parser::{Event, Options, Parser, ScalarStyle, Span, StrInput, Tag, options};

use super::{Error, MAX_DEPTH};

/// A node, by its index in [`Nodes`].
pub(super) type NodeId = usize;

/// The nodes of one document; the first is its root. They refer to each other by index, since aliases make a graph of them.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    all: Vec<Node>,
    /// By the parser's number of an anchor.
    anchors: HashMap<usize, NodeId>,
}

#[derive(Debug)]
pub(super) struct Node {
    /// Counted from one.
    pub(super) line: usize,
    pub(super) tag: Option<String>,
    pub(super) content: Content,
}

#[derive(Debug)]
pub(super) enum Content {
    /// `plain`: neither quoted nor tagged, so that its text decides its type.
    Scalar {
        text: String,
        plain: bool,
    },
    Sequence(Vec<NodeId>),
    /// Keys and values in turn.
    Mapping(Vec<NodeId>),
    /// Its name and its target.
    Alias(String, NodeId),
}

impl Nodes {
    pub(super) const ROOT: NodeId = 0;

    pub(super) fn get(&self, id: NodeId) -> &Node {
        &self.all[id]
    }

    fn add(&mut self, line: usize, anchor: usize, tag: Option<&Tag>, content: Content) -> NodeId {
        let id = self.all.len();
        self.anchors.insert(anchor, id);
        let tag = tag.map(|tag| format!("{}{}", tag.handle(), tag.suffix()));
        self.all.push(Node { line, tag, content });
        id
    }

    fn put_into(&mut self, parent: NodeId, child: NodeId) {
        if let Content::Sequence(children) | Content::Mapping(children) = &mut self.all[parent].content {
            children.push(child);
        }
    }
}

/// The events of a text.
pub(super) struct Events<'a> {
    text: &'a str,
    has_control_characters: bool,
    parser: Parser<'a, StrInput<'a>>,
}

impl<'a> Events<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let has_control_characters = text.contains(is_control);
        Self { text, has_control_characters, parser: Parser::new_from_str_with_options(text, as_go()) }
    }

    /// The nodes of the next document, or none at the end of the text.
    pub(super) fn document(&mut self) -> Result<Option<Nodes>, Error> {
        if self.has_control_characters {
            return Err(Error::yaml("control characters are not allowed"));
        }
        let mut nodes = Nodes::default();
        // The open sequences and mappings.
        let mut open: Vec<NodeId> = Vec::new();
        while let Some(event) = self.parser.next_event() {
            let (event, span) = event
                .map_err(|error| Error::Yaml(format!("line {}: {}", error.marker().line(), error.info())))?;
            let (id, is_open) = match &event {
                Event::StreamEnd => break,
                Event::DocumentEnd => return Ok(Some(nodes)),
                Event::SequenceEnd | Event::MappingEnd => {
                    open.pop();
                    continue;
                }
                _ => match self.node(&mut nodes, &event, span)? {
                    Some(node) => node,
                    None => continue,
                },
            };
            if let Some(parent) = open.last() {
                nodes.put_into(*parent, id);
            }
            if is_open {
                open.push(id);
            }
        }
        Ok(None)
    }

    /// The node of an event, and whether it is a container.
    fn node(
        &self,
        nodes: &mut Nodes,
        event: &Event<'_>,
        span: Span,
    ) -> Result<Option<(NodeId, bool)>, Error> {
        let line = span.start.line();
        Ok(Some(match event {
            Event::Alias(anchor) => {
                let name = span.slice(self.text).unwrap_or_default().trim_start_matches('*');
                let Some(of) = nodes.anchors.get(anchor).copied() else { return Ok(None) };
                (nodes.add(line, 0, None, Content::Alias(name.to_owned(), of)), false)
            }
            Event::Scalar(text, style, anchor, tag) => {
                let is_quoted = *style == ScalarStyle::DoubleQuoted;
                if let Some(why) = span.slice(self.text).filter(|_| is_quoted).and_then(of_json_alone) {
                    return Err(Error::yaml(why));
                }
                let tag = tag.as_deref();
                // The non-specific tag.
                let is_open = tag.is_some_and(|tag| tag.handle() == "!" && tag.suffix().is_empty());
                let plain = is_open || (tag.is_none() && *style == ScalarStyle::Plain);
                let content = Content::Scalar { text: text.to_string(), plain };
                (nodes.add(line, *anchor, tag.filter(|_| !is_open), content), false)
            }
            Event::SequenceStart(_, anchor, tag) => {
                (nodes.add(line, *anchor, tag.as_deref(), Content::Sequence(Vec::new())), true)
            }
            Event::MappingStart(_, anchor, tag) => {
                (nodes.add(line, *anchor, tag.as_deref(), Content::Mapping(Vec::new())), true)
            }
            _ => return Ok(None),
        }))
    }
}

/// The error of a quoted text with an escape that JSON has and YAML 1.1 lacks: `\/`, or a surrogate such as `\ud83d`.
pub(super) fn of_json_alone(quoted: &str) -> Option<&'static str> {
    if !quoted.contains('\\') {
        return None;
    }
    let mut letters = quoted.chars();
    while let Some(letter) = letters.next() {
        // An escaped backslash begins no other escape.
        if letter == '\\' {
            let escaped = letters.next();
            let digits = letters.as_str().get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
            match (escaped, digits) {
                (Some('/'), _) => return Some("found unknown escape character"),
                (Some('u'), Some(0xd800..0xe000)) => {
                    return Some("found invalid Unicode character escape code");
                }
                _ => {}
            }
        }
    }
    None
}

/// Whether a character isn't allowed in a text. Line breaks are, also U+0085.
pub(super) fn is_control(letter: char) -> bool {
    letter.is_control() && !matches!(letter, '\t' | '\n' | '\r' | '\u{85}')
        || matches!(letter, '\u{fffe}' | '\u{ffff}')
}

/// The options with which the parser reads as the Go library does, instead of by YAML 1.2 or its test suite.
fn as_go() -> Options {
    options! {
        bom_inside_document_as_content: true,
        block_scalar_eof_without_line_feed: true,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    }
}
